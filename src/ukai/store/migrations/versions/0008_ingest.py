"""Rows that a pull could not bring in (room `connect`): the quarantine."""

from __future__ import annotations

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    """Nothing yet."""
