"""Meaning: the items whose texts lie nearest to the question. Fires where there is a model.

Count first: up to `Settings.exact` items every vector is compared, which misses nothing and tells nothing; above, the
approximate index is asked under the scope's clause, in relaxed order, and what it gives is sorted again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import numpy as np

from ukai.context import names
from ukai.context.rows import views
from ukai.context.strategies.asked import Asked, Strategy


async def find(ask: Asked) -> Sequence[int]:
    """The nearest items by cosine."""
    assert ask.cache is not None
    asked = names.without(ask.question, ask.named) if ask.named else ask.question
    vector = (await asyncio.to_thread(ask.cache.embedder.embed, [asked]))[0]
    if ask.view.vectors is not None:
        ask.cosine = ask.view.cosine(vector)
        ask.notes["embedding"] = "exact"
        if ask.cosine is None:
            return []
        return ask.best(ask.cosine, ask.settings.strategy_cap, np.flatnonzero(ask.cosine > 0))
    ask.notes["embedding"] = "approximate"
    given: list[float] = [float(x) for x in vector]
    near = await views.nearest(ask.tx, ask.scope.clause, given, ask.settings.strategy_cap)
    ask.ann = [(node, part) for node, part, _ in near], given
    found: dict[int, float] = {}
    for node, part, cosine in near:
        row = ask.view.row_of(node, part)
        if row is not None:
            found.setdefault(row, cosine)
    if found:
        # Whoever is not among the nearest is no nearer than the last of them: that is all that is known.
        ask.cosine = np.full(ask.view.size, min(found.values()))
        ask.cosine[list(found)] = list(found.values())
    return list(found)


STRATEGY = Strategy(fires=lambda ask: ask.cache is not None, find=find, timeout_ms=lambda s: s.search_ms, reads=True)
