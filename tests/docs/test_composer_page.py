"""The page about the composer names every strategy and the thresholds that hold."""

from __future__ import annotations

import re
from pathlib import Path

from ukai.context.settings import DEFAULT
from ukai.context.strategies import STRATEGIES

PAGE = (Path(__file__).parents[2] / "docs" / "design" / "composer.md").read_text()


def test_every_strategy_is_in_the_table_in_the_order_in_which_they_run():
    assert re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE) == list(STRATEGIES)


def test_the_thresholds_are_those_that_hold():
    said = (
        f"`fetch_all` {DEFAULT.fetch_all}, `filter` {DEFAULT.filter}, `exact` {DEFAULT.exact:,}, "
        f"`in_memory` {DEFAULT.in_memory:,} records"
    )
    assert said in PAGE
    assert f"{DEFAULT.strategy_cap} candidates a strategy, {DEFAULT.composition_cap:,} a composition" in PAGE
    assert f"{DEFAULT.search_ms} ms for a\nsearch and {DEFAULT.expand_ms} ms for an expansion" in PAGE
