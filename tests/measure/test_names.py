"""Names that nothing the tools returned holds."""

from __future__ import annotations

import pytest

from tests.measure import build

NOTE = "Mr. Ola Berg of Harbor Foods Ltd said that the Bureau of Labor Statistics publishes year over year figures."


@pytest.mark.parametrize(
    "answer",
    [
        "The call was with Berg of Harbor.",
        "The call was with Mr. Berg.",
        "We spoke about HarborFoods and its plans.",
        "They read the BLS report.",
        "Growth was flat YoY in this market.",
        "However, Monday suits them. Furthermore, they are well.",
        "The call with Ola Berk went well.",
    ],
)
def test_names_of_the_evidence_are_known_in_part_run_together_shortened_and_nearly(answer: str):
    assert build.told(build.score("names", answer, NOTE)) == []


def test_a_name_of_which_no_word_is_known_gates_and_shows_the_nearest():
    score = build.score("names", "The call was with Ingrid Solheim, of course.", NOTE)
    assert build.told(score) == [("strange", "Ingrid Solheim")]
    assert score.is_flagged
    assert score.flags[0].looked


def test_the_first_word_of_a_sentence_is_no_name_by_its_capital():
    assert build.told(build.score("names", "Notwithstanding this, they agree.", NOTE)) == []


def test_a_person_addressed_otherwise_than_ever_is_told():
    assert build.told(build.score("names", "They met Ms. Berg today.", NOTE)) == [("readdressed", "Ms. Berg")]


def test_a_placeholder_stands_for_itself():
    note = "The plan costs $XXX a month."

    assert build.told(build.score("names", "The plan costs $XXXX a month.", note)) == []
    assert build.told(build.score("names", "The plan costs $YYY a month.", note)) == [("strange", "YYY")]
