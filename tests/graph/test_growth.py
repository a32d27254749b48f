"""How large an expression may become is known before it is evaluated, and never too small (W11)."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ukai.connect import mapping
from ukai.graph import cel, growth
from ukai.graph.schema import Field

LONG = "a" * (1 << 20)
NOTE = cel.Record(name="Note", parts={"t": Field(key="t", kind="text"), "l": Field(key="l", kind="string", many=True)})
RULES = cel.Environment({"new": NOTE})


def expressions(names: tuple[str, ...] = ("row.a", "'xy'"), depth: int = 3) -> st.SearchStrategy[str]:
    """Texts and lists of texts, out of sums, lists and loops inside loops."""
    leaf = st.sampled_from(names)
    if depth == 0:
        return leaf
    inner = expressions(names, depth - 1)
    summed = st.lists(inner, min_size=2, max_size=3).map(lambda p: "(" + " + ".join(f"string({x})" for x in p) + ")")
    listed = st.lists(inner, min_size=1, max_size=3).map(lambda p: "[" + ", ".join(p) + "]")
    one = expressions((*names, f"v{depth}"), depth - 1)
    looped = one.map(lambda body: f"row.l.map(v{depth}, {body})")
    twice = st.tuples(one, one).map(lambda b: f"row.l.map(v{depth}, {b[0]}).map(v{depth}, {b[1]})")
    return st.one_of(leaf, summed, listed, looped, twice)


@settings(max_examples=100, deadline=None)
@given(text=expressions(), long=st.integers(0, 900), many=st.integers(0, 9))
def test_no_result_is_longer_than_it_was_said_to_become(text: str, long: int, many: int):
    row = {"a": "a" * long, "l": ["b"] * many}
    if mapping.faults(text):
        return
    found = mapping.Expressions({"x": text}).values(row)

    if isinstance(found, dict):
        said = growth.growth_of(text).given_back(growth.size_of({"row": row}))
        assert growth.size_of(found["x"]).characters <= said + 8


@pytest.mark.parametrize(
    "text",
    [
        "[" + ", ".join(["row.a"] * 300) + "]",
        " + ".join(["row.a"] * 25),
        "row.l.map(x, row.a)",
        "row.l.map(x, row.l.map(y, x + y))",
        "join(row.l, row.a)",
        "join(row.l.map(x, x), row.a)",
    ],
)
def test_a_long_cell_makes_a_finding_and_no_memory(text: str):
    row = {"a": LONG, "l": ["abcdefgh"] * 5_000}

    (failed,) = mapping.Expressions({"x": text}).values(row)

    assert isinstance(failed, mapping.Failed)
    assert failed.reason == growth.TOO_LARGE


def test_one_expression_that_would_become_too_large_names_itself_and_not_its_neighbours():
    made = mapping.Expressions({"large": "row.l.map(x, row.a)", "small": "row.b + '!'"})

    (failed,) = made.values({"a": LONG, "b": "b", "l": ["x"] * 100})

    assert isinstance(failed, mapping.Failed)
    assert failed.name == "large"


def test_pages_and_mails_of_a_megabyte_still_come_in():
    row = {"body": LONG, "sections": [{"heading": "h", "text": LONG[:5_000]}] * 200, "to": ["x"] * 500}
    texts = {
        "body": "row.body",
        "titled": "'# ' + row.subject + ': ' + row.body",
        "heads": "row.sections.map(s, s.heading + ': ' + s.text)",
        "readers": "row.to.map(t, 'user:' + t)",
    }

    found = mapping.Expressions(texts).values(row | {"subject": "S"})

    assert isinstance(found, dict)
    assert len(found["titled"]) == len(LONG) + 5


@pytest.mark.parametrize(
    "text", ["size(" + " + ".join(["new.t"] * 17) + ") > 0", "new.l.exists(x, (new.t + new.t).contains(x + 'z'))"]
)
def test_a_rule_over_values_too_long_for_it_has_no_answer_so_that_the_change_is_refused(text: str):
    rule = RULES.compile(text)
    assert isinstance(rule, cel.Program)

    assert rule.evaluate({"new": {"t": LONG, "l": ["q"] * 300}}) == cel.Unevaluable(reason=growth.TOO_LARGE)
    assert isinstance(rule.evaluate({"new": {"t": "short", "l": ["q"] * 300}}), bool)


def test_a_rule_that_only_looks_at_long_values_is_evaluated():
    rule = RULES.compile("new.l.exists(x, new.t.contains(x)) && size(new.t) > 3")
    assert isinstance(rule, cel.Program)

    assert rule.evaluate({"new": {"t": LONG, "l": ["q"] * 300}}) is False
