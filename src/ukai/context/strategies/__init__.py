"""The ways to candidates. `STRATEGIES` is all there is; they run in this order, each reading what came before it.

A new one is one file with `STRATEGY`, one line here, and its page in docs/design/composer.md. It returns rows of the
view, which holds nothing but what the caller may read inside the scope; what it asks the store it asks under the
scope's clause.
"""

from __future__ import annotations

from collections.abc import Mapping

from ukai.context.strategies import (
    embedding,
    entity,
    hierarchy,
    keyword,
    neighbours,
    orphans,
    pinned,
    relations,
)
from ukai.context.strategies.asked import Asked, Candidate, Strategy

STRATEGIES: Mapping[str, Strategy] = {
    "entity": entity.STRATEGY,
    "keyword": keyword.STRATEGY,
    "embedding": embedding.STRATEGY,
    "hierarchy": hierarchy.STRATEGY,
    "relations": relations.STRATEGY,
    "neighbours": neighbours.STRATEGY,
    "orphans": orphans.STRATEGY,
    "pinned": pinned.STRATEGY,
}

__all__ = ["STRATEGIES", "Asked", "Candidate", "Strategy"]
