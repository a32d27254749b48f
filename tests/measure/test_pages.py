"""Every check has its page, with what it decides, what it cannot see, how well it does, and an example that is true."""

from __future__ import annotations

import json
import re
from dataclasses import fields
from pathlib import Path

import pytest

from ukai import measure
from ukai.measure import outside

PAGES = Path(__file__).parents[2] / "docs" / "reference" / "checks"
HEADINGS = ("## What it decides", "## What it cannot see", "## Measured", "## Example")
EXAMPLE = re.compile(r"```json record\n(.*?)\n```\n\n```text flags\n(.*?)\n```", re.DOTALL)


def missing(folder: Path) -> list[str]:
    """Checks without a page, and headings that a page lacks."""
    found = [name for name in measure.CHECKS if not (folder / f"{name}.md").is_file()]
    for name in measure.CHECKS.keys() - set(found):
        text = (folder / f"{name}.md").read_text(encoding="utf-8")
        found += [f"{name}: {heading}" for heading in HEADINGS if heading not in text]
    return sorted(found)


def test_every_check_has_a_page_with_all_its_parts():
    assert missing(PAGES) == []


def test_a_check_without_a_page_is_noticed(tmp_path: Path):
    assert missing(tmp_path) == sorted(measure.CHECKS)


@pytest.mark.parametrize("name", measure.CHECKS)
def test_the_example_of_the_page_gives_the_flags_that_it_shows(name: str):
    text = (PAGES / f"{name}.md").read_text(encoding="utf-8")
    found = EXAMPLE.search(text)
    assert found is not None
    pairs: list[measure.Pair] = []
    for line in found[1].splitlines():
        weighable, findings = outside.read_line(line, name)
        assert weighable is not None, findings
        pairs.append((measure.Reading(weighable.run, weighable.compositions), weighable.case))

    scores = measure.weigh(pairs, [measure.CHECKS[name]()])
    shown = [f"{'!' if f.gates else '-'} {f.kind} {f.words!r}: {f.note}" for score in scores for f in score.flags]

    assert found[2].splitlines() == shown
    assert json.dumps([score.as_json() for score in scores])


@pytest.mark.parametrize("name", measure.CHECKS)
def test_every_parameter_of_a_check_is_on_its_page(name: str):
    text = (PAGES / f"{name}.md").read_text(encoding="utf-8")

    assert [p.name for p in fields(measure.CHECKS[name]) if f"`{p.name}`" not in text] == []
