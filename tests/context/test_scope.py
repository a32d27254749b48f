"""The scope as an author writes it (C8)."""

from __future__ import annotations

import pytest

from tests.context import world
from ukai.context import scope
from ukai.kit import document


def parse(text: str):
    doc, findings = document.read(f"scope: {text}\n".encode(), name="a.yaml")
    assert doc is not None, findings
    return scope.parse(doc, at="/scope")


def test_a_scope_names_places_exceptions_pinned_records_and_a_budget():
    value, findings = parse('{globs: ["wiki/finance/**"], exclude: ["wiki/finance/drafts/**"], static_ids: ["Note#x"]}')

    assert findings == []
    assert value == scope.Scope(
        globs=("wiki/finance/**",), exclude=("wiki/finance/drafts/**",), static_ids=("Note#x",), budget_tokens=15_000
    )


@pytest.mark.parametrize(
    ("text", "code", "where"),
    [
        ('{globs: ["/wiki"]}', "invalid_glob", "1:17"),
        ('{globs: [a], exclude: ["a**b"]}', "invalid_glob", "1:31"),
        ("{globs: [a], static_ids: [x]}", "invalid_handle", "1:34"),
        ("{globs: [a], budget_tokens: 50001}", "invalid_value", "1:36"),
        ("{globs: [a], budget_tokens: 0}", "invalid_value", "1:36"),
        ("{glob: [a]}", "unknown_key", "1:9"),
        ("{globs: a}", "wrong_type", "1:16"),
    ],
)
def test_what_is_wrong_with_a_scope_is_told_at_its_place(text: str, code: str, where: str):
    value, findings = parse(text)

    assert value is None
    assert [(f.code, f.where) for f in findings] == [(code, f"a.yaml:{where}")]


def test_a_scope_that_names_nothing_is_told_and_stays_a_scope():
    value, findings = parse("{}")

    assert value == scope.Scope()
    assert [(f.severity, f.code) for f in findings] == [("warning", "scope_names_nothing")]


@pytest.mark.parametrize(("more", "told"), [([], []), (["c"], [("scope_too_large", "2,001")])])
def test_a_scope_of_more_patterns_than_a_statement_can_ask_for_is_a_finding(more: list[str], told: list[object]):
    written = {"globs": [f"w{i}/*/x" for i in range(scope.MOST_PATTERNS - 1)], "exclude": ["b", *more]}

    value, findings = scope.parse(document.Document(name="a.yaml", data={"scope": written}), at="/scope")

    assert [(f.code, f.received) for f in findings] == told
    assert (value is None) == bool(told)


def test_a_scope_of_many_ids_asks_no_more_of_the_planner_than_one_of_a_few():
    def asked(number: int) -> str:
        ids = tuple(f"{type}#m{n}" for n in range(number) for type in ("Memo", "Firm"))
        return world.reader().narrowed(scope.Scope(static_ids=ids)).clause[0]

    assert asked(2_000) == asked(1)
