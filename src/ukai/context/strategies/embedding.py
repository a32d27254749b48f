"""Meaning: the items whose texts lie nearest to the question. Fires where there is a model.

Every vector is compared, which misses nothing and tells nothing. Above `Settings.exact` items, and only for those to
whom `access/` grants `approximate`, the approximate index is asked under the scope's clause instead, in relaxed order,
and what it gives is sorted again. Items too many to hold their vectors are not compared by meaning without that grant.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ukai import store
from ukai.context.clause import CompiledScope
from ukai.context.rows import views
from ukai.context.settings import Settings
from ukai.context.strategies.asked import Asked, Near, Strategy
from ukai.graph import schema

if TYPE_CHECKING:
    from numpy.typing import NDArray


async def find(ask: Asked) -> Sequence[int]:
    """The nearest items by cosine."""
    assert ask.cache is not None
    if not _is_held(ask) and not ask.scope.rights.approximate:
        ask.notes["embedding"] = "too many"
        return []
    vectors = await asyncio.to_thread(ask.cache.asked, ask.questions)
    if not _is_held(ask):
        return await _approximately(ask, vectors)
    # A view made for one question has what lies near it from the index, and compares what it has.
    ask.notes["embedding"] = "exact" if ask.ann is None else "approximate"
    found = [ask.view.cosine(v) for v in vectors]
    if not found or found[0] is None:
        return []
    ask.cosines = [f for f in found if f is not None]
    whole = ask.cosines[0]
    return ask.best(whole, ask.settings.strategy_cap + 1, np.flatnonzero(whole > 0))


def _is_held(ask: Asked) -> bool:
    return ask.view.vectors is not None


async def near_to(
    tx: store.Transaction,
    scope: CompiledScope,
    types: Mapping[str, schema.Type],
    vector: NDArray[np.float32],
    settings: Settings,
) -> Near:
    """What the approximate index says lies near `vector` in the scope: passages whose field may be read."""
    readable, given = scope.passages(types, views.FIELD), [float(x) for x in vector]
    return Near(found=await views.nearest(tx, readable, given, settings.near), vector=given)


async def _approximately(ask: Asked, vectors: NDArray[np.float32]) -> Sequence[int]:
    ask.notes["embedding"] = "approximate"
    cosines: list[np.ndarray] = []
    taken: dict[int, None] = {}
    for vector in vectors:
        near = await near_to(ask.tx, ask.scope, ask.types, vector, ask.settings)
        ask.ann = ask.ann or near
        found: dict[int, float] = {}
        for node, part, cosine in near.found:
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
    reads=lambda ask: not _is_held(ask),
)
