"""Changes, commits and claims (room `gate`)."""

from __future__ import annotations

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    pass
