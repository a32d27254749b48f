"""Quotations that stand nowhere, and citations that do not say what they are cited for."""

from __future__ import annotations

from tests.measure import build
from ukai import record

ONE = "Our legal people want the data processing addendum first, before anybody signs."
TWO = "The price of 1,450 euros was agreed with the Lisbon office in the last call."


def test_a_quotation_that_stands_there_is_fine_whatever_its_spaces_and_marks():
    answer = "They wrote “Our legal people  want the data … before anybody signs”, "
    answer += 'and "The price of 1,450 euros was agreed".'

    assert build.told(build.score("quotes", answer, ONE, TWO)) == []


def test_a_quotation_that_stands_nowhere_gates_and_one_with_other_words_is_told_apart():
    altered = build.score("quotes", "They wrote “Our legal team want the data processing addendum first”.", ONE)
    unquoted = build.score("quotes", "They wrote “We will never sign this under any circumstances”.", ONE)

    assert [flag.kind for flag in altered.flags] == ["altered"]
    assert not altered.is_flagged
    assert [flag.kind for flag in unquoted.flags] == ["unquoted"]
    assert unquoted.is_flagged


def test_a_quotation_under_the_wrong_citation_is_elsewhere():
    answer = "They wrote “Our legal people want the data processing addendum” [Note#1-2]."

    score = build.score("quotes", answer, ONE, TWO)

    assert [flag.kind for flag in score.flags] == ["elsewhere"]
    assert score.flags[0].looked[0].key == "Note#1-1"


def test_an_item_that_says_it_may_be_cited_by_mark_or_by_record():
    by_mark = build.score("citations", "Legal wants the data processing addendum first [Note#1-1].", ONE, TWO)
    answer = "Legal wants the data processing addendum first."
    by_record = build.score(
        "citations", answer, ONE, TWO, citations=(record.Citation(sentence=0, item_key="Note#1-1"),)
    )

    assert build.told(by_mark) == build.told(by_record) == []
    assert by_mark.counts["citations"] == by_record.counts["citations"] == 1


def test_an_item_that_no_call_returned_is_unknown_and_the_likely_one_is_shown():
    score = build.score("citations", "Legal wants the addendum first [Note#1-11].", ONE)

    assert build.told(score) == [("unknown", "Note#1-11")]
    assert score.flags[0].looked[0].key == "Note#1-1"


def test_a_citation_of_another_item_is_elsewhere():
    score = build.score("citations", "Legal wants the data processing addendum first [Note#1-2].", ONE, TWO)

    assert build.told(score) == [("elsewhere", "Note#1-2")]


def test_a_figure_that_stands_in_another_item_is_misplaced():
    answer = "Legal wants the data processing addendum first and 1,450 euros [Note#1-1]."

    assert build.told(build.score("citations", answer, ONE, TWO)) == [("misplaced", "1,450 euros")]


def test_a_wording_of_its_own_is_silent_and_does_not_gate():
    score = build.score("citations", "Paperwork comes ahead of everything else [Note#1-1].", ONE, TWO)

    assert [flag.kind for flag in score.flags] == ["silent"]
    assert not score.is_flagged
