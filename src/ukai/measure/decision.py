"""Keep a change or take it back: a screen on the cases that are worked on, a confirmation on those held out (P9.3).

"The score went up" keeps useless changes one time in two. Two looks at 93 %, the second on fresh cases, keep one in a
hundred, and a gated quantity that got worse ends it at once (docs/reference/statistics.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ukai.measure import facts, stats
from ukai.measure.bank import Split
from ukai.measure.compare import Row, rounded, rows
from ukai.measure.weighing import Weighed

Require = Literal["better", "not-worse"]
STAGES: dict[str, tuple[Split, ...]] = {"screen": ("work", "select"), "confirm": ("holdout",)}
ONE_SIDED = 0.07
"""Of each stage: a change without effect passes both less than once in a hundred times."""
PRIMARY = "passed"


@dataclass(frozen=True, kw_only=True)
class Stage:
    """One look."""

    name: str
    passes: bool
    reasons: tuple[str, ...]
    rows: tuple[Row, ...]

    def as_json(self) -> dict[str, Any]:
        """Plain."""
        return {
            "stage": self.name,
            "passes": self.passes,
            "reasons": list(self.reasons),
            "numbers": {row.quantity.name: _numbers(row) for row in self.rows},
        }


@dataclass(frozen=True, kw_only=True)
class Decision:
    """What came of it. Without a confirmation nothing is kept."""

    stages: tuple[Stage, ...]

    @property
    def keep(self) -> bool:
        """Whether the change stays."""
        return len(self.stages) == len(STAGES) and all(stage.passes for stage in self.stages)

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why, of the stage that decided."""
        return self.stages[-1].reasons if self.stages else ()

    def as_json(self) -> dict[str, Any]:
        """`{"decision", "reasons", "stages"}`."""
        return {
            "decision": "keep" if self.keep else "revert",
            "reasons": list(self.reasons),
            "stages": [stage.as_json() for stage in self.stages],
        }


def stage(
    name: str,
    before: Sequence[Weighed],
    after: Sequence[Weighed],
    *,
    require: Require = "better",
    larger_than: float = 0.05,
    seed: int = 0,
) -> Stage:
    """One look at the cases of this stage."""
    splits = STAGES[name]
    old, new = ([one for one in runs if one.question.split in splits] for runs in (before, after))
    made = tuple(row for row in rows(old, new, pool=facts.pooled({"before": old, "after": new}), seed=seed))
    gated = [row for row in made if row.quantity.gates]
    primary = next((row for row in gated if row.quantity.name == PRIMARY), None)
    if primary is None or primary.difference.clusters < stats.MIN_CLUSTERS:
        few = primary.difference.clusters if primary else 0
        reason = f"{few} subjects in {' and '.join(splits)}, and {stats.MIN_CLUSTERS} are the least that can be judged"
        return Stage(name=name, passes=False, reasons=(f"not enough runs: {reason}",), rows=made)
    good, reason = _primary(primary, require, larger_than)
    adjusted = stats.holm({row.quantity.name: row.difference.p for row in gated if not row.difference.is_still})
    worse = [row for row in gated if _is_worse(row, adjusted.get(row.quantity.name, 1.0))]
    reasons = [reason, *(f"{row.quantity.name} got worse: {_told(row)}" for row in worse if row is not primary)]
    return Stage(name=name, passes=good and not worse, reasons=tuple(reasons), rows=made)


def _primary(row: Row, require: Require, larger_than: float) -> tuple[bool, str]:
    gap = row.difference
    if require == "better":
        good = gap.mean > max(0.0, gap.noise or 0.0) and gap.p / 2 <= ONE_SIDED
        return good, f"{PRIMARY} is {'better' if good else 'not shown to be better'}: {_told(row)}"
    low = gap.mean - stats.t_quantile(1 - ONE_SIDED, gap.clusters - 1) * gap.se
    good = low > -larger_than
    least = f"at least {low:+.3f}"
    return (
        good,
        f"{PRIMARY} is {'not' if good else 'not shown not to be'} worse by {larger_than:g}: {_told(row)}, {least}",
    )


def _is_worse(row: Row, adjusted: float) -> bool:
    return row.difference.mean < 0 and adjusted <= stats.ALPHA


def _told(row: Row) -> str:
    gap = row.difference
    return f"{row.before:.3f} -> {row.after:.3f} ({gap.mean:+.3f} [{gap.low:+.3f}, {gap.high:+.3f}], {gap.cases} cases)"


def _numbers(row: Row) -> dict[str, Any]:
    gap = row.difference
    return {
        "before": rounded(row.before),
        "after": rounded(row.after),
        "difference": rounded(gap.mean),
        "low": rounded(gap.low),
        "high": rounded(gap.high),
        "p": rounded(gap.p),
        "own_rerun": rounded(gap.noise),
        "detectable": rounded(gap.detectable),
        "cases": gap.cases,
        "fell": list(row.fell),
    }
