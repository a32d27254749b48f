from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ukai.graph import kinds, numbers, regex
from ukai.graph.problem import Problem
from ukai.graph.schema import KINDS, Field

FIELDS = [
    *(
        Field(key="x", kind=k, values=("a", "b") if k == "enum" else (), to="Thing" if k == "ref" else "")
        for k in KINDS
    ),
    Field(key="x", kind="number", places=2, min=-5, exclusive_max="7.5", multiple_of="0.25"),
    Field(key="x", kind="json", any_of=("date", "boolean", "integer")),
    Field(key="x", kind="string", many=True, unique_items=True, max_items=3),
    Field(key="x", kind="text", pattern="^(a+)+$"),
    Field(key="x", kind="date", min="2026-01-01"),
]
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**9), max_value=10**9)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=12)
    | st.sampled_from(["2026-01-01", "2026-01-01T10:00:00+02:00", "12.50", "Thing#a", "a", "b"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


def run(field: Field, value: Any) -> tuple[Any, list[Problem]]:
    problems: list[Problem] = []
    return kinds.compile(field)(value, "", problems), problems


@given(st.sampled_from(FIELDS), VALUES)
def test_what_is_accepted_is_canonical_and_stays_accepted(field: Field, value: Any):
    canonical, problems = run(field, value)

    if problems:
        assert all(p.expected and p.message for p in problems)
    else:
        assert run(field, canonical) == (canonical, [])


@given(st.sampled_from(FIELDS), VALUES)
def test_a_suggested_value_is_a_value_of_the_field(field: Field, value: Any):
    _, problems = run(field, value)

    for problem in problems:
        if problem.at == "" and not hasattr(problem.fix, "__slots__") and problem.fix.__class__.__name__ != "Nothing":
            _, again = run(field, problem.fix)
            assert all(p.code != problem.code for p in again)


@pytest.mark.parametrize(
    ("value", "canonical"),
    [(42, 42), ("42.00", 42), (Decimal("12.50"), "12.5"), (0.1, "0.1"), ("1e3", 1000), ("-0.0", 0), (10**30, 10**30)],
)
def test_a_number_has_one_spelling(value: Any, canonical: Any):
    assert run(Field(key="x", kind="number"), value) == (canonical, [])


def test_a_number_keeps_every_digit():
    digits = "12345678901234567890.123456789012345678901234567891"

    assert run(Field(key="x", kind="number"), Decimal(digits)) == (digits, [])
    assert numbers.places(Decimal(digits)) == 30


def test_more_places_than_the_field_keeps_are_refused_and_not_rounded():
    field = Field(key="x", kind="number", places=2)

    assert run(field, "12.340") == ("12.34", [])
    assert [p.code for p in run(field, "12.345")[1]] == ["precision_loss"]


def test_a_float_that_has_lost_digits_is_refused():
    _, problems = run(Field(key="x", kind="number"), 12345678901234567.89)

    assert [p.code for p in problems] == ["precision_loss"]


def test_a_pattern_cannot_hang_the_gate():
    _, problems = run(Field(key="x", kind="string", pattern="^(a+)+$"), "a" * 100_000 + "b")

    assert [p.code for p in problems] == ["pattern_mismatch"]


@pytest.mark.parametrize("pattern", ["(?=a)", r"(a)\1", "(", "a" * 1_001])
def test_a_pattern_outside_re2_is_no_pattern(pattern: str):
    assert isinstance(regex.compiled(pattern), str)


def test_json_keeps_what_a_float_would_change_out():
    value, problems = run(
        Field(key="x", kind="json"), {"a": [Decimal("0.1"), Decimal("1e2")], "b": Decimal("0.12345678901234567891")}
    )

    assert [(p.code, p.at) for p in problems] == [("precision_loss", "/b")]
    assert value["a"] == [0.1, 100.0]
