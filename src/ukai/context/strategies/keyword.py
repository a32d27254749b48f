"""Words: BM25 over what the caller may read, and nothing else, so that no rarity tells of a hidden text."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ukai.context.strategies.asked import Asked, Strategy
from ukai.kit import bm25

AROUND = 0.3
"""Weight of what stands around a text: its neighbours, title, place and speaker. Source: docs/design/search.md."""


async def find(ask: Asked) -> Sequence[int]:
    """The items that share a word with the question, by BM25 of text and surroundings."""
    view = ask.view
    own = [view.own.tf(t) for t in dict.fromkeys(ask.terms)]
    around = [_around(ask, tf, t) for tf, t in zip(own, dict.fromkeys(ask.terms), strict=True)]
    lengths = _spread(ask, view.own.lengths) + view.title.lengths + view.place.lengths
    ask.lexical = bm25.weighed(own, view.own.lengths) + AROUND * bm25.weighed(around, lengths)
    return ask.best(ask.lexical, ask.settings.strategy_cap, np.flatnonzero(ask.lexical > 0))


def _around(ask: Asked, own: np.ndarray, term: str) -> np.ndarray:
    return _spread(ask, own) + ask.view.title.tf(term) + ask.view.place.tf(term)


def _spread(ask: Asked, counts: np.ndarray) -> np.ndarray:
    """What an item and the ones beside it hold together."""
    more = np.append(counts, 0.0)  # the row -1, which stands for no neighbour
    return counts + more[ask.view.before] + more[ask.view.after]


STRATEGY = Strategy(fires=lambda ask: bool(ask.terms), find=find, timeout_ms=lambda s: s.search_ms)
