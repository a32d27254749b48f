"""Invented figures: what is supported, weak, derived, invented, miscalculated or soft (P8.1)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.measure import build
from ukai import measure, record
from ukai.record import draft

NOTE = "Harbor renews its licence for $1.2M, which legal wants to sign on May 5. The pilot has 340 users."


def kinds(answer: str, *texts: str, **changes: object) -> list[tuple[str, str]]:
    return build.told(build.score("invented_figures", answer, *(texts or (NOTE,)), **changes))


def test_a_figure_that_the_evidence_says_is_supported_in_any_spelling():
    assert kinds("Harbor renews its licence for 1,200,000 dollars and legal signs on 5 May.") == []


def test_a_figure_that_nothing_says_is_invented_and_shows_place_sentence_and_the_nearest_evidence():
    score = build.score("invented_figures", "It is agreed. Harbor renews its licence for $1.7M.", NOTE)

    flag = score.flags[0]

    assert (flag.kind, flag.words, flag.gates) == ("invented", "$1.7M", True)
    assert flag.sentence == "Harbor renews its licence for $1.7M."
    assert "It is agreed. Harbor renews its licence for $1.7M."[flag.start : flag.end] == "$1.7M"
    assert flag.looked[0].key == "Note#1-1"
    assert NOTE[flag.looked[0].start : flag.looked[0].end] == flag.looked[0].words == "$1.2M"


def test_the_right_value_among_other_words_is_weak_and_does_not_gate():
    score = build.score("invented_figures", "Support closed 340 tickets in the northern region.", NOTE)

    assert build.told(score) == [("weak", "340")]
    assert not score.is_flagged


def test_the_question_and_the_as_of_date_are_evidence():
    question = "Say in 250 words what happened until 2 November 2026."

    assert kinds("In 250 words, as of 2 November 2026: nothing.", "Nothing happened.", question=question) == []


@pytest.mark.parametrize("answer", ["There are two options.", "It has 3 risks and 12 owners."])
def test_small_counts_are_soft_and_never_gate(answer: str):
    score = build.score("invented_figures", answer, NOTE)

    assert {flag.kind for flag in score.flags} == {"soft"}
    assert not score.is_flagged


def test_a_stated_calculation_of_quoted_figures_is_derived_with_its_operands():
    table = "Revenue | 2019 | 2018\nAdjusted EBITDA | $108,307 | $93,081"
    score = build.score("invented_figures", "EBITDA grew by 16.36% = (108,307 - 93,081) / 93,081.", table)

    flag = score.flags[0]

    assert (flag.kind, flag.words, flag.gates) == ("derived", "16.36%", False)
    assert [look.words for look in flag.looked] == ["$108,307", "$93,081", "$93,081"]


def test_a_stated_calculation_that_does_not_come_out_gates():
    table = "Adjusted EBITDA | $108,307 | $93,081"

    assert kinds("It grew by 17.36% = (108,307 - 93,081) / 93,081.", table) == [("miscalculated", "17.36%")]


def test_a_calculation_over_figures_that_nothing_says_is_invented():
    table = "Adjusted EBITDA | $108,307 | $93,081"

    assert ("invented", "50%") in kinds("It grew by 50% = (300 - 200) / 200.", table)


def test_a_difference_that_is_not_stated_stays_invented_and_the_note_says_what_it_may_be():
    score = build.score(
        "invented_figures", "The gap is 240 users.", "The pilot has 340 users and the plan was 100 users."
    )

    assert build.told(score) == [("invented", "240")]
    assert "340 - 100" in score.flags[0].note


def test_a_page_in_thousands_supports_a_claim_in_thousands():
    page = "Year ended (in thousands) | 2019 | 2018\nAccrued expenses | 81,731 | 70,208"

    assert kinds("Accrued expenses were 81,731 thousand.", page) == []
    assert kinds("Accrued expenses were 81,731 thousand.", page.replace("(in thousands)", "")) != []


@pytest.mark.parametrize(
    ("said", "claim"),
    [
        ("I went there yesterday.", "7 May 2023"),
        ("We signed two days ago.", "6 May 2023"),
        ("It starts next month.", "June 2023"),
        ("I moved last year.", "2022"),
        ("We met last Saturday.", "6 May 2023"),
    ],
)
def test_a_relative_date_in_a_dated_item_is_derived(said: str, claim: str):
    assert kinds(claim, f"[1:56 pm on 8 May, 2023] Ann: {said}") == [("derived", claim)]


def test_another_unit_is_derived_and_a_wrong_conversion_is_invented():
    source = "The room is kept at 68 degrees Fahrenheit."

    assert kinds("The room is kept at 20 degrees Celsius.", source) == [("derived", "20")]
    assert kinds("The room is kept at 25 degrees Celsius.", source) == [("invented", "25")]


def test_a_quarter_that_nothing_names_is_invented():
    assert kinds("Margins fell in Q4 2020.", "Margins fell in the third quarter of 2020.") == [("invented", "Q4 2020")]


def test_figures_of_a_citation_are_no_claims():
    assert kinds("Harbor renews its licence for $1.2M [Call#harbor-12/turn/31].") == []


def test_only_round_claims_may_be_approximate():
    source = "Total revenue of the group was $2.04 billion in the year."

    assert kinds("Total revenue of the group was about $2 billion in the year.", source) == []
    assert kinds("Total revenue of the group was about $1.95 billion in the year.", source) != []


def test_figures_read_when_the_call_was_saved_give_the_same_score():
    bare = build.run("Harbor pays $1.3M on May 6, for 340 users.", NOTE)
    saved = replace(bare, calls=tuple(replace(c, figures=draft.figures_of(c)) for c in bare.calls))
    check = measure.CHECKS["invented_figures"]()

    assert check.weigh(measure.Reading(bare)) == check.weigh(measure.Reading(saved))


def test_a_run_without_an_answer_is_not_weighed():
    score = build.score("invented_figures", None, NOTE)

    assert score.unable == "the run has no answer"
    assert not score.is_flagged


def test_a_value_among_the_call_s_fields_counts():
    item = record.Item(item_key="Deal#7", value={"name": "Harbor renewal licence", "amount": 1200000})
    run = build.run("The Harbor renewal licence is worth $1.2M.")
    run = replace(run, calls=(build.call(items=(item,), label="data"),))

    assert build.told(measure.CHECKS["invented_figures"]().weigh(measure.Reading(run))) == []
