"""`ukai eval compare` and what `report` shows: evaluations read from their files, weighed, held against each other."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ukai.app import workspace
from ukai.app.evals import folder
from ukai.kit.finding import Finding
from ukai.measure import compare, dimension, judging, weighing
from ukai.measure.compare import Comparison
from ukai.measure.evaluation import Evaluation
from ukai.measure.telling import table
from ukai.measure.weighing import Weighed


@dataclass(frozen=True, kw_only=True)
class Side:
    """One evaluation, weighed."""

    evaluation: Evaluation
    runs: tuple[Weighed, ...]

    @property
    def name(self) -> str:
        """The evaluation's."""
        return self.evaluation.header.name


def side(root: Path, name: str) -> Side:
    """Read and weighed, over all cores when there is much of it. Raises NoSuchEvaluation, BrokenEvaluation."""
    evaluation = folder.read(root, name)
    return Side(evaluation=evaluation, runs=tuple(weighing.weighed(evaluation, workers=os.cpu_count() or 1)))


def compared(
    path: Path, before: str, after: str, *, changed: str | None = None
) -> tuple[Comparison | None, list[Finding]]:
    """Both, when exactly the declared dimension differs; else why not. Raises what `side` raises."""
    root = workspace.locate(path)
    old, new = side(root, before), side(root, after)
    problems = dimension.problems(dimension.changed(old.evaluation.header.parts, new.evaluation.header.parts), changed)
    return (None, problems) if problems else (held_against(old, new), [])


def text(made: Comparison) -> str:
    """For a terminal."""
    return table.told(made)


def got_worse(made: Comparison) -> bool:
    """Whether a gated quantity did."""
    return any(row.word == "worse" and row.quantity.gates for row in made.rows)


def held_against(old: Side, new: Side) -> Comparison:
    """The comparison, with the rules' own examples and, of answers that were judged again, the collisions."""
    made = compare.compared((old.evaluation.header, old.runs), (new.evaluation.header, new.runs))
    judged = new.evaluation.header.answers_of
    return replace(
        made,
        examples=tuple(_examples(old.evaluation, new.evaluation)),
        collisions=judging.collisions(old.runs, new.runs) if judged else (),
    )


def _examples(before: Evaluation, after: Evaluation) -> Sequence[dict[str, Any]]:
    """Examples that a rule judges otherwise than its owner says, before or after."""
    said = [{judged.example: judged.said for judged in evaluation.judged} for evaluation in (before, after)]
    expected = {e.id: e for e in (*before.header.examples, *after.header.examples)}
    rows: list[dict[str, Any]] = []
    for id, example in expected.items():
        wanted = "pass" if example.expects == "pass" else "fired"
        row = {"example": id, "rule": example.rule, "expects": wanted, "text": example.text}
        row |= {"before": said[0].get(id), "after": said[1].get(id)}
        if any(now not in (None, wanted) for now in (row["before"], row["after"])):
            rows.append(row)
    return rows
