"""`ukai stats gate`: how well what is proposed fares, by whom and for which reasons."""

from __future__ import annotations

from datetime import datetime

from ukai.app import desk as desks
from ukai.gate import history, statistics

CODES = 20


async def gate(desk: desks.Desk, *, since: datetime | None = None) -> statistics.Statistics:
    """From `since`, or from the beginning. Needs the right `audit`: raises NoRight."""
    desk.standing.need("audit", "see who wrote how well")
    return await statistics.read(desk.db, history.Window(since=since, limit=CODES))
