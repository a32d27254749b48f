"""Collision experiments on answers that are there: the rules change, question, answer and agent are held (P8.4).

No agent is asked. `Judge` is what reads an answer under some rules; the app supplies it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from ukai import record
from ukai.measure.checks.collision import Collision
from ukai.measure.evaluation import Kept
from ukai.measure.reading import Reading
from ukai.measure.weighing import Weighed

TIMES = 3
"""How often each answer is read under the rules that it is compared with: rules that flip by themselves are no news."""


class Judge(Protocol):
    """Some rules with their models. It reads every time anew: a verdict that is remembered never flips."""

    @property
    def wording(self) -> Mapping[str, str]:
        """Rule -> `version sha256`, as a run's configuration holds it."""
        ...

    @property
    def model(self) -> str:
        """The models that judge."""
        ...

    async def __call__(self, run: record.Run, time: int, /) -> tuple[record.Firing, ...]:
        """Every rule's verdict on the question and on the answer as the agent first wrote it, read for the nth time."""
        ...


async def judged_again(
    kept: Sequence[Kept],
    judge: Judge,
    keep: Callable[[Kept], None],
    *,
    times: int = TIMES,
    progress: Callable[[str], None] = lambda _: None,
) -> None:
    """Each run so often, with the verdicts of `judge` in place of its own and everything else held."""
    for number, one in enumerate(kept, 1):
        config = replace(one.run.config, guardrails=dict(judge.wording), model=judge.model)
        for time in range(1, times + 1):
            firings = await judge(one.run, time)
            run = replace(one.run, run_id=f"{one.run.run_id}/{time}", firings=firings, config=config, sha256="")
            keep(replace(one, rep=(one.rep - 1) * times + time, run=run))
        progress(f"answers judged again: {number} of {len(kept)}")


def collisions(before: Sequence[Weighed], after: Sequence[Weighed]) -> tuple[dict[str, Any], ...]:
    """By rule: on how many answers it started and stopped to fire, and how often it flips by itself."""
    pairs = [(Reading(one.run), one.pair[1]) for one in (*before, *after)]
    rows: list[dict[str, Any]] = []
    for score in Collision().weigh_all(pairs):
        for rule, row in score.details.get("rules", {}).items():
            moved = {name: row[name] for name in ("gained", "lost", "kept", "failed", "p_holm")}
            flips = None if row["noise"] is None else row["noise"]["value"]
            rows.append({"rule": rule, "factor": score.details["factor"], **moved, "flips": flips})
    return tuple(rows)
