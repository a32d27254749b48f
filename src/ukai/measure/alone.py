"""One evaluation by itself: every quantity with its interval, how reliably cases pass, and why others do not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from ukai.measure import stats, weighing
from ukai.measure.compare import rounded
from ukai.measure.quantity import QUANTITIES, Quantity
from ukai.measure.weighing import Weighed


@dataclass(frozen=True, kw_only=True)
class Case:
    """One case over its repeats."""

    id: str
    split: str
    passed: int
    of: int
    why: tuple[str, ...]
    """Why repeats did not pass, each reason once."""


@dataclass(frozen=True, kw_only=True)
class Alone:
    """What one evaluation says of one version."""

    name: str
    means: tuple[tuple[Quantity, stats.Difference], ...]
    """Quantity, and its mean over cases with the interval over subjects."""
    reliability: tuple[int, float] | None
    """k, and the chance that k runs of a case all pass (pass^k), over the cases with so many repeats."""
    cases: tuple[Case, ...]

    def as_json(self) -> dict[str, Any]:
        """Plain."""
        return {
            "evaluation": self.name,
            "quantities": [
                {
                    "quantity": quantity.name,
                    "unit": quantity.unit,
                    "mean": rounded(gap.mean),
                    "low": rounded(gap.low),
                    "high": rounded(gap.high),
                    "cases": gap.cases,
                }
                for quantity, gap in self.means
            ],
            "pass_k": None if self.reliability is None else {"k": self.reliability[0], "value": self.reliability[1]},
            "cases": [
                {"case": c.id, "split": c.split, "passed": c.passed, "of": c.of, "why": list(c.why)} for c in self.cases
            ],
        }


def alone(name: str, runs: Sequence[Weighed], *, seed: int = 0) -> Alone:
    """Of all runs of one evaluation."""
    clusters = weighing.clusters(runs)
    means: list[tuple[Quantity, stats.Difference]] = []
    for quantity in QUANTITIES.values():
        values = weighing.by_case(runs, quantity.name)
        if values:
            nothing = {case: [0.0] for case in values}
            means.append((quantity, stats.paired(nothing, values, cluster=clusters, seed=seed)))
    cases = tuple(_cases(runs))
    most = max((case.of for case in cases), default=0)
    shares = [share for c in cases if c.of == most and (share := stats.pass_k(c.passed, c.of, most)) is not None]
    reliability = (most, round(fmean(shares), 4)) if most > 1 and shares else None
    return Alone(name=name, means=tuple(means), reliability=reliability, cases=cases)


def _cases(runs: Sequence[Weighed]) -> Iterator[Case]:
    by_case: dict[str, list[Weighed]] = {}
    for one in runs:
        by_case.setdefault(one.question.id, []).append(one)
    for id, own in by_case.items():
        why = dict.fromkeys(reason for one in own for reason in one.unmet)
        passed = sum(not one.unmet for one in own)
        yield Case(id=id, split=own[0].question.split, passed=passed, of=len(own), why=tuple(why))
