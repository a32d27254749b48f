"""Personal tokens, conversations and deliveries (surfaces, through `app`)."""

from __future__ import annotations

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    """Nothing yet."""
