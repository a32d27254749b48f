"""`data | nothing | error`, by code (P4.2, P8.3)."""

from __future__ import annotations

from typing import Any

import pytest

from ukai import record
from ukai.record import predicate


def rule(text: str) -> predicate.Expression:
    made, found = predicate.read(text, where="tools/x.py:1:1")
    assert made is not None, found
    return made


@pytest.mark.parametrize(
    ("outcome", "label", "by"),
    [
        (record.Outcome(timed_out=True), "error", "timeout"),
        (record.Outcome(exception="ConnectError"), "error", "exception"),
        (record.Outcome(result={"hits": [1]}, is_error=True), "error", "is_error"),
        (record.Outcome(result={"hits": [1]}, http_status=401), "error", "http_status"),
        (record.Outcome(result={"ok": False, "hits": []}), "error", "error_when"),
        (record.Outcome(result={"ok": True, "hits": []}), "nothing", "empty_when"),
        (record.Outcome(result=" \n"), "nothing", "empty"),
        (record.Outcome(result=[]), "nothing", "empty"),
        (record.Outcome(result=None), "nothing", "empty"),
        (record.Outcome(result={"ok": True, "hits": [0]}), "data", "returned"),
        (record.Outcome(result=0), "data", "returned"),
    ],
)
def test_declared_predicates_decide_after_failures(outcome: record.Outcome, label: str, by: str):
    made = record.label(outcome, error_when=rule("ok == false"), empty_when=rule("hits == []"))

    assert made == (label, by)


@pytest.mark.parametrize(
    ("result", "label", "by"),
    [
        ({"error": "no such account"}, "error", "heuristic"),
        ({"ok": False}, "error", "heuristic"),
        ({"results": [], "total": 0}, "nothing", "heuristic"),
        ({"results": [], "note": "try again"}, "data", "returned"),
        ({"total": 0}, "data", "returned"),
        ({"error": None, "rows": [1]}, "data", "returned"),
    ],
)
def test_without_declarations_a_guess_says_that_it_is_one(result: Any, label: str, by: str):
    assert record.label(record.Outcome(result=result)) == (label, by)


@pytest.mark.parametrize(
    ("text", "result", "is_true"),
    [
        ("hits == []", {"hits": []}, True),
        ("hits == []", {"hits": [1]}, False),
        ("hits == []", {}, False),
        ("meta.total == 0 || items == []", {"meta": {"total": 0}}, True),
        ("a == 1 && b == 2 || c == 3", {"c": 3}, True),
        ("a == 1 && b == 2", {"a": 1}, False),
        ("rows[0].ok != true", {"rows": [{"ok": False}]}, True),
        ('state == "a || b"', {"state": "a || b"}, True),
        ("ok == false", {"ok": 0}, False),
        ("status >= 400", {"status": 404}, True),
        ("status >= 400", {"status": "404"}, False),
        ("x == null", {}, True),
    ],
)
def test_a_predicate_compares_a_place_with_a_value(text: str, result: Any, is_true: bool):
    assert rule(text)(result) is is_true


@pytest.mark.parametrize("text", ["", "hits", "hits = []", "hits == [", "a == 1 &&", "len(hits) == 0", "1 == 1"])
def test_what_is_no_comparison_is_a_finding(text: str):
    made, found = predicate.read(text, where="tools/x.py:1:1")

    assert made is None
    assert [f.code for f in found] == ["invalid_rule"]
