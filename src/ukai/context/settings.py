"""Where retrieval changes its way: counts, caps and times, all data (context req. 17-18, E9)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Thresholds of one deployment. The defaults are those of docs/design/composer.md."""

    fetch_all: int = 40
    """Up to so many items in scope, all of them are candidates and nothing is chosen."""
    filter: int = 800
    """Up to so many, all are scored and ranked; above, each strategy brings its best."""
    exact: int = 10_000
    """Up to so many items in scope, vectors are compared one by one; above, by the approximate index."""
    in_memory: int = 250_000
    """Up to so many records in scope, words are weighed over all of them; above, over those that share one."""
    strategy_cap: int = 300
    """Candidates of one strategy."""
    composition_cap: int = 2_000
    """Candidates of one composition."""
    room: int = 1
    """Bodies are read until they would fill the budget as many times: in full, what ranks behind has no place."""
    least: int = 40
    least_tokens: int = 100
    """But at least `least` bodies, and one more for so many tokens of the budget: names and identities take little."""
    search_ms: int = 800
    expand_ms: int = 400
    ann_sample: float = 0.01
    """Share of approximate answers that are checked against exact ones (metric `ann_recall`)."""


DEFAULT = Settings()
