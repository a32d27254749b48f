"""What was composed for whom (room `context`): reports, offloaded values, tokens of freshness."""

from __future__ import annotations

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Nothing yet."""
