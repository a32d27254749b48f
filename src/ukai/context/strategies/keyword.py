"""Words: BM25 over what the caller may read, and nothing else, so that no rarity tells of a hidden text."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ukai.context import score
from ukai.context.strategies.asked import Asked, Strategy


async def find(ask: Asked) -> Sequence[int]:
    """The items that share a word with the question, by BM25 of text and surroundings."""
    ask.lexicals = [score.lexical(ask.view.corpus, score.terms(q)) for q in ask.questions]
    whole = ask.lexicals[0]
    return ask.best(whole, ask.settings.strategy_cap + 1, np.flatnonzero(whole > 0))


STRATEGY = Strategy(fires=lambda ask: bool(score.terms(ask.question)), find=find, timeout_ms=lambda s: s.search_ms)
