"""Orphans: a part that was found without its record brings the record, which says what it is a part of."""

from __future__ import annotations

from collections.abc import Sequence

from ukai.context.strategies.asked import Asked, Strategy


async def find(ask: Asked) -> Sequence[int]:
    """The records of parts whose record was not found."""
    parents = (int(ask.view.parent[row]) for row in ask.found)
    return list(dict.fromkeys(p for p in parents if p >= 0 and p not in ask.found))


STRATEGY = Strategy(
    fires=lambda ask: bool(ask.found),
    find=find,
    timeout_ms=lambda s: s.expand_ms,
    cap=lambda s: s.composition_cap,
)
