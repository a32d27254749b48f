"""Cases of a bank: read with their places, split by subject for good, repeated breadth first (P8.7)."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.evals import build
from tests.examples import sample
from tests.surfaces import world
from ukai.app import lint, loading
from ukai.app.evals import bank as asked
from ukai.kit import document
from ukai.measure import bank, evaluation

CASE = (
    '- {id: stalled, ask: "Why?", as: ann@example.com, subject: Account#harbor, requires: {items: ["Call#h-1/turn/3"]}}'
)


def read(text: str):
    doc, findings = document.read(text.encode(), name="evals/x.yaml")
    assert doc is not None, findings
    return bank.read(doc)


def test_a_case_is_read_as_it_is_written():
    (case,), findings = read(f"{CASE}\n")

    assert findings == []
    assert (case.asker, case.cluster, case.repeats) == ("ann@example.com", "Account#harbor", 1)
    assert case.case.required == ("Call#h-1/turn/3",)


@pytest.mark.parametrize(
    ("line", "code", "where"),
    [
        ("- {id: a, ask: x, repeat: 3}", "unknown_key", "1:19"),
        ("- {id: a}", "missing_key", "1:3"),
        ("- {id: a, ask: x, as: nobody}", "invalid_value", "1:23"),
        ("- {id: a, ask: x, requires: {items: [harbor]}}", "invalid_value", "1:38"),
        ("- {id: a, ask: x, rules: {should_pass: [r], should_fire: [r]}}", "invalid_value", "1:59"),
        ("- {id: a, ask: x}\n- {id: a, ask: y}", "duplicate_name", "2:8"),
        ("- {id: a, ask: x, repeats: 0}", "invalid_value", "1:28"),
        ("id: a", "wrong_type", "1:1"),
    ],
)
def test_what_is_wrong_with_a_case_is_told_at_its_place(line: str, code: str, where: str):
    cases, findings = read(line + "\n")

    assert [(f.code, f.where) for f in findings] == [(code, f"evals/x.yaml:{where}")]
    assert cases == ()


def test_other_files_of_a_workspace_hold_no_cases(tmp_path: Path):
    (tmp_path / "evals").mkdir()
    files = {"ukai.yaml": "company: x\n", "templates.yaml": "Firm: {a1b2c3d4: active}\n", "evals/x.yaml": f"{CASE}\n"}
    for name, text in files.items():
        (tmp_path / name).write_text(text)

    found, findings = asked.of(loading.load(tmp_path).catalog)

    assert [q.id for q in found.questions] == ["stalled"]
    assert findings == []


def test_lint_reads_the_cases_of_a_workspace(tmp_path):
    (tmp_path / "ukai.yaml").write_text("company: x\n")
    (tmp_path / "evals").mkdir()
    (tmp_path / "evals" / "mine.yaml").write_text("- {id: a, ask: x, repeat: 3}\n")

    report = lint.lint(tmp_path)

    assert ("unknown_key", "evals/mine.yaml:1:19") in [(f.code, f.where) for f in report.findings]


def test_lint_tells_a_required_item_of_a_type_that_is_not_declared(tmp_path: Path):
    items = '["PullRequest#api:1", "Nope#1", "PulRequest#api:1/title", "tool:search_records"]'
    cases = f"- {{id: a, ask: x, requires: {{items: {items}}}}}\n"

    report = lint.lint(world.written(tmp_path, {**world.FILES, "evals/x.yaml": cases}))

    assert not report.failed
    found = [(f.code, f.where, f.hint) for f in report.findings if f.where.startswith("evals/")]
    assert [f[:2] for f in found] == [("unknown_type", "evals/x.yaml:1:59"), ("unknown_type", "evals/x.yaml:1:69")]
    assert found[1][2] == "did you mean 'PullRequest'?"


def test_the_sample_company_has_more_than_a_hundred_cases_in_all_three_splits():
    cases = [c for p in ("evals/*.yaml", "agents/*/cases/*.yaml") for path in sorted(sample.WORKSPACE.glob(p))
             for c in bank.read(sample.yaml(path))[0]]  # fmt: skip

    splits = {split: sum(c.split == split for c in cases) for split in bank.SPLITS}

    assert len(cases) > 100
    assert min(splits.values()) > 10


@given(st.text(min_size=1, max_size=40))
def test_a_subject_belongs_to_one_split_whatever_else_the_bank_holds(subject: str):
    assert bank.split_of(subject) == bank.split_of(subject)
    assert build.question(1, subject=subject).split == build.question(2, subject=subject).split


def test_every_case_is_asked_once_before_any_is_asked_again():
    asked = bank.Bank(questions=(build.question(1), build.question(2, repeats=3))).runs

    assert [(q.id, rep) for q, rep in asked] == [
        ("case-1", 1),
        ("case-2", 1),
        ("case-1", 2),
        ("case-2", 2),
        ("case-2", 3),
    ]


def test_an_id_of_two_files_is_told():
    _, findings = evaluation.gathered({"a.yaml": [build.question(1)], "b.yaml": [build.question(1)]})

    assert [(f.code, f.where) for f in findings] == [("duplicate_name", "b.yaml:1:1")]
