"""What was composed for whom (room `context`): reports, offloaded values, and numbers to search passages by."""

from __future__ import annotations

from pathlib import Path

from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    connection = op.get_bind().connection.driver_connection
    assert connection is not None
    connection.execute(Path(__file__).with_name("0006_composition.sql").read_bytes())
