"""Runs and what they leave behind (room `record`)."""

from __future__ import annotations

from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    op.execute("create extension if not exists vector")
