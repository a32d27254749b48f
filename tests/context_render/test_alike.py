"""A text that stands in the document almost word for word already is told by what differs (context E6)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.context_render import build
from ukai.context import assembly, levels

SENTENCES = tuple(f"Rule {n} says what happens on day {n} of a refund" for n in range(12))
TEXT = ". ".join(SENTENCES)
OTHER = ". ".join(f"Entry {n} of the log is about something else" for n in range(12))


def document(*things: tuple[str, str, str], budget: int = 5_000, kind: str = "page") -> assembly.Assembled:
    """Pages by name, place and text, best first."""
    items = [
        build.thing(name, text, place=place, kind=kind, score=float(-n)) for n, (name, place, text) in enumerate(things)
    ]
    return build.assembled(items, budget)


def test_a_copy_in_another_place_is_told_by_the_name_of_what_stands_above():
    made = document(("refunds", "wiki", TEXT), ("old-refunds", "drive/deep", TEXT), ("log", "drive/deep", OTHER))

    assert made.text.count(TEXT) == 1
    assert "### old-refunds\nas refunds\n" in made.text
    assert OTHER in made.text
    assert {level for _, level in made.shown.values()} == {levels.FULL}


def test_a_version_beside_it_is_told_by_the_sentences_in_which_it_differs():
    new = TEXT.replace("day 3", "day 30")

    made = document(("refunds-1", "wiki", TEXT), ("refunds-2", "wiki", new), ("log", "wiki", OTHER))

    assert f"as refunds-1; instead of «{SENTENCES[3]}»: «{SENTENCES[3].replace('day 3', 'day 30')}»\n" in made.text
    assert made.used < len(TEXT + OTHER) / 4 + 150


@pytest.mark.parametrize(
    "things",
    [
        (("a", "wiki", TEXT), ("b", "drive", TEXT.replace("day 3", "day 30"))),
        (("a", "wiki", TEXT), ("b", "wiki", ". ".join(SENTENCES[:8]))),
        (("a", "wiki", "Refunds take a day."), ("b", "drive", "Refunds take a day.")),
        (("a", "wiki", TEXT), ("b", "wiki", ". ".join((*SENTENCES[6:], *SENTENCES[:6])))),
        (("a", "wiki", f"{TEXT}. {SENTENCES[0]}"), ("b", "wiki", TEXT)),
    ],
    ids=["almost the same elsewhere", "too much is missing", "short", "in another order", "a sentence twice"],
)
def test_what_is_another_text_or_little_stands_in_full(things: tuple[tuple[str, str, str], ...]):
    made = document(*things)

    assert all(text in made.text for _, _, text in things)
    assert "as a" not in made.text


def test_where_only_the_first_fits_the_second_is_no_pointer_to_what_is_not_there():
    big = document(("a", "wiki", TEXT), ("b", "drive", TEXT))
    small = document(("a", "wiki", TEXT), ("b", "drive", TEXT), budget=60)

    assert "as a" in big.text
    assert "as a" not in small.text
    assert TEXT not in small.text


def test_what_two_versions_give_in_another_order_is_told_with_its_place():
    shared = [f"Rule {n} is the same for everybody and as long as the others are" for n in range(20)]
    emea = "\n".join(["Standard customers", "limit 500 euros", "Enterprise customers", "limit 90,000 euros", *shared])
    amer = "\n".join(["Standard customers", "limit 90,000 euros", "Enterprise customers", "limit 500 euros", *shared])

    made = document(("emea", "wiki", emea), ("amer", "wiki", amer))

    assert "«Standard customers»: «limit 90,000 euros" in made.text


@given(kept=st.lists(st.booleans(), min_size=12, max_size=12), more=st.lists(st.integers(0, 99), max_size=3))
def test_every_sentence_of_both_versions_stands_in_the_document(kept: list[bool], more: list[int]):
    new = [s for s, keep in zip(SENTENCES, kept, strict=True) if keep] + [f"Exception {n} holds" for n in more]
    made = document(("refunds-1", "wiki", TEXT), ("refunds-2", "wiki", ". ".join(new)))

    assert all(s in made.text for s in (*SENTENCES, *new))
