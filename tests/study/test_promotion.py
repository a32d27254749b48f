"""What recurs becomes a draft: prompts into skills, skills into reports, always with the same result (P5.1, P5.2)."""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np

from ukai.llm import minilm
from ukai.study import promotion
from ukai.study.promotion import Asked

MONDAY = datetime(2026, 11, 2, 8, 30, tzinfo=UTC)
INTENTS = [
    ["Why has the rollout stalled?", "What is holding up the rollout at?", "Why is the rollout not moving?",
     "what blocks the rollout"],
    ["Who decides about the renewal?", "Who makes the decision on the renewal at?", "Who has to sign the renewal of?"],
    ["Prepare me for the call with", "Help me prepare for my call with", "What should I know before my call with"],
    ["What did they say about the price?", "What was said about pricing?", "Did complain about the price?"],
    ["Is the renewal safe?", "How safe is the renewal of?", "Will renew?"],
    ["What tickets are open?", "Which support tickets are still open for?", "open tickets of"],
    ["How has usage developed?", "How did the usage of change this year?", "Is usage going down at?"],
    ["Draft a mail to about the security review", "Write an email to about the security review"],
    ["When does the contract end?", "What is the end date of the contract with?"],
    ["Which competitors are mentioned?", "Is anybody else being tried at?", "Who competes with us at?"],
]  # fmt: skip


def asked(n: int, bare: str, **more: Any) -> Asked:
    given = {"agent": "coach", "principal": f"p{n % 3}", "at": MONDAY + timedelta(days=n), "question": bare + f" ({n})"}
    return Asked(**({"run_id": f"r{n:03}", "bare": bare} | given | more))


def letters(texts: Sequence[str]) -> Any:
    """Equal first words, equal direction."""
    rows = np.zeros((len(texts), 64), np.float32)
    for row, text in zip(rows, texts, strict=True):
        row[sum(map(ord, text.split()[0])) % 64] = 1
    return rows


def nobody(_: str, __: str) -> bool:
    return False


def test_a_prompt_that_several_people_repeat_is_proposed_with_its_wordings_and_runs():
    runs = [asked(n, "why stalled rollout" if n % 3 else "why is it stuck") for n in range(9)]

    (found,) = promotion.recurring(runs, letters, taken=nobody)

    assert (found.agent, found.prompt, found.people) == ("coach", "why stalled rollout", 3)
    assert found.runs == tuple(f"r{n:03}" for n in range(9))
    assert found.wordings == ("why stalled rollout (1)", "why is it stuck (0)")
    assert (found.first, found.last) == (MONDAY, MONDAY + timedelta(days=8))


def test_what_is_rare_of_one_person_or_a_skill_already_is_not_proposed():
    rare = [asked(n, "rare thing") for n in range(promotion.RUNS - 1)]
    alone = [asked(n, "mine only", principal="p") for n in range(9)]
    known = [asked(n, "known prompt", skills=("known",)) for n in range(9)]

    assert promotion.recurring([*rare, *alone, *known], letters, taken=nobody) == []


def test_a_drafted_name_is_valid_and_free():
    runs = [asked(n, "Why has the rollout stalled, and who?") for n in range(6)]

    free = promotion.recurring(runs, letters, taken=nobody)
    second = promotion.recurring(runs, letters, taken=lambda _, name: "-2" not in name)

    assert [r.name for r in (*free, *second)] == ["rollout-stalled", "rollout-stalled-2"]


def test_the_same_runs_in_any_order_give_the_same_suggestions():
    runs = [asked(n, intent[n % len(intent)]) for n, intent in enumerate(INTENTS * 6)]
    shuffled = random.Random(7).sample(runs, len(runs))

    assert promotion.recurring(runs, letters, taken=nobody) == promotion.recurring(shuffled, letters, taken=nobody)
    assert promotion.used(runs, ZoneInfo("UTC")) == promotion.used(shuffled, ZoneInfo("UTC"))


def test_wordings_of_one_intent_are_joined_and_no_two_intents_are():
    embedder = minilm.default()
    texts = [text for intent in INTENTS for text in intent]
    of = [i for i, intent in enumerate(INTENTS) for _ in intent]
    vectors = embedder.embed(texts)
    near = vectors @ vectors.T >= promotion.ALIKE

    pairs = [(i, j) for i in range(len(texts)) for j in range(i)]
    assert not [(texts[i], texts[j]) for i, j in pairs if near[i, j] and of[i] != of[j]]
    same = [bool(near[i, j]) for i, j in pairs if of[i] == of[j]]
    assert sum(same) / len(same) >= 0.5


def test_a_skill_that_runs_often_gets_the_hour_before_and_the_days_on_which_it_is_asked():
    workdays = [d for d in range(12) if d % 7 < 5]
    daily = [asked(d, "x", skills=("brief",), at=MONDAY + timedelta(days=d), calls=4) for d in workdays]
    tuesdays = [MONDAY + timedelta(weeks=w, days=1) for w in range(6)]
    weekly = [asked(w, "x", skills=("week",), at=at, calls=4 + 36 * (w == 3)) for w, at in enumerate(tuesdays)]
    once = [asked(n, "x", skills=("once",), at=MONDAY + timedelta(minutes=n)) for n in range(9)]

    found = {u.skill: u for u in promotion.used([*daily, *weekly, *once], ZoneInfo("Europe/Berlin"))}

    assert {name: u.cron for name, u in found.items()} == {"brief": "0 8 * * 1-5", "week": "0 8 * * 2"}
    assert (found["brief"].is_steady, found["week"].is_steady) == (True, False)
    assert found["week"].calls == (4, 4, 40)
