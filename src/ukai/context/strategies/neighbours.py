"""Neighbours: what is said before and after a part that was found is read together with it."""

from __future__ import annotations

from collections.abc import Sequence

from ukai.context.strategies.asked import Asked, Strategy


async def find(ask: Asked) -> Sequence[int]:
    """The parts beside those that were found."""
    beside = (r for row in ask.found for r in ask.view.beside(row))
    return list(dict.fromkeys(r for r in beside if r not in ask.found))


STRATEGY = Strategy(
    fires=lambda ask: any(ask.view.parent[row] >= 0 for row in ask.found), find=find, timeout_ms=lambda s: s.expand_ms
)
