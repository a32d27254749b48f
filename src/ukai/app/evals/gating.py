"""`ukai eval gate`: keep a change or take it back, as one JSON answer that a coding agent can loop on (P9.3).

The candidate is what the workspace is now. It is asked the cases that are worked on first; only a change that passes
those is asked the ones held out.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ukai.app import engine
from ukai.app.evals import folder, running
from ukai.app.evals.running import Wanted
from ukai.kit.errors import PermanentError
from ukai.kit.finding import Finding, errors
from ukai.measure import decision, dimension, weighing
from ukai.measure.bank import Split
from ukai.measure.decision import STAGES, Decision, Require, Stage
from ukai.measure.evaluation import Evaluation, Header

ANY = "any"
"""Declared where a change may touch several dimensions: what it moves then has no single cause, and is kept or not."""


class UnknownRequirement(PermanentError):
    """What a change has to show is one of two things."""

    hint = "Write better, or not-worse"


def required(text: str) -> Require:
    """What a change has to show to be kept. Raises UnknownRequirement."""
    if text == "better" or text == "not-worse":
        return text
    raise UnknownRequirement(f"{text!r} is nothing that a change can be required to show")


async def gate(
    path: Path,
    baseline: str,
    wanted: Wanted,
    *,
    principal: str | None,
    changed: str | None = None,
    require: Require = "better",
    larger_than: float = 0.05,
    progress: Callable[[str], None] = lambda _: None,
) -> tuple[dict[str, Any], list[Finding]]:
    """`{"decision": "keep" | "revert", "reasons", "stages", ..}`; with findings nothing was decided."""
    async with engine.opened(path) as opened:
        before = folder.read(opened.root, baseline)
        agents = {q.id: q.agent for q in before.header.asked if q.agent}
        planned = await running.plan(opened, wanted, principal=principal, agents=agents, progress=progress)
        found = dimension.changed(before.header.parts, planned.header.parts)
        problems = [] if changed == ANY or not found else dimension.problems(found, changed)
        if errors(planned.findings) or problems:
            return {}, [*errors(planned.findings), *problems]
        if not found:
            return _unchanged(before.header.name, require), []
        stages: list[Stage] = []
        for name, splits in STAGES.items():
            part = replace(planned, header=_part(planned.header, name, splits))
            part = replace(part, path=folder.path_of(opened.root, part.header.name))
            after, findings = await running.asked(part, wanted, progress=progress)
            if findings:
                return {}, findings
            stages.append(_stage(name, before, after, require, larger_than))
            if not stages[-1].passes:
                break
    told = Decision(stages=tuple(stages)).as_json()
    told |= {"baseline": before.header.name, "candidate": planned.header.name, "require": require}
    return told | {"changed": {name: list(which) for name, which in found.items()}}, []


def _unchanged(baseline: str, require: Require) -> dict[str, Any]:
    """Nothing was asked: what is the baseline itself is no worse than it, and no better."""
    decided = "keep" if require == "not-worse" else "revert"
    reason = "nothing differs from the baseline"
    return {"decision": decided, "reasons": [reason], "stages": [], "baseline": baseline, "require": require}


def _part(header: Header, stage: str, splits: Sequence[Split]) -> Header:
    bank = header.bank.of(splits)
    return replace(header, name=f"{header.name}.{stage}", asked=bank.questions)


def _stage(name: str, before: Evaluation, after: Evaluation, require: Require, larger_than: float) -> Stage:
    workers = os.cpu_count() or 1
    old = weighing.weighed(before, workers=workers)
    new = weighing.weighed(after, workers=workers)
    return decision.stage(name, old, new, require=require, larger_than=larger_than)
