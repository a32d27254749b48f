"""What a turn may spend, and with whose credentials (room `runtime`)."""

from __future__ import annotations

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    """Nothing yet."""
