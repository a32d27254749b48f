"""Vectors kept by the hash of their text (room `llm`)."""

from __future__ import annotations

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    pass
