"""What stands beside ours in docs/reference/recall.md is measured by our own rule (context req. 43-48)."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks import _peers, peers

from ukai.context.recall import measured, outside

REQUIREMENTS = Path(__file__).parents[2] / "requirements"
ITEMS: list[dict[str, Any]] = [
    {"id": "long", "path": "w/long", "type": "page", "title": "Long", "text": "word " * 3_000},
    {"id": "short", "path": "w/short", "type": "page", "title": "Short", "text": "Plums cost 3 euro."},
    {"id": "t", "path": "w/t", "type": "table", "title": "db.t", "text": "Columns: many"},
    {"id": "t.a", "path": "w/t/a", "type": "column", "title": "t.alpha", "parent": "t"},
    {"id": "t.b", "path": "w/t/b", "type": "column", "title": "t.beta", "parent": "t"},
]
CASE = {"id": "c", "question": "?", "required": ["long", "short", "t"]}


def in_order(nodes: Sequence[_peers.Node]) -> Callable[[str, list[float]], dict[int, list[str]]]:
    return lambda question, vector: {b: [n.id for n in nodes] for b in peers.BUDGETS}


def rows(
    items: Sequence[dict[str, Any]] = ITEMS, case: dict[str, Any] = CASE, nodes: peers.Nodes = peers.single
) -> list[measured.Row]:
    corpus, _ = outside.read_corpus([json.dumps(i) for i in items], name="items")
    cases, _ = outside.read_cases([json.dumps(case)], name="cases", corpus=corpus)
    vectors = lambda texts: np.ones((len(texts), 2), np.float32)  # noqa: E731
    return list(peers.measured_rows(corpus, cases, embed=vectors, build=in_order, nodes=nodes))


def test_what_does_not_fit_is_passed_over_and_a_table_counts_by_its_columns():
    [row] = rows()

    assert row.held.usable == {2_500: 2 / 3, 5_000: 1.0, 10_000: 1.0, 15_000: 1.0}
    assert row.held.recall == row.held.usable


def test_a_chunk_brings_all_that_was_said_in_it():
    said = [
        {"id": f"s{n}", "path": f"m/1/turn_{n}", "type": "turn", "title": "Ann", "text": f"{n} " * 240}
        for n in range(30)
    ]

    [row] = rows(said, {"id": "c", "question": "?", "required": ["s0", "s1", "s29"]}, peers.chunks)

    assert row.held.usable == {2_500: 2 / 3, 5_000: 1.0, 10_000: 1.0, 15_000: 1.0}


def test_our_own_rule_decides_what_is_usable(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(measured, "is_usable", lambda item, names, told: item.id == "t" and names == ("alpha", "beta"))

    [row] = rows()

    assert row.held.usable[15_000] == pytest.approx(1 / 3)
    assert row.held.recall[15_000] == 1.0


def test_the_other_pipelines_are_locked_and_in_no_other_install():
    names = {"llama-index-core", "llama-index-retrievers-bm25", "haystack-ai"}
    locked = {f.name: f.read_text(encoding="utf-8") for f in REQUIREMENTS.iterdir()}

    assert all(f"\n{n}==" in locked["peers.txt"] for n in names)
    assert not any(f"\n{n}==" in locked[file] for n in names for file in ("dev.txt", "run.txt"))
    assert locked["peers.txt"].count("--hash=sha256:") > locked["peers.txt"].count("==")


@pytest.mark.skipif(_peers.are_installed(), reason="they are installed here")
def test_without_their_packages_the_benchmark_says_what_is_missing():
    report = peers.run({})

    assert report.figures == {}
    assert "requirements/peers.txt" in report.notes[0]
