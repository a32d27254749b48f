"""Relations: what stands one edge away from the best records, as the view of the scope knows it.

No edge to what the reader does not see is looked at, so that none of them takes a place or time.
"""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from ukai.context.strategies.asked import Asked, Strategy

HUBS = 20
"""Records whose edges are followed."""
AWAY = 0.5
"""What standing beside one of them adds to a score that is made of standard deviations."""


async def find(ask: Asked) -> Sequence[int]:
    """Related records inside the scope, those of the best hits first."""
    view = ask.view
    hubs: dict[UUID, int] = {}
    for row in ask.found:
        if len(hubs) == HUBS:
            break
        hubs.setdefault(view.entries[row].node, view.nodes[view.entries[row].node])
    found = view.one_away(list(hubs.values()))[: ask.settings.strategy_cap]
    for row in found:
        ask.bonus[row] = ask.bonus.get(row, 0.0) + AWAY
    return found


STRATEGY = Strategy(
    fires=lambda ask: bool(ask.found) and ask.view.size > ask.settings.fetch_all,
    find=find,
    timeout_ms=lambda s: s.expand_ms,
)
