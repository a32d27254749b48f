"""How things are scored: with what stands around them (context req. 22, 27)."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.context_render import build
from ukai.context import score
from ukai.context.item import Item
from ukai.context.recall.memory import Counted, Memory


def scored(items: list[Item], question: str) -> dict[str, float]:
    return Memory(items, counted=Counted(), embed=None).scores(question, None)


def naive(group: list[int], size: list[int], reach: int, i: int) -> tuple[int, int]:
    first, last, before, after = i, i + 1, 0, 0
    while first > 0 and group[first - 1] == group[i] and before < reach:
        first -= 1
        before += size[first]
    while last < len(group) and group[last] == group[i] and after < reach:
        after += size[last]
        last += 1
    return first, last


@settings(max_examples=100, deadline=None)
@given(rows=st.lists(st.tuples(st.integers(0, 2), st.integers(1, 300)), max_size=30), reach=st.integers(1, 500))
def test_a_part_is_read_with_its_neighbours_up_to_the_reach(rows: list[tuple[int, int]], reach: int):
    group, size = sorted(g for g, _ in rows), [s for _, s in rows]
    is_part = np.ones(len(rows), bool)

    first, last = score.spans(np.array(group, np.int32), np.array(size, np.int32), is_part, reach)

    assert list(zip(first.tolist(), last.tolist(), strict=True)) == [
        naive(group, size, reach, i) for i in range(len(rows))
    ]


def test_the_answer_beside_a_question_is_found_by_the_question_s_words():
    said = ["Hello.", "When does the Keyring renewal start?", "In March.", "Fine.", *["Weather talk. " * 40] * 3]
    items = build.turns(said)

    found = scored(items, "When does the Keyring renewal start?")

    assert found["Call#x/turn/2"] > found["Call#x/turn/5"]


def test_of_two_equal_parts_the_one_in_a_longer_talk_about_it_comes_first():
    said, off = "The Keyring renewal is due.", "Weather talk. " * 50
    items = build.turns([*[off] * 9, said, *[off] * 9, said, off, said, off, said, *[off] * 9])

    found = scored(items, "Keyring renewal")

    assert found["Call#x/turn/21"] > found["Call#x/turn/9"]


def test_the_place_that_holds_all_words_of_a_question_comes_first():
    spread = [
        build.thing("a", "patients by ward", place="hospital/clean"),
        build.thing("b", "operations and surgeons", place="hospital/clean"),
    ]
    half = [build.thing(f"c{n}", "patients patients patients", place="school/clean") for n in range(5)]

    found = scored([*spread, *half], "Which surgeons had patients on which ward?")

    assert found["b"] > found["c0"]


def test_a_long_question_counts_by_its_sentences_too():
    asked = score.asked("You are Ann Reyes, a patient manager. You want to close the blue account. Be brief.")

    assert len(asked) == 3
    assert asked[1] == "You are Ann Reyes, a patient manager."
    assert score.asked("Why did the rollout stall?") == ("Why did the rollout stall?",)


def test_of_very_many_sentences_the_longest_are_asked_in_their_order():
    short, long = "Open gate {n:03}, please.", "Open the northern gate of depot {n:03}, please."
    said = [(long if n % 5 == 4 else short).format(n=n) for n in range(800)]

    whole, *asked = score.asked(" ".join(said))

    assert whole == " ".join(said)
    assert asked == said[4::5][: score.MOST]


def test_sentences_about_nothing_in_scope_do_not_drown_the_one_that_is():
    silent = np.zeros(50)
    asks, chats = np.full(50, 0.4), np.full(50, 0.02)
    asks[0], asks[1:11], chats[1] = (
        0.8,
        0.6,
        0.1,
    )  # the chat singles out one thing, among things it has nothing to do with

    found = score.mixed([silent] * 6, [silent, asks, *[chats] * 4])

    assert found.argmax() == 0


def test_words_of_identifiers_are_compared_one_by_one():
    assert score.terms("firstName LAST_NAME") == score.terms("first name last name")


def test_no_items_have_no_scores_and_one_item_has_one():
    assert scored([], "anything") == {}
    assert list(scored([build.thing("a", "x")], "anything")) == ["a"]
