"""Hierarchy: the gate that decides by count how much of the scope is looked at (context req. 16-17).

Few items: all of them. Some hundreds: all of them, ranked. More: from places to records to parts, in batches: the
places where the best hits stand give their records, so that a table's neighbours in its schema are at least named.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ukai.context.strategies.asked import Asked, Strategy

DEPTH = 2
"""Segments of a path that make a place: integration and selection."""
PLACES, RECORDS = 3, 100
"""Places that are opened, and records taken from each."""


async def find(ask: Asked) -> Sequence[int]:
    """All items, or the records of the best places."""
    if ask.view.size <= ask.settings.filter:
        ask.notes["hierarchy"] = "all" if ask.view.size <= ask.settings.fetch_all else "filter"
        return range(ask.view.size)
    ask.notes["hierarchy"] = "places"
    best: dict[str, float] = {}
    for row in ask.found:
        place = "/".join(ask.view.entries[row].path.split("/")[:DEPTH])
        best[place] = max(best.get(place, -np.inf), score(ask)[row])
    opened = sorted(best, key=lambda p: (-best[p], p))[:PLACES]
    taken: list[int] = []
    for place in opened:
        taken += ask.best(score(ask), RECORDS, np.array(ask.view.records_under(place), np.int64))
    return taken


def score(ask: Asked) -> np.ndarray:
    """What is known of each item when the gate is reached."""
    zero = np.zeros(ask.view.size)
    return z(zero if ask.lexical is None else ask.lexical) + z(zero if ask.cosine is None else ask.cosine)


def z(x: np.ndarray) -> np.ndarray:
    """In standard deviations from the mean."""
    return (x - x.mean()) / (x.std() + 1e-9)


def _fires(ask: Asked) -> bool:
    return ask.view.size > 0


STRATEGY = Strategy(
    fires=_fires, find=find, timeout_ms=lambda s: s.expand_ms, cap=lambda s: max(s.filter, s.strategy_cap)
)
