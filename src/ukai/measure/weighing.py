"""The runs of an evaluation on the scales: each read once, weighed with the checks of one run, and let go of.

What is left of a run is small: numbers by name, why it does not pass, and a reading without the texts of its evidence.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ukai import record
from ukai.measure import batch, requirement, tracing
from ukai.measure.bank import Question
from ukai.measure.checks import CHECKS
from ukai.measure.evaluation import Evaluation, Kept
from ukai.measure.reading import Reading
from ukai.measure.score import Score
from ukai.measure.spec import Pair, RunCheck

GATING = ("invented_figures", "quotes", "citations", "evidence", "rewrite")
"""Checks of one run whose flags count against it and that a better agent passes more often."""


@dataclass(frozen=True, kw_only=True)
class Weighed:
    """One run of one question."""

    question: Question
    rep: int
    pair: Pair
    scores: tuple[Score, ...]
    unmet: tuple[str, ...]
    """Why it does not pass."""
    values: Mapping[str, float]
    """Quantity -> number; one that cannot be had of this run is absent."""

    @property
    def run(self) -> record.Run:
        """Without the texts of its evidence."""
        return self.pair[0].run


def weighed(evaluation: Evaluation, *, workers: int = 1) -> list[Weighed]:
    """Every run, in the order of the bank. The result does not depend on how many processes share the work."""
    questions = {q.id: q for q in evaluation.header.asked}
    order = {pair: place for place, pair in enumerate((q.id, rep) for q, rep in evaluation.header.bank.runs)}
    kept = sorted((k for k in evaluation.kept if (k.question, k.rep) in order), key=lambda k: order[k.question, k.rep])
    pieces = [[(questions[k.question], k) for k in kept[i : i + batch.PIECE]] for i in range(0, len(kept), batch.PIECE)]
    size = sum(len(item.words) for k in kept for call in k.run.calls for item in call.items)
    done = batch.pooled(_piece, pieces, workers=workers if size > batch.INLINE else 1)
    return [one for piece in done for one in piece]


def _piece(given: Sequence[tuple[Question, Kept]]) -> list[Weighed]:
    return [_weigh(question, kept) for question, kept in given]


def _weigh(question: Question, kept: Kept) -> Weighed:
    reading, case = Reading(kept.run, kept.compositions), question.case
    made = [CHECKS[name]() for name in CHECKS]
    scores = tuple(check.weigh(reading, case) for check in made if isinstance(check, RunCheck))
    tracing.trace(reading, lead=case.lead)
    unmet = requirement.unmet(question, kept.run)
    values = dict(_values(question, reading, scores, unmet))
    return Weighed(
        question=question, rep=kept.rep, pair=(reading.slim(), case), scores=scores, unmet=unmet, values=values
    )


def _values(
    question: Question, reading: Reading, scores: Sequence[Score], unmet: Sequence[str]
) -> Iterator[tuple[str, float]]:
    run = reading.run
    yield "passed", float(not unmet)
    arrived = requirement.arrived(question, run)
    if arrived is not None:
        yield "arrived", arrived
    for score in scores:
        if score.check in GATING and not score.unable:
            yield score.check, float(not score.is_flagged)
        if score.check == "budget":
            yield "tokens", score.counts["tokens"]
            if not score.counts["unpriced"]:
                yield "usd", score.counts["usd"]
        if score.check == "recall" and not score.unable:
            yield "recall", score.counts["recall"]
    if run.answer is not None:
        yield "relayed", float(len(tracing.trace(reading, lead=question.case.lead).keys))
    yield "calls", float(len(run.calls))


def by_case(runs: Sequence[Weighed], quantity: str) -> dict[str, list[float]]:
    """Question -> the values of its runs that have one."""
    found: dict[str, list[float]] = {}
    for one in runs:
        if quantity in one.values:
            found.setdefault(one.question.id, []).append(one.values[quantity])
    return found


def clusters(runs: Sequence[Weighed]) -> dict[str, str]:
    """Question -> what it shares with others."""
    return {one.question.id: one.question.cluster for one in runs}
