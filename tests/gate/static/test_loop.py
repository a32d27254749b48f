from typing import Any

import pytest

from tests.gate.static.given import CATALOGUE, pull, told
from ukai.gate import loop, render
from ukai.gate.rejection import Rejection, reject


class Scripted:
    """A proposer that says what it was told to, and remembers what it heard."""

    def __init__(self, *proposals: Any, tokens: int = 10) -> None:
        self.proposals, self.tokens = list(proposals), tokens
        self.heard: list[loop.Feedback] = []

    async def propose(self, feedback: loop.Feedback) -> loop.Proposed:
        self.heard.append(feedback)
        return loop.Proposed(value=self.proposals.pop(0), tokens=self.tokens)


async def judge(value: Any) -> loop.Judged:
    """Layer 1, for real."""
    rejections = tuple(told(value))
    return loop.Judged(accepted=None if rejections else value, rejections=rejections)


async def test_a_proposal_that_is_corrected_is_accepted_and_was_told_its_tries_left():
    proposer = Scripted(pull(number="x", title=None), pull(title=None), pull())

    outcome = await loop.negotiate(proposer, judge, retries=2)

    assert isinstance(outcome, loop.Accepted)
    assert outcome.value == pull()
    assert [len(a.rejections) for a in outcome.attempts] == [2, 1, 0]
    assert outcome.tokens == 30
    first, second, third = proposer.heard
    assert (first.text, first.attempts_left) == ("", 2)
    assert second.text.startswith("REJECTED: 2 problems, 2 attempts left.")
    assert third.text.startswith("REJECTED: 1 problem, 1 attempt left.")
    assert "number" not in third.text  # only the last set is repeated
    assert len(third.earlier) == 1


async def test_after_the_last_try_a_review_item_holds_every_attempt():
    proposer = Scripted(pull(number="x"), pull(title=None), pull(author=None))

    outcome = await loop.negotiate(proposer, judge, retries=2)

    assert isinstance(outcome, loop.Escalated)
    assert outcome.reason == outcome.rejection.code == "attempts_exhausted"
    item = outcome.review_item()
    assert [a["proposal"] for a in item["attempts"]] == [pull(number="x"), pull(title=None), pull(author=None)]
    assert all(a["rejections"] for a in item["attempts"])


async def test_failing_twice_in_the_same_way_ends_early():
    proposer = Scripted(pull(number="x"), pull(number="y"), pull())

    outcome = await loop.negotiate(proposer, judge, retries=5)

    assert isinstance(outcome, loop.Escalated)
    assert outcome.reason == "no_progress"
    assert len(outcome.attempts) == 2


async def test_failing_differently_is_progress():
    proposer = Scripted(pull(number="x"), pull(title=None), pull(number="x"), pull())

    assert isinstance(await loop.negotiate(proposer, judge, retries=3), loop.Accepted)


async def test_a_token_budget_ends_it():
    proposer = Scripted(pull(number="x"), pull(title=None), pull(), tokens=60)

    outcome = await loop.negotiate(proposer, judge, retries=5, token_budget=100)

    assert isinstance(outcome, loop.Escalated)
    assert (outcome.reason, outcome.tokens) == ("budget_exhausted", 120)


async def test_a_busy_store_costs_no_attempt():
    answers: list[tuple[Rejection, ...]] = [(reject("busy", where="", message="busy"),)] * 2 + [()]
    paused: list[int] = []

    async def busy(value: Any) -> loop.Judged:
        return loop.Judged(accepted=value, rejections=answers.pop(0))

    async def pause(n: int) -> None:
        paused.append(n)

    outcome = await loop.negotiate(Scripted(1), busy, retries=0, pause=pause)

    assert isinstance(outcome, loop.Accepted)
    assert len(outcome.attempts) == 1
    assert paused == [1, 2]


async def test_a_store_that_stays_busy_ends_in_a_review_item():
    async def busy(value: Any) -> loop.Judged:
        return loop.Judged(rejections=(reject("busy", where="", message="busy"),))

    outcome = await loop.negotiate(Scripted(1), busy, retries=3)

    assert isinstance(outcome, loop.Escalated)
    assert (outcome.reason, len(outcome.attempts)) == ("busy", 1)


async def test_what_only_other_rights_can_solve_is_not_tried_again():
    async def forbidding(value: Any) -> loop.Judged:
        return loop.Judged(rejections=(reject("forbidden_field", where="/ops/0/set/x", message="not yours"),))

    outcome = await loop.negotiate(Scripted(1), forbidding, retries=3)

    assert isinstance(outcome, loop.Escalated)
    assert (outcome.reason, outcome.rejection.code, len(outcome.attempts)) == ("stopped", "forbidden_field", 1)


async def test_a_warning_stops_nothing():
    async def warning(value: Any) -> loop.Judged:
        return loop.Judged(
            accepted=value, rejections=(reject("possible_duplicate", where="", message="x", severity="warning"),)
        )

    outcome = await loop.negotiate(Scripted(1), warning)

    assert isinstance(outcome, loop.Accepted)
    assert [w.code for w in outcome.warnings] == ["possible_duplicate"]


async def test_retries_are_counted_from_zero():
    with pytest.raises(ValueError, match="counted from 0"):
        await loop.negotiate(Scripted(1), judge, retries=-1)


def test_fingerprints_forget_the_position_and_remember_the_place():
    one, other = told(pull(number="x"))[0], told(pull(), pull(number="y", repo="b"))[0]

    assert one.where != other.where
    assert one.fingerprint == other.fingerprint
    assert one.fingerprint != told(pull(title=3))[0].fingerprint


def test_the_text_for_a_model_is_complete_and_short():
    rejections = told(*[pull(number=str(n), titel="x", title=None) for n in range(20)])

    text = render.tool_text(rejections, attempts_left=2, catalogue=CATALOGUE).splitlines()

    assert text[0] == "REJECTED: 40 problems, 2 attempts left. Nothing was written."
    assert len([line for line in text if line.startswith("- [")]) == 12
    assert text[1].startswith(
        "- [unknown_field] /ops/0/set/titel: PullRequest has no field 'titel'; it lacks 'title' | expected "
    )
    assert text[13] == "… 28 more"
    assert text[14].startswith("PullRequest (number!: integer, repo!: string, ")
    assert len(text) == 15


def test_the_problem_document_has_the_objects_and_their_pointers():
    rejections = told(pull(number="x", title=None))

    document = render.problem(rejections, attempts_left=1, shown=1)

    assert (document["type"], document["status"]) == ("urn:ukai:rejection:type_mismatch", 422)
    assert document["errors"][0]["pointer"] == "#/ops/0/set/number"
    assert document["errors"][0]["hint"] == document["errors"][0]["fix_hint"]["text"]
    assert document["more"] == 1


def test_what_nobody_can_repair_alone_stands_for_the_whole():
    rejections = [reject("unknown_field", where="", message="x"), reject("forbidden_type", where="", message="y")]

    assert render.problem(rejections)["status"] == 403
