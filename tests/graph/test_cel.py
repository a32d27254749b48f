from typing import Any

import pytest

from ukai.graph import cel
from ukai.graph.schema import Field

RECORD = cel.Record(
    name="Thing",
    parts={
        "title": Field(key="title"),
        "count": Field(key="count", kind="integer"),
        "done": Field(key="done", kind="boolean"),
        "due": Field(key="due", kind="date"),
        "at": Field(key="at", kind="datetime"),
        "cost": Field(key="cost", kind="number", places=2),
        "weight": Field(key="weight", kind="number"),
        "raw": Field(key="raw", kind="json"),
        "tags": Field(key="tags", many=True),
        "days": Field(key="days", kind="date", many=True),
        "costs": Field(key="costs", kind="number", places=2, many=True),
        "support": Field(key="support", kind="json", any_of=("date", "boolean")),
        "size": Field(key="size", kind="enum", values=("s", "m")),
        "state": Field(key="state"),
    },
)
ENV = cel.Environment({"new": RECORD, "old": RECORD, "author": "string"})
NEW = {
    "title": "hi",
    "count": 3,
    "due": "2026-01-01",
    "at": "2026-01-01T10:00:00Z",
    "cost": "12.34",
    "weight": "1.23456",
    "raw": {"a": [1, {"b": None}]},
    "tags": ["x"],
    "days": ["2026-01-01", "2026-02-01"],
    "costs": [1, "2.5"],
    "support": "2026-01-01",
    "state": "open",
}


def outcome(text: str, old: Any = None) -> Any:
    program = ENV.compile(text)
    assert not isinstance(program, list), program
    return program.evaluate({"new": NEW, "old": old, "author": "ann"})


@pytest.mark.parametrize(
    "text",
    [
        "new.title == 'hi' && new.count > 2",
        "new.done == null && !has(new.done) && has(new.title)",
        "has(new.raw.a) && !has(new.raw.z) && new.title + 'has(new.done)' == 'hihas(new.done)'",
        "new.due == timestamp('2026-01-01T00:00:00Z')",
        "new.due < new.at",
        "new.due.getFullYear() == 2026",
        "dec(new.cost) == 1234",
        "new.costs.all(c, dec(c) >= 100)",
        "new.raw.a[1].b == null",
        "new.tags.exists(t, t == 'x') && size(new.tags) == 1",
        "new.days[0] == new.due",
        "new.support == new.due",
        "old == null",
        "old == null || old.title == 'x'",
        "author == 'ann'",
        "new.title.matches('^h.$')",
        "!(new.size in ['s', 'm'])",
    ],
)
def test_a_condition_holds(text: str):
    assert outcome(text) is True


@pytest.mark.parametrize(
    ("text", "message", "column"),
    [
        ("new.titel == 'x'", "Thing has no field 'titel'", 5),
        ("new.title == 3", "== does not take string, int", 11),
        ("foo(new)", "nothing is called 'foo'", 1),
        ("nwe.title == 'x'", "nothing is called 'nwe.title'", 4),
        ("new.cost > 5", "> does not take a number, int", 10),
        ("new.title", "gives string, not true or false", 1),
        ("true &&\n  new.titel == 'x'", "Thing has no field 'titel'", 15),
        ("1 +", "Syntax error", 4),
        ("new.count == 1" + " + 1" * 20, "the expression adds too often", 1),
        ("true" + " || true" * 400, "the expression is too long", 1),
        ("(" * 100 + "true" + ")" * 100, "", 1),
    ],
)
def test_what_cannot_be_meant_is_told_before_it_runs(text: str, message: str, column: int):
    found = ENV.compile(text)

    assert isinstance(found, list)
    assert message in found[0].message
    assert found[0].column == column


@pytest.mark.parametrize(
    "text",
    [
        "new.done",
        "old.title == 'x'",
        "1 / (new.count - 3) == 1",
        "new.raw.missing == 1",
        "dec(new.weight) > 1",
        "new.title.matches('(')",
    ],
)
def test_no_answer_is_neither_yes_nor_no(text: str):
    found = outcome(text)

    assert isinstance(found, cel.Unevaluable)
    assert found.reason


def test_a_loop_in_a_loop_ends_by_itself():
    ten = "[0,1,2,3,4,5,6,7,8,9]"
    nested = "".join(f"{ten}.all(x{i}, " for i in range(6)) + "true" + ")" * 6

    assert isinstance(outcome(nested), cel.Unevaluable)


def test_the_fields_that_a_condition_reads_are_known():
    program = ENV.compile("has(new.title) && new.count > 1 && old == null && 'new.done' != ''")

    assert not isinstance(program, list)
    assert program.fields("new") == {"title", "count"}


def test_a_number_beyond_64_bits_is_not_compared():
    program = ENV.compile("dec(new.cost) > 0")

    assert not isinstance(program, list)
    assert program.evaluate({"new": {"cost": 10**20}, "old": None, "author": ""}) == cel.Unevaluable(
        reason="cost has more places than are compared", lossy="cost"
    )
