"""The page about the composer names every strategy and the thresholds that hold."""

from __future__ import annotations

import re
from pathlib import Path

from ukai.context.render.sandbox import FILTERS, LONGEST, UNITS
from ukai.context.settings import DEFAULT
from ukai.context.strategies import STRATEGIES

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "design" / "composer.md").read_text()
FIELDS = (DOCS / "reference" / "workspace.md").read_text()


def test_every_strategy_is_in_the_table_in_the_order_in_which_they_run():
    assert re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE) == list(STRATEGIES)


def test_the_thresholds_are_those_that_hold():
    page = " ".join(PAGE.split())

    assert (
        f"`fetch_all` {DEFAULT.fetch_all}, `filter` {DEFAULT.filter}, `exact` {DEFAULT.exact:,}, "
        f"`in_memory` {DEFAULT.in_memory:,} records"
    ) in page
    assert (
        f"`rerank` {DEFAULT.rerank} sections, {DEFAULT.strategy_cap} candidates a strategy, "
        f"{DEFAULT.composition_cap:,} a composition, {DEFAULT.search_ms} ms for a search, {DEFAULT.expand_ms} ms for "
        f"an expansion and {DEFAULT.model_ms:,} ms for a model"
    ) in page


def test_the_page_about_a_workspace_names_every_threshold_with_its_default():
    told = {
        name: value
        for names, values in re.findall(r"^\| (`.*`) \| (ladder|[\d.,\s]+) \|", FIELDS, re.MULTILINE)
        for name, value in zip(re.findall(r"`(\w+)`", names), values.split(", "), strict=True)
    }

    assert told == {n: value if isinstance(value, str) else f"{value:,}" for n, value in vars(DEFAULT).items()}


def test_the_page_about_templates_names_every_filter_and_both_limits():
    page = " ".join((DOCS / "reference" / "templates.md").read_text().split())

    assert f"Filters: `{' '.join(sorted(FILTERS))}`" in page
    assert f"{LONGEST:,} characters a template; {UNITS:,} units a body" in page
