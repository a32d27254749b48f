from __future__ import annotations

from collections import Counter

import pytest

from tests.examples import sample, words

QUESTIONS = sample.cases("evals/questions.yaml")
REFUSALS = sample.cases("evals/refusals.yaml")
CASES = sample.cases("agents/*/cases/*.yaml")
KEYS = {"id", "ask", "as", "subject", "requires", "rules", "repeats", "agent"}
RECORDS = {sample.generator().handle(made): made for made in sample.company()}
NAMES = words.names(sample.company())


def of_kind(kind: str) -> list[dict[str, object]]:
    return [question for question in QUESTIONS if question["id"].startswith(f"{kind}-")]


def test_there_are_enough_questions_of_every_kind():
    kinds = Counter(question["id"].partition("-")[0] for question in QUESTIONS)

    assert set(kinds) == {"word", "paraphrase", "field", "none"}
    assert sum(kinds.values()) >= 70
    assert kinds["word"] >= 35
    assert kinds["paraphrase"] >= 20
    assert kinds["none"] >= 10
    assert len(REFUSALS) >= 10


def test_every_question_is_asked_once():
    everything = [*QUESTIONS, *REFUSALS, *CASES]

    assert [i for i, n in Counter(q["id"] for q in everything).items() if n > 1] == []
    assert [a for a, n in Counter(q["ask"] for q in QUESTIONS).items() if n > 1] == []
    assert all(set(q) <= KEYS for q in everything)


def test_every_subject_and_every_piece_of_evidence_exists():
    for question in [*QUESTIONS, *REFUSALS, *CASES]:
        assert question["subject"] in RECORDS, question["id"]
        for item in question.get("requires", {}).get("items", ()):
            assert sample.looked_up(RECORDS, item) is not None, (question["id"], item)


def test_only_questions_without_an_answer_and_refusals_require_nothing():
    bare = {question["id"] for question in QUESTIONS if "requires" not in question}

    assert bare == {question["id"] for question in of_kind("none")}
    assert not any("requires" in refusal for refusal in REFUSALS)


@pytest.mark.parametrize("question", of_kind("paraphrase"), ids=lambda q: str(q["id"]))
def test_a_question_by_meaning_shares_no_content_word_with_its_evidence(question):
    for item in question["requires"]["items"]:
        assert words.shared(question["ask"], sample.passages()[item], NAMES) == set()


@pytest.mark.parametrize("question", of_kind("word"), ids=lambda q: str(q["id"]))
def test_a_question_by_word_shares_words_with_its_evidence(question):
    for item in question["requires"]["items"]:
        assert words.shared(question["ask"], sample.passages()[item], NAMES) != set()


@pytest.mark.parametrize("question", of_kind("word") + of_kind("paraphrase"), ids=lambda q: str(q["id"]))
def test_no_other_passage_reads_the_same_as_a_piece_of_evidence(question):
    for item in question["requires"]["items"]:
        same = [name for name, text in sample.passages().items() if text == sample.passages()[item]]
        assert same == [item]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("rollouts stalled", "the rollout"),
        ("deployment", "we deployed it"),
        ("granting", "cannot grant"),
        ("cities", "city"),
    ],
)
def test_inflected_words_count_as_shared(one: str, other: str):
    assert words.shared(one, other, frozenset())
