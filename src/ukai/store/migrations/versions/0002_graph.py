"""Nodes, edges and the domains that type them (room `graph`)."""

from __future__ import annotations

from pathlib import Path

from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    connection = op.get_bind().connection.driver_connection
    assert connection is not None
    connection.execute(Path(__file__).with_name("0002_graph.sql").read_bytes())
