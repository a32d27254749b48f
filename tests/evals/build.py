"""Small evaluations for the tests."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tests.measure import build
from ukai import record
from ukai.measure import weighing
from ukai.measure.bank import Question, Requires
from ukai.measure.evaluation import Evaluation, Header, Kept

PARTS: Mapping[str, Mapping[str, str]] = {
    "model": {"agents/coach": "extractive"},
    "prose": {"agents/coach/SKILL.md": "a", "tool:lookup": "b"},
    "rules": {"no-discounts": "1 c"},
    "code": {"ukai": "d"},
    "corpus": {"records": "e"},
}
TEXT = "The rollout waits for legal, who want the addendum."


def question(number: int = 1, **changes: Any) -> Question:
    given: dict[str, Any] = {
        "id": f"case-{number}",
        "ask": f"What is the state of the rollout at account {number}?",
        "asker": "ann@example.com",
        "agent": "coach",
        "subject": f"Account#{number}",
        "requires": Requires(items=("Note#1-1",)),
        "repeats": 2,
    }
    return Question(**(given | changes))


def run(passes: bool = True, **changes: Any) -> record.Run:
    """A run that cites what its case requires, or does not."""
    answer = f"{TEXT} [Note#1-1]" if passes else "Nothing was found."
    made = build.run(answer, TEXT, **changes)
    cited = (record.Citation(sentence=0, item_key="Note#1-1"),) if passes else ()
    return replace(made, citations=cited)


def evaluation(
    name: str,
    questions: Sequence[Question],
    made: Callable[[Question, int], record.Run],
    *,
    parts: Mapping[str, Mapping[str, str]] = PARTS,
) -> Evaluation:
    header = Header(name=name, at=build.AT, asked=tuple(questions), parts=parts)
    kept: list[Kept] = []
    for q, rep in header.bank.runs:
        changes: dict[str, Any] = {"run_id": f"{name}/{q.id}/{rep}", "case_id": q.id, "rep": rep, "question": q.ask}
        kept.append(Kept(question=q.id, rep=rep, run=replace(made(q, rep), **changes)))
    return Evaluation(header=header, kept=tuple(kept))


def chance(share: float, seed: int = 0) -> Callable[[Question, int], record.Run]:
    """Runs that pass with this chance, the same for the same seed."""
    return lambda q, rep: run(random.Random(f"{seed}/{q.id}/{rep}").random() < share)


def weighed(made: Evaluation) -> tuple[Header, list[weighing.Weighed]]:
    return made.header, weighing.weighed(made)
