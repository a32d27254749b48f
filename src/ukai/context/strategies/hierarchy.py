"""Hierarchy: the gate that decides by count how much of the scope is looked at (context req. 16-17).

Few items: all of them. Some hundreds: all of them, ranked. More: the best by words and meaning together, which neither
has to find alone; then the places where the best hits stand give their records, so that a table's neighbours in its
schema are at least named.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ukai.context.scope import CEILING_TOKENS
from ukai.context.strategies.asked import Asked, Strategy
from ukai.context.view import place_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

PLACES, RECORDS = 3, 100
"""Places that are opened, and records taken from each."""


async def find(ask: Asked) -> Sequence[int]:
    """All items, or the best of them and the records of the best places."""
    if ask.view.size <= ask.settings.filter:
        ask.notes["hierarchy"] = "all" if ask.view.size <= ask.settings.fetch_all else "filter"
        return range(ask.view.size)
    ask.notes["hierarchy"] = "places"
    score, best = ask.score, dict[str, float]()
    for row in ask.found:
        place = place_of(ask.view.entries[row].path)
        best[place] = max(best.get(place, -np.inf), float(score[row]))
    opened = sorted(best, key=lambda p: (-best[p], p))[:PLACES]
    # Below the mean of the scope a neighbour is one by accident: people of other customers.
    near = {place: rows[score[rows] > 0] for place in opened if len(rows := ask.view.places[place])}
    inside = [row for rows in near.values() for row in ask.best(score, RECORDS, rows)]
    return list(dict.fromkeys([*_enough(ask, score), *inside]))


def _enough(ask: Asked, score: NDArray[np.float64]) -> list[int]:
    """The best, and as many more as would fill the largest document, however short they are."""
    best = ask.best(score, ask.settings.composition_cap)
    filled = np.cumsum(ask.view.corpus.size[best])
    reached = int(np.searchsorted(filled, 4 * ask.settings.room * CEILING_TOKENS)) + 1
    return best[: max(ask.settings.strategy_cap, reached)]


STRATEGY = Strategy(
    fires=lambda ask: ask.view.size > 0,
    find=find,
    timeout_ms=lambda s: s.expand_ms,
    cap=lambda s: max(s.filter, s.composition_cap),
)
