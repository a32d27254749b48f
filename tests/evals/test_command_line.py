"""`ukai eval compare` and `report` over files: exit codes, one JSON document, refusals that say why (X3)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from tests.evals import build
from ukai.app.evals import folder
from ukai.measure.evaluation import Evaluation
from ukai.surfaces.cli.eval import app

BANK = [build.question(n) for n in range(1, 25)]
PROSE = {**build.PARTS, "prose": {**build.PARTS["prose"], "agents/coach/SKILL.md": "other"}}
BOTH = {**PROSE, "rules": {"no-discounts": "2 x"}}


def kept(root: Path, made: Evaluation) -> None:
    path = folder.path_of(root, made.header.name)
    folder.begin(path, made.header)
    for one in made.kept:
        folder.append(path, one)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "ukai.yaml").write_text("company: x\n")
    kept(tmp_path, build.evaluation("before", BANK, build.chance(1.0)))
    kept(tmp_path, build.evaluation("worse", BANK, build.chance(0.4), parts=PROSE))
    kept(tmp_path, build.evaluation("same", BANK, build.chance(1.0), parts=PROSE))
    kept(tmp_path, build.evaluation("two", BANK, build.chance(1.0), parts=BOTH))
    return tmp_path


def ukai(root: Path, *arguments: str) -> Result:
    return CliRunner().invoke(app, [*arguments, "--workspace", str(root)])


def test_a_comparison_ends_with_1_when_something_that_gates_got_worse(root: Path):
    fine, worse = ukai(root, "compare", "before", "same"), ukai(root, "compare", "before", "worse", "--json")

    assert (fine.exit_code, worse.exit_code) == (0, 1)
    document = json.loads(worse.output)
    assert {q["quantity"]: q["verdict"] for q in document["quantities"]}["passed"] == "worse"


def test_a_gate_without_its_baseline_ends_with_2_for_that_is_no_verdict(root: Path):
    undecided = ukai(root, "gate", "nowhere", "--json")

    assert undecided.exit_code == 2
    assert json.loads(undecided.output)["decision"] is None


def test_two_changes_at_once_are_refused_with_both_named(root: Path):
    refused = ukai(root, "compare", "before", "two", "--json")

    assert refused.exit_code == 1
    (finding,) = json.loads(refused.output)["findings"]
    assert finding["received"] == "prose: agents/coach/SKILL.md; rules: no-discounts"


def test_a_report_writes_what_is_asked_for_and_a_pinned_baseline_compares_like_the_first(root: Path):
    pinned = root / "baseline.jsonl"
    done = ukai(
        root, "report", "before", "--pin", str(pinned), "--html", str(root / "a.html"), "--junit", str(root / "a.xml")
    )
    again = ukai(root, "compare", str(pinned), "worse", "--json")

    assert done.exit_code == 0
    assert (root / "a.html").read_text().startswith("<!doctype html>")
    assert (root / "a.xml").read_text().startswith("<?xml")
    assert again.output == ukai(root, "compare", "before", "worse", "--json").output


def test_evaluations_of_several_versions_stand_in_one_pool(root: Path):
    document = json.loads(ukai(root, "report", "before", "worse", "same", "--json").output)

    assert [v["name"] for v in document["pool"]["versions"]] == ["before", "worse", "same"]
    assert document["comparison"]["after"] == "same"


@pytest.mark.parametrize("cut", [1, 7, 400, 2_000])
def test_half_a_line_costs_that_run_alone(root: Path, cut: int):
    path = folder.path_of(root, "before")
    path.write_bytes(path.read_bytes()[:-cut])
    was = folder.read(root, "before")

    folder.append(path, build.evaluation("before", BANK, build.chance(1.0)).kept[-1])

    assert len(was.kept) >= 46
    assert folder.read(root, "before").kept[-1].question == BANK[-1].id
    assert len(folder.read(root, "before").kept) >= len(was.kept)


def test_an_unknown_evaluation_is_told_with_those_there_are(root: Path):
    with pytest.raises(folder.NoSuchEvaluation, match="before") as caught:
        folder.read(root, "befor")

    assert "before" in caught.value.known


def test_a_name_does_not_lead_out_of_the_folder(root: Path):
    with pytest.raises(folder.BadName):
        folder.path_of(root, "../x")


def test_evaluations_are_for_their_owner_alone(root: Path):
    assert folder.folder(root).stat().st_mode & 0o077 == 0
    assert folder.path_of(root, "before").stat().st_mode & 0o077 == 0
