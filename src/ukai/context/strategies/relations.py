"""Relations: what stands one edge away from the best records. One question to the store for all of them."""

from __future__ import annotations

from collections.abc import Sequence

from ukai.context.rows import views
from ukai.context.strategies.asked import Asked, Strategy

HUBS = 20
"""Records whose edges are followed."""
AWAY = 0.5
"""What standing beside one of them adds to a score that is made of standard deviations."""


async def find(ask: Asked) -> Sequence[int]:
    """Related records inside the scope, those of the best hits first."""
    hubs = list(dict.fromkeys(ask.view.entries[row].node for row in ask.found))[:HUBS]
    near = await views.related(ask.tx, ask.scope.clause, hubs, ask.settings.strategy_cap)
    found = [row for node in near if (row := ask.view.nodes.get(node)) is not None]
    for row in found:
        ask.bonus[row] = ask.bonus.get(row, 0.0) + AWAY
    return found


STRATEGY = Strategy(
    fires=lambda ask: bool(ask.found) and ask.view.size > ask.settings.fetch_all,
    find=find,
    timeout_ms=lambda s: s.expand_ms,
    reads=lambda _: True,
)
