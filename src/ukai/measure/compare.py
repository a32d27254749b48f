"""Two evaluations held against each other, quantity by quantity: what differs, by how much, and how sure that is.

Every case is its own pair, cases of one subject are one cluster, and no number comes without its interval.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from ukai.measure import attribution, dimension, facts, stats, weighing
from ukai.measure.evaluation import Header
from ukai.measure.quantity import QUANTITIES, Quantity
from ukai.measure.weighing import Weighed


@dataclass(frozen=True, kw_only=True)
class Row:
    """One quantity, before and after."""

    quantity: Quantity
    before: float
    after: float
    difference: stats.Difference
    adjusted: float
    """p over all quantities that were asked (Benjamini-Hochberg)."""
    word: stats.Word
    rose: tuple[str, ...]
    """Cases whose mean is higher after."""
    fell: tuple[str, ...]

    @property
    def margin(self) -> float:
        """What counts as no difference."""
        return margin(self.quantity, self.before)

    def as_json(self) -> dict[str, Any]:
        """Plain."""
        gap = self.difference
        return {
            "quantity": self.quantity.name,
            "what": self.quantity.what,
            "unit": self.quantity.unit,
            "gates": self.quantity.gates,
            "before": rounded(self.before),
            "after": rounded(self.after),
            "difference": rounded(gap.mean),
            "low": rounded(gap.low),
            "high": rounded(gap.high),
            "p": rounded(gap.p),
            "p_adjusted": rounded(self.adjusted),
            "verdict": self.word,
            "margin": rounded(self.margin),
            "own_rerun": rounded(gap.noise),
            "detectable": rounded(gap.detectable),
            "cases": gap.cases,
            "clusters": gap.clusters,
            "unpaired": list(gap.unpaired),
            "rose": list(self.rose),
            "fell": list(self.fell),
        }


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Everything that two evaluations say about one change."""

    before: str
    after: str
    changed: Mapping[str, tuple[str, ...]]
    """The dimension that differs, with its parts; empty for two evaluations of one version."""
    rows: tuple[Row, ...]
    moved: tuple[attribution.Moved, ...]
    thinner: attribution.Thinner
    pool: facts.Pool
    unpaired: tuple[str, ...]
    """Cases that only one side asked."""
    examples: tuple[dict[str, Any], ...] = ()
    """Examples of guardrails that are judged otherwise than their owner says, on either side."""
    collisions: tuple[dict[str, Any], ...] = ()
    """Of answers that were judged again, by rule: gained, lost, kept, failed, and how often it flips by itself."""

    def row(self, name: str) -> Row | None:
        """One quantity, when both sides have it."""
        return next((row for row in self.rows if row.quantity.name == name), None)

    def as_json(self) -> dict[str, Any]:
        """One document, the same for the same evaluations."""
        return {
            "before": self.before,
            "after": self.after,
            "changed": {name: list(parts) for name, parts in self.changed.items()},
            "quantities": [row.as_json() for row in self.rows],
            "moved": [moved.as_json() for moved in self.moved],
            "thinner": self.thinner.as_json(),
            "pool": self.pool.as_json(),
            "examples": list(self.examples),
            "collisions": list(self.collisions),
            "unpaired": list(self.unpaired),
        }


def compared(
    before: tuple[Header, Sequence[Weighed]],
    after: tuple[Header, Sequence[Weighed]],
    *,
    seed: int = 0,
) -> Comparison:
    """`after` against `before`. Whether they may be compared at all, `dimension.problems` says."""
    (old, old_runs), (new, new_runs) = before, after
    changed = dimension.changed(old.parts, new.parts)
    pool = facts.pooled({"before": old_runs, "after": new_runs}, seed=seed)
    cases = {one.question.id for one in old_runs} ^ {one.question.id for one in new_runs}
    return Comparison(
        before=old.name,
        after=new.name,
        changed=changed,
        rows=rows(old_runs, new_runs, pool=pool, seed=seed),
        moved=attribution.moved(old_runs, new_runs, changed=changed, seed=seed),
        thinner=attribution.thinner(old_runs, new_runs),
        pool=pool,
        unpaired=tuple(sorted(cases)),
    )


def rows(before: Sequence[Weighed], after: Sequence[Weighed], *, pool: facts.Pool, seed: int = 0) -> tuple[Row, ...]:
    """Every quantity that both sides have."""
    clusters = weighing.clusters([*before, *after])
    found: dict[str, tuple[Mapping[str, list[float]], Mapping[str, list[float]], stats.Difference]] = {}
    for name in QUANTITIES:
        left, right = (
            (pool.shares["before"], pool.shares["after"])
            if name == "share"
            else (weighing.by_case(before, name), weighing.by_case(after, name))
        )
        if left.keys() & right.keys():
            found[name] = left, right, stats.paired(left, right, cluster=clusters, seed=seed)
    adjusted = stats.reported({name: gap for name, (_, _, gap) in found.items()})
    return tuple(_row(QUANTITIES[name], left, right, gap, adjusted[name]) for name, (left, right, gap) in found.items())


def _row(
    quantity: Quantity,
    before: Mapping[str, list[float]],
    after: Mapping[str, list[float]],
    gap: stats.Difference,
    adjusted: float,
) -> Row:
    both = sorted(before.keys() & after.keys())
    moves = {case: fmean(after[case]) - fmean(before[case]) for case in both}
    base = fmean(fmean(before[case]) for case in both)
    return Row(
        quantity=quantity,
        before=base,
        after=fmean(fmean(after[case]) for case in both),
        difference=gap,
        adjusted=adjusted,
        word=worded(quantity, gap, base, p=adjusted),
        rose=tuple(case for case in both if moves[case] > 0),
        fell=tuple(case for case in both if moves[case] < 0),
    )


def worded(quantity: Quantity, gap: stats.Difference, before: float, *, p: float) -> stats.Word:
    """The verdict on a quantity: turned round where less is better."""
    word = gap.word(larger_than=margin(quantity, before), p=p)
    return word if quantity.more_is_better else stats.TURNED.get(word, word)


def margin(quantity: Quantity, before: float) -> float:
    """What counts as no difference, in the quantity's own unit."""
    return quantity.larger_than * abs(before) if quantity.unit else quantity.larger_than


def rounded(value: float | None) -> float | None:
    """To six places; None for what is not known or has no bound."""
    return None if value is None or abs(value) == float("inf") else round(value, 6)
