"""Check `budget`: tokens, cost and time of a run against what it was allowed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import ClassVar

from ukai.measure import spec
from ukai.measure.case import Case
from ukai.measure.reading import Reading
from ukai.measure.score import Flag, Score
from ukai.measure.spec import Pair


@dataclass(frozen=True, kw_only=True)
class Budget:
    """The check has no parameters: the limits stand in the run."""

    name: ClassVar[str] = "budget"
    version: ClassVar[int] = 1

    def weigh(self, reading: Reading, case: Case | None = None) -> Score:
        """`over`: more was used than allowed. `unpriced`: a model call has no known price, so the sum is a floor."""
        run = reading.run
        tokens = sum(use.input + use.output for use in run.usage)
        usd = sum((use.usd for use in run.usage if use.usd is not None), Decimal(0))
        seconds = (run.ended_at - run.started_at).total_seconds()
        unpriced = sum(use.usd is None for use in run.usage)
        counts = {
            "tokens": float(tokens),
            "cached": float(sum(use.cached for use in run.usage)),
            "usd": float(usd),
            "seconds": seconds,
            "model_calls": float(len(run.usage)),
            "unpriced": float(unpriced),
        }
        used = (
            ("tokens", tokens, run.budget.tokens),
            ("usd", usd, run.budget.usd),
            ("seconds", seconds, run.budget.seconds),
        )
        flags = [
            _flag("over", f"{amount} {unit}", f"allowed were {limit} {unit}", gates=True)
            for unit, amount, limit in used
            if limit is not None and amount > limit
        ]
        if unpriced and run.budget.usd is not None:
            flags.append(_flag("unpriced", f"{unpriced} model calls", "no price is known: the cost is a floor"))
        return Score(check=self.name, spec=spec.written(self), about=(reading.id,), flags=tuple(flags), counts=counts)

    def weigh_all(self, pairs: Sequence[Pair]) -> list[Score]:
        """All runs together: sums."""
        if len(pairs) < 2:
            return []
        each = [self.weigh(reading, case) for reading, case in pairs]
        counts = {name: sum(one.counts[name] for one in each) for name in each[0].counts}
        counts |= {"runs": float(len(each)), "over": float(sum(one.is_flagged for one in each))}
        ids = tuple(reading.id for reading, _ in pairs)
        return [Score(check=self.name, spec=spec.written(self), about=ids, counts=counts)]


def _flag(kind: str, words: str, note: str, *, gates: bool = False) -> Flag:
    return Flag(kind=kind, words=words, start=0, end=0, part="usage", gates=gates, note=note)
