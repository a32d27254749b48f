"""The gate's tables and its commit protocol as database functions (room `gate`)."""

from __future__ import annotations

from pathlib import Path

from alembic import op

revision = "0003"
down_revision = "0002"

FILES = ("0003_tables.sql", "0003_open.sql", "0003_check.sql", "0003_apply.sql", "0003_commit.sql")


def upgrade() -> None:
    # To the driver itself: the functions are full of signs that SQLAlchemy would read as parameters.
    connection = op.get_bind().connection.driver_connection
    assert connection is not None
    for name in FILES:
        connection.execute(Path(__file__).with_name(name).read_bytes())
