"""The pages about evaluations: cases that lint, commands that exist, every word and field explained."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, get_args

import typer

from ukai.kit import document
from ukai.measure import bank, stats
from ukai.measure.bank import Question
from ukai.measure.quantity import QUANTITIES
from ukai.surfaces.cli.eval import app

DOCS = Path(__file__).parents[2] / "docs"
CASES = (DOCS / "reference" / "cases.md").read_text(encoding="utf-8")
STATISTICS = (DOCS / "reference" / "statistics.md").read_text(encoding="utf-8")
HOWTO = (DOCS / "howto" / "weigh-a-change.md").read_text(encoding="utf-8")


def block(page: str, kind: str) -> str:
    found = re.search(rf"```yaml {kind}\n(.*?)```", page, re.DOTALL)
    assert found is not None
    return found[1]


def test_the_cases_on_the_page_are_cases():
    doc, _ = document.read(block(CASES, r"file=\S+").encode(), name="evals/renewals.yaml")
    assert doc is not None

    questions, findings = bank.read(doc)

    assert findings == []
    assert [q.id for q in questions] == ["stalled-rollout", "renewal-date"]


def test_every_field_of_a_case_is_on_the_page():
    names = {"as" if name == "asker" else name for name in Question.__dataclass_fields__}

    assert [name for name in names if f"| `{name}` |" not in CASES] == []


def test_every_word_and_every_quantity_is_explained():
    assert [word for word in get_args(stats.Word) if f"**{word}" not in STATISTICS] == []
    assert [name for name in QUANTITIES if f"`{name}`" not in STATISTICS] == []


def test_every_command_on_the_page_exists_with_its_options():
    root: Any = typer.main.get_command(app)
    lines = re.findall(r"ukai eval ([^\n#]+)", HOWTO)

    unknown: list[str] = []
    for line in lines:
        name, *words = line.rstrip("`").replace("'", "").split()
        command = root.commands.get(name)
        options = {o for p in command.params for o in p.opts} if command is not None else set[str]()
        unknown += [f"{name} {w}" for w in words if w.startswith("--") and w not in options] if options else [line]

    assert len(lines) >= 10
    assert unknown == []


def test_the_recipe_is_a_pipeline_that_runs_the_gate():
    doc, findings = document.read(block(HOWTO, "recipe").encode(), name="evaluate.yaml")
    assert doc is not None, findings

    runs = [step["run"] for step in doc.data["jobs"]["evaluate"]["steps"] if "run" in step]

    assert any(run.startswith("ukai eval gate ") for run in runs)
