"""`ukai context recall` over files (design: formats for material from outside; context req. 43-48)."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import pytest
from benchmarks import stored

from tests import shared
from ukai.app import recall
from ukai.context import sections
from ukai.context.recall import outside
from ukai.llm import on_disk
from ukai.measure import at_budgets
from ukai.surfaces.cli import output

WORDS = recall.Wanted(words_only=True, seeds=2, budgets=(80, 2_000))


def item(id: str, text: str, **more: Any) -> dict[str, Any]:
    return {"id": id, "path": f"wiki/{id}", "type": "page", "title": f"About {id}", "text": text} | more


def files(folder: Path, items: Sequence[object], cases: Sequence[object]) -> tuple[Path, Path]:
    found = folder / "items.jsonl", folder / "cases.jsonl"
    for path, rows in zip(found, (items, cases), strict=True):
        path.write_text("".join((r if isinstance(r, str) else json.dumps(r)) + "\n" for r in rows), encoding="utf-8")
    return found


def corpus(*items: dict[str, Any]) -> outside.Corpus:
    read, findings = outside.read_corpus([json.dumps(i) for i in items], name="items.jsonl")
    assert findings == []
    return read


def test_what_a_case_requires_is_counted_at_every_budget(tmp_path: Path):
    items = [item(name, f"The {name} costs {n} euro. " * 9) for n, name in enumerate(("apple", "pear", "plum", "fig"))]
    case = {"id": "c", "question": "What does the plum cost?", "required": ["plum", "fig"], "ours": 1}

    report = recall.recall(*files(tmp_path, items, [case]), WORDS)

    assert report.findings == ()
    assert report.figures["usable"] == {"80": 0.5, "2000": 1.0}
    assert report.figures["recall"]["2000"] == report.figures["end_to_end"] == 1.0
    assert report.per_case[0].missing == ()
    assert set(report.as_json()) >= {"cases", "all", "random", "latency_ms", "per_case"}


def test_end_to_end_tells_what_no_budget_holds(tmp_path: Path):
    items = [item("plum", "The plum costs 2 euro."), item("book", "All about trees. " * 13_000)]
    case = {"id": "c", "question": "What does the plum cost?", "required": ["plum", "book"]}

    report = recall.recall(*files(tmp_path, items, [case]), WORDS)

    assert report.figures["end_to_end"] == 0.5
    assert "1 cases, 1 not whole: c (book)" in recall.text(report, "fruit")


def test_a_half_without_a_case_has_no_row_of_zeros(tmp_path: Path):
    case = {"id": "c", "question": "One?", "required": ["a"]}

    report = recall.recall(*files(tmp_path, [item("a", "One.")], [case]), WORDS)

    assert sorted(half["cases"] for half in report.figures["halves"].values()) == [0, 1]
    assert recall.text(report, "fruit").count(" ids |") == 1


def test_a_table_is_usable_when_every_column_is_named_and_mentioned_when_it_is_named(tmp_path: Path):
    tables = [
        {"id": f"t{n}", "path": f"db/s/t{n}", "type": "table", "title": f"db.s.t{n}", "text": "Columns: many"}
        for n in range(3)
    ]
    columns = [
        {
            "id": f"t{n}.c{k}",
            "path": f"db/s/t{n}/c{k}",
            "type": "column",
            "title": f"t{n}.customer_{n}_{k}",
            "parent": f"t{n}",
        }
        for n in range(3)
        for k in range(12)
    ]
    case = {"id": "c", "question": "customer 0", "required": ["t0", "t1", "t2"]}
    wanted = recall.Wanted(words_only=True, seeds=1, budgets=(70, 2_000))

    report = recall.recall(*files(tmp_path, [*tables, *columns], [case]), wanted)

    assert report.figures["usable"] == {"70": 0.3333, "2000": 1.0}
    assert report.figures["recall"]["70"] >= 0.3333


def test_a_part_with_lines_that_begin_with_numbers_is_usable(tmp_path: Path):
    pages = [item(f"page_{n}", f"We sold:\n{n}5 apples", title="") for n in range(3)]
    case = {"id": "c", "question": "apples", "required": ["page_1"]}

    report = recall.recall(*files(tmp_path, pages, [case]), WORDS)

    assert report.figures["usable"]["2000"] == 1.0


def test_lines_that_cannot_be_read_are_findings_and_the_rest_is_measured(tmp_path: Path):
    items = [item("a", "One."), "{", "[]", {"id": "b"}, item("a", "Twice."), item("c", "Three.", parent="nobody")]
    cases = [
        {"id": "c", "question": "One?", "required": ["a", "zz"]},
        {"id": "d", "question": "?", "required": []},
        "nonsense",
    ]

    report = recall.recall(*files(tmp_path, items, cases), WORDS)

    told = [(f.code, f.where) for f in report.findings]
    assert told.count(("missing_key", "items.jsonl:4:1")) == 2
    assert [t for t in told if t[0] != "missing_key"] == [
        ("line_unreadable", "items.jsonl:2:1"),
        ("line_unreadable", "items.jsonl:3:1"),
        ("line_unreadable", "items.jsonl:5:1"),
        ("item_unknown", "items.jsonl:6:1"),
        ("line_unreadable", "cases.jsonl:3:1"),
        ("item_unknown", "cases.jsonl:1:1"),
        ("line_unreadable", "cases.jsonl:2:1"),
    ]
    assert report.figures["cases"] == 1
    assert report.failed


def test_where_nothing_is_measured_there_is_no_table_of_zeros(tmp_path: Path):
    report = recall.recall(*files(tmp_path, [item("a", "One.")], []), WORDS)

    recall.pin(report, tmp_path / "pinned.json", "fruit")

    assert report.failed
    assert not (tmp_path / "pinned.json").exists()
    assert "nothing was measured" in recall.text(report, "fruit")
    assert "0.0" not in recall.text(report, "fruit")


def test_scope_and_readers_narrow_what_a_case_sees():
    read = corpus(
        item("open", "x"),
        item("closed", "x", readers=["group:sales"]),
        item("public", "x", readers=["public"]),
        {"id": "far", "path": "drive/far", "type": "page"},
    )

    def seen(**case: Any) -> set[str]:
        line = json.dumps({"id": "c", "question": "x", "required": ["open"]} | case)
        cases, findings = outside.read_cases([line], name="cases", corpus=read)
        assert findings == []
        return {i.id for i in read.visible(cases[0])}

    assert seen() == {"open", "far"}
    assert seen(**{"as": "group:sales"}) == {"closed", "public"}
    assert seen(scope={"globs": ["wiki/**"]}) == {"open"}
    assert seen(scope={"static_ids": ["far"]}) == {"far"}
    assert seen(scope={}) == set()


def test_numbered_siblings_without_names_of_their_own_are_parts_and_others_are_not():
    said = [
        {
            "id": f"s{n}",
            "path": f"m/1/turn_{n}",
            "type": "turn",
            "title": "Ann",
            "text": "x",
            "props": {"speaker": "Ann"},
        }
        for n in range(4)
    ]
    named = [{"id": f"d{n}", "path": f"docs/a/{n:03}", "type": "doc", "title": f"Title {n}"} for n in range(4)]

    items = corpus(*said, *named).items

    assert [i.order for i in items] == [0, 1, 2, 3, -1, -1, -1, -1]
    assert items[0].lead == "Ann"


def test_columns_in_another_order_make_the_same_family():
    def columns(*names: str, of: str) -> list[dict[str, Any]]:
        return [
            {"id": f"{of}.{n}", "path": f"db/s/{of}/{n}", "type": "column", "title": f"{of}.{n}", "parent": of}
            for n in names
        ]

    days = [{"id": f"e_{d}", "path": f"db/s/e_{d}", "type": "table"} for d in (1, 2)]
    items = corpus(*days, *columns("a", "b", of="e_1"), *columns("b", "a", of="e_2")).items

    assert [u.id for u in sections.units(items)] == ["e_1"]


def test_figures_that_fall_below_the_pinned_baseline_are_an_alert(tmp_path: Path):
    items = [item(name, f"The {name} costs {n} euro. " * 9) for n, name in enumerate(("apple", "pear", "plum"))]
    case = {"id": "c", "question": "What does the plum cost?", "required": ["plum"]}
    report = recall.recall(*files(tmp_path, items, [case]), WORDS)
    baseline = tmp_path / "baseline.json"
    recall.pin(report, baseline, "fruit")

    same, table = recall.against(report, baseline, "fruit")
    worse = json.loads(baseline.read_text())
    worse["sets"]["fruit"]["usable"]["80"] = 1.0
    worse["sets"]["fruit"]["end_to_end"] = 1.0
    fallen = {**report.figures, "usable": {"80": 0.5, "2000": 1.0}}
    found = at_budgets.regressions("fruit", fallen, at_budgets.Pinned(**worse["sets"]["fruit"]))

    control = at_budgets.Pinned(**json.loads(baseline.read_text())["sets"]["fruit"])
    fewer = at_budgets.regressions(
        "fruit", {**report.figures, "usable": {"80": report.figures["usable"]["80"]}}, control
    )

    assert not same.failed
    assert [(f.code, "@2000" in f.message) for f in fewer] == [("recall_not_comparable", True)]
    assert at_budgets.deltas({"usable": {}, "end_to_end": 1.0}, control) == [None, None, 0.0]
    assert table.splitlines()[0] == "|  | @80 | @2,000 | end-to-end |"
    assert table.splitlines()[2] == "| fruit | +0.0000 | +0.0000 | +0.0000 |"
    assert [f.code for f in found] == ["recall_fell"]
    assert [f.code for f in recall.against(report, baseline, "other")[0].findings] == ["recall_not_comparable"]


def test_the_command_prints_one_document_and_ends_with_1_on_unreadable_lines(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    from ukai.surfaces.cli import app

    items, cases = files(tmp_path, [item("a", "One."), "{"], [{"id": "c", "question": "One?", "required": ["a"]}])
    chart = tmp_path / "chart.svg"
    asked = ["context", "recall", "--corpus", str(items), "--cases", str(cases), "--words-only", "--json", "--quiet"]

    code = output.guarded(lambda: app([*asked, "--chart", str(chart)]))

    assert code == output.REFUSED
    assert json.loads(capsys.readouterr().out)["usable"]["2500"] == 1.0
    assert chart.read_text().startswith("<svg")


def test_a_public_set_that_fell_below_what_is_pinned_ends_the_benchmark_with_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    from ukai.surfaces.cli import app

    (tmp_path / "tau_banking").mkdir()
    case = {"id": "c", "question": "One?", "required": ["a"]}
    files(tmp_path / "tau_banking", [item("a", "One.")], [case])
    asked = ["bench", "recall", "--sets", "tau_banking", "--cases", str(tmp_path), "--vectors", str(tmp_path)]
    asked += ["--baseline", str(tmp_path / "b.json")]

    pinned = output.guarded(lambda: app([*asked, "--pin", "yes", "--json"]))
    files(tmp_path / "tau_banking", [item("a", "One. " * 50_000)], [case])
    fell = output.guarded(lambda: app([*asked]))

    assert (pinned, fell) == (0, output.REFUSED)
    told = capsys.readouterr().out
    assert "| tau_banking | -1.0000 | -1.0000 | -1.0000 | -1.0000 | -1.0000 |" in told
    assert "tau_banking: usable @15000 fell from 1.0000 to 0.0000" in told


@pytest.mark.parametrize(
    "options", [["--words-only"], ["--cut", "prefix"], ["--corpus", "i", "--cases", "c", "--only", "x"]]
)
def test_an_option_that_would_change_nothing_is_refused(options: list[str]):
    from ukai.surfaces.cli import app

    assert output.guarded(lambda: app(["context", "recall", *options])) == output.USAGE


class Counting:
    """An embedder that counts what it is asked."""

    model_id, dimensions = "counting@1", 4

    def __init__(self) -> None:
        self.texts: list[str] = []

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        self.texts += texts
        return np.array([[float(len(t)), 1, 0, 0] for t in texts], np.float32)


def test_a_text_is_embedded_once_whoever_asks_and_half_a_record_is_cut_off(tmp_path: Path):
    first = Counting()
    on_disk.OnDisk(first, tmp_path).embed(["a", "bb", "a"])
    kept = next(tmp_path.iterdir())
    kept.write_bytes(kept.read_bytes() + b"half")
    second = Counting()

    vectors = on_disk.OnDisk(second, tmp_path).embed(["bb", "ccc", "a"])
    on_disk.OnDisk(third := Counting(), tmp_path).embed(["a", "bb", "ccc"])

    assert (first.texts, second.texts, third.texts) == (["a", "bb"], ["ccc"], [])
    assert vectors[:, 0].tolist() == [2, 3, 1]


TOOL = shared.DATA.parent / "tools" / "recall_cases.py"
SETS = {"spider2": 12, "spider2-whole": 12, "locomo": 21, "qmsum": 6, "tau_banking": 2}
"""Every so many-th case, so that at least 20 of each are measured."""
ABOVE = {"spider2": 0.0}
"""A scoped database is mostly small: what is left to the ranking shows in the whole catalogue."""


@pytest.fixture(scope="module")
def public(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("recall")
    subprocess.run([sys.executable, TOOL, shared.DATA, folder, "--no-floors"], check=True, capture_output=True)
    return folder


@pytest.mark.skipif(not TOOL.exists(), reason="needs the public sets and their tool")
@pytest.mark.parametrize("name", SETS)
def test_words_alone_beat_a_random_order_on_the_public_sets(public: Path, name: str):
    folder, cases = ("spider2", "cases_unscoped") if name == "spider2-whole" else (name, "cases")
    wanted = recall.Wanted(words_only=True, seeds=1, budgets=(2_500,), every=SETS[name])

    report = recall.recall(public / folder / "items.jsonl", public / folder / f"{cases}.jsonl", wanted)

    assert report.findings == ()
    assert 20 <= report.figures["cases"] <= 25
    assert report.figures["usable"]["2500"] >= report.figures["random"]["usable"]["2500"] + ABOVE.get(name, 0.04)


@pytest.mark.skipif(not TOOL.exists(), reason="needs the public sets and their tool")
@pytest.mark.parametrize(("name", "every"), [("locomo", 60), ("qmsum", 25)])
def test_what_connectors_bring_into_the_store_is_found_as_in_memory(
    public: Path, tmp_path: Path, database_url: str, name: str, every: int
):
    cases = [json.loads(line) for line in (public / name / "cases.jsonl").read_text("utf-8").splitlines()][::every]
    places = tuple(g.removesuffix("**") for c in cases for g in c["scope"]["globs"])
    items = (public / name / "items.jsonl").read_text("utf-8").splitlines()
    (tmp_path / name).mkdir()
    kept = [line for line in items if json.loads(line)["path"].startswith(places)]
    for file, lines in (("items", kept), ("cases", [json.dumps(c) for c in cases])):
        (tmp_path / name / f"{file}.jsonl").write_text("\n".join(lines), "utf-8")

    report = stored.run({"sets": name, "cases": str(tmp_path), "words": "yes", "url": database_url})

    usable = {w: fmean(report.figures[f"{name}.{w}@{b}"] for b in recall.BUDGETS) for w in ("stored", "memory")}
    assert usable["stored"] > usable["memory"] - 0.03
