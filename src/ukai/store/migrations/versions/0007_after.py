"""After the commit (room `gate`): undo, erasure, statistics."""

from __future__ import annotations

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Nothing yet."""
