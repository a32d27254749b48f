"""Runs and what they leave behind (room `record`)."""

from __future__ import annotations

from pathlib import Path

from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    op.execute("create extension if not exists vector")
    # To the driver itself: the functions are full of signs that SQLAlchemy would read as parameters.
    connection = op.get_bind().connection.driver_connection
    assert connection is not None
    connection.execute(Path(__file__).with_name("0001_record.sql").read_bytes())
