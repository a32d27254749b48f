"""Expressions over a row (formats §8)."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from ukai.connect import calls, mapping

ROW: dict[str, Any] = {
    "a": "A",
    "mail": " Ann@Ex.COM ",
    "none": None,
    "tags": "x, y,,z",
    "n": 3,
    "amount": "1,250.50",
    "day": "2026/1/5",
    "big": 2**70,
    "exact": Decimal("0.1"),
    "long": Decimal("0.12345678901234567890"),
    "nested": {"deep": [1, {"k": "v"}]},
    "odd name": "o",
}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("row.a", "A"),
        ("lower(trim(row.mail))", "ann@ex.com"),
        ("lower(row.none)", None),
        ("row.absent", None),
        ("row['odd name']", "o"),
        ("split(row.tags, ',')", ["x", "y", "z"]),
        ("split(row.tags, ',').map(t, 'group:' + t)", ["group:x", "group:y", "group:z"]),
        ("join(split(row.tags, ','), '-')", "x-y-z"),
        ("coalesce(row.none, row.absent, lower(row.a), 'z')", "a"),
        ("coalesce(row.none, 'a (b')", "a (b"),
        ("number(row.amount)", "1250.5"),
        ("number(' 12 ')", 12),
        ("number('')", None),
        ("date(row.day)", "2026-01-05"),
        ("date('2026-03-04T10:00:00Z')", "2026-03-04"),
        ("row.n > 2 ? 'many' : 'few'", "many"),
        ("number(row.amount) == '1250.5' ? lower(row.a) : date(row.a)", "a"),
        ("row.none == null ? 'x' : date(row.a)", "x"),
        ("split(row.tags, ',').map(t, lower(t + 'X'))", ["xx", "yx", "zx"]),
        ("lower(row.a + 'B') + trim(row.mail)", "abAnn@Ex.COM"),
        ("lower( row.a )", "a"),
        ("lower('it\\'s A')", "it's a"),
        ("join(['a', lower(row.a)], '/')", "a/a"),
        ("row.big", str(2**70)),
        ("row.exact", 0.1),
        ("row.long", "0.12345678901234567890"),
        ("row.nested.deep[1].k", "v"),
        ("row.nested", {"deep": [1, {"k": "v"}]}),
        ("has(row.none) || has(row.absent)", False),
        ("has(row.a) ? 'has(row.none)' : 'no'", "has(row.none)"),
        ("timestamp('2026-01-05T10:00:00Z')", "2026-01-05T10:00:00Z"),
    ],
)
def test_a_row_gives_a_value(text: str, value: Any):
    assert mapping.faults(text) == []
    assert mapping.Expressions({"x": text}).values(ROW) == {"x": value}


@pytest.mark.parametrize(
    ("text", "column", "said"),
    [
        ("loower(row.a)", 1, "did you mean 'lower'?"),
        ("row.a + ", 9, ""),
        ("coalesce(row.a, rwo.b)", 17, "did you mean 'row'?"),
        ("coalesce(coalesce(row.a), rowe.b)", 27, "did you mean 'row'?"),
        ("x" * 3000, 1, "write at most"),
    ],
)
def test_a_fault_is_told_where_it_stands(text: str, column: int, said: str):
    (fault, *_) = mapping.faults(text)

    assert fault.column == column
    assert said in fault.hint


def test_what_gives_no_value_is_told_expression_by_expression():
    found = mapping.Expressions({"fine": "row.a", "day": "date(row.a)", "low": "lower(row.n)"}).values(ROW)

    assert isinstance(found, list)
    assert [(f.name, f.reason) for f in found] == [
        ("day", "'A' is no date"),
        ("low", "no such function for these kinds: lower(integer)"),
    ]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("row.a + row['odd name'] + 'row.c'", {"a", "odd name"}),
        ("row", None),
        ("row.map(k, k)", {"map"}),
        ("'row'", set[str]()),
    ],
)
def test_the_columns_that_are_read_are_known(text: str, names: set[str] | None):
    assert mapping.columns(text) == names


def test_calls_over_columns_are_made_without_the_engine():
    def parts(text: str) -> list[str]:
        return [text[p.start : p.end] for p in calls.found(text)]

    assert parts("lower(trim(row.mail))") == ["lower(trim(row.mail))"]
    assert parts("row['odd name']") == ["row['odd name']"]
    assert parts("number(row.a) > 1 ? 'lower(row.b)' : lower(row.b)") == ["number(row.a)", "lower(row.b)"]
    assert parts("coalesce(row.a, lower(row.b + 'x'))") == []
    assert parts("row.tags.map(t, lower(t))") == parts("mylower(row.a)") == parts("x.lower(row.a)") == []
    assert parts("lower(row.nested.a)") == []


def test_a_failing_part_is_told_where_it_is_read():
    found = mapping.Expressions({"x": "row.n > 2 ? date(row.a) : 'x'", "fine": "row.n > 2"}).values(ROW)

    assert isinstance(found, list)
    assert [(f.name, f.reason) for f in found] == [("x", "'A' is no date")]
