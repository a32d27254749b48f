"""The texts of a record, cut where they are too long; nothing of them is lost (P3.1)."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.context import world
from ukai.context import passages
from ukai.graph import schema

KINDS = {t.type: t for t in world.domain().types}
WORDS = st.text(st.sampled_from("abc \n\u00e4"), min_size=0, max_size=40)
LONG = st.lists(WORDS, max_size=8).map(lambda parts: "".join(p * 300 for p in parts))


def letters(text: str) -> str:
    return "".join(text.split())


def parts(kind: str, **props: Any) -> list[tuple[str, str]]:
    return [(p.part, p.text) for p in passages.of(KINDS[kind], props)]


def test_each_text_field_and_each_turn_is_a_passage_of_its_own():
    turns = [{"who": "Ada", "text": "one"}, {"who": "Bo"}, {"who": "Bo", "text": " two "}]

    assert parts("Memo", title="A title", body="A body", secret="not searched") == [
        ("title", "A title"),
        ("body", "A body"),
    ]
    assert parts("Talk", turns=turns) == [("turn/1", "one"), ("turn/3", "two")]


@settings(deadline=None, max_examples=60)
@given(text=LONG)
def test_cutting_a_field_loses_nothing_and_keeps_the_order(text: str):
    found = passages.of(KINDS["Memo"], {"body": text})

    assert letters("".join(p.text for p in found)) == letters(text)
    assert all(0 < len(p.text) <= passages.MAX_CHARACTERS for p in found)
    assert len({p.part for p in found}) == len(found)
    assert [p.ordinal for p in found] == list(range(len(found)))


@settings(deadline=None, max_examples=60)
@given(texts=st.lists(LONG, max_size=3))
def test_cutting_turns_loses_nothing_and_each_is_found_again_by_its_number(texts: list[str]):
    found = passages.of(KINDS["Talk"], {"turns": [{"who": "Ada", "text": t} for t in texts]})

    assert letters("".join(p.text for p in found)) == letters("".join(texts))
    for number, text in enumerate(texts, 1):
        whole = passages.under(found, f"turn/{number}")
        assert letters("".join(p.text for p in whole)) == letters(text)


@settings(deadline=None)
@given(
    value=st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["who", "text", "at"]), inner),
        max_leaves=8,
    )
)
def test_any_json_in_the_place_of_turns_is_read_or_passed_over(value: Any):
    for found in passages.of(KINDS["Talk"], {"turns": value}):
        assert found.text


def test_a_long_field_that_is_called_like_the_parts_takes_no_name_twice():
    named = replace(KINDS["Talk"], text=("turn",), passages=schema.Passages(source="turns", text="text"))
    found = passages.of(named, {"turn": "a " * 3_000, "turns": [{"text": "x"}, {"text": "y"}, {"text": "z"}]})

    assert [p.part for p in found] == ["turn/1", "turn/2", "turn/3"]


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("2026-11-20", datetime(2026, 11, 20, tzinfo=UTC)),
        ("2026-11-20T10:00:00+02:00", datetime(2026, 11, 20, 8, tzinfo=UTC)),
        ("2026-11-20T10:00:00", datetime(2026, 11, 20, 10, tzinfo=UTC)),
        ("0001-01-01T00:00:00+14:00", None),
        ("soon", None),
        ("2026-13-01", None),
        (None, None),
        (7, None),
    ],
)
def test_what_is_no_instant_is_none(written: object, meant: datetime | None):
    assert passages.instant(written) == meant
