"""Meaning: the items whose texts lie nearest to the question. Fires where there is a model.

Count first: up to `Settings.exact` items every vector is compared, which misses nothing and tells nothing; above, the
approximate index is asked under the scope's clause, in relaxed order, and what it gives is sorted again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import numpy as np

from ukai.context.rows import views
from ukai.context.strategies.asked import Asked, Strategy


async def find(ask: Asked) -> Sequence[int]:
    """The nearest items by cosine."""
    assert ask.cache is not None
    vectors = await asyncio.to_thread(ask.cache.embedder.embed, ask.questions)
    if ask.view.vectors is None:
        return await _approximately(ask, vectors)
    ask.notes["embedding"] = "exact"
    found = [ask.view.cosine(v) for v in vectors]
    if not found or found[0] is None:
        return []
    ask.cosines = [f for f in found if f is not None]
    whole = ask.cosines[0]
    return ask.best(whole, ask.settings.strategy_cap + 1, np.flatnonzero(whole > 0))


async def _approximately(ask: Asked, vectors: np.ndarray) -> Sequence[int]:
    ask.notes["embedding"] = "approximate"
    cosines: list[np.ndarray] = []
    taken: dict[int, None] = {}
    for vector in vectors:
        given: list[float] = [float(x) for x in vector]
        near = await views.nearest(ask.tx, ask.scope.clause, given, ask.settings.near)
        ask.ann = ask.ann or ([(node, part) for node, part, _ in near], given)
        found: dict[int, float] = {}
        for node, part, cosine in near:
            row = ask.view.row_of(node, part)
            if row is not None:
                found.setdefault(row, cosine)
        # Whoever is not among the nearest is no nearer than the last of them: that is all that is known.
        cosines.append(np.full(ask.view.size, min(found.values(), default=0.0)))
        cosines[-1][list(found)] = list(found.values())
        taken |= dict.fromkeys(found)
    if taken:
        ask.cosines = cosines
    return list(taken)


STRATEGY = Strategy(
    fires=lambda ask: ask.cache is not None,
    find=find,
    timeout_ms=lambda s: s.search_ms,
    reads=lambda ask: ask.view.vectors is None,
)
