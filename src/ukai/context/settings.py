"""Where retrieval changes its way: counts, caps and times, all data (context req. 17-18, E9).

A deployment sets them in `ukai.yaml`, under `context: {thresholds: {..}}`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from ukai.kit import shape

Count = Annotated[int, Field(ge=0, le=10_000_000)]
Some = Annotated[int, Field(ge=1, le=100_000)]


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Thresholds of one deployment. The defaults are those of docs/design/composer.md."""

    __pydantic_config__ = shape.STRICT

    fetch_all: Count = 40
    """Up to so many items in scope, all of them are candidates and nothing is chosen."""
    filter: Count = 800
    """Up to so many, all are scored and ranked, and a chat model that ranks first leaves out what cannot help; above,
    each strategy brings its best."""
    rerank: Some = 200
    """A model puts at most so many sections in order, the best by their scores; the others follow as they stood."""
    exact: Count = 10_000
    """Above so many items in scope, whoever `access/` grants `approximate` is answered by the approximate index."""
    in_memory: Count = 250_000
    """Up to so many records in scope, words are weighed over all of them, above over those that share one; up to so
    many items vectors are compared one by one."""
    near: Some = 100
    """So many nearest items are taken of what the approximate index gives: in a scope of a tenth it looks at sixteen
    for each."""
    strategy_cap: Some = 300
    """Candidates of one strategy. The hierarchy gate brings as many as fill the largest document."""
    composition_cap: Some = 2_000
    """Candidates of one composition."""
    room: Some = 1
    """Bodies are read until they would fill the budget as many times: in full, what ranks behind has no place."""
    least: Count = 40
    least_tokens: Some = 100
    """But at least `least` bodies, and one more for so many tokens of the budget: names and identities take little."""
    cut: Literal["ladder", "prefix"] = "ladder"
    """What stands in a document: identities, names and bodies in passes; or as the article has it, bodies in order
    up to the first that does not fit, then identities (context req. 23)."""
    search_ms: Some = 800
    expand_ms: Some = 400
    model_ms: Some = 8_000
    """Of a model that filters, and once more of one that ranks."""
    ann_sample: Annotated[float, Field(ge=0, le=1)] = 0.01
    """Share of approximate answers that are checked against exact ones (metric `ann_recall`)."""


DEFAULT = Settings()
