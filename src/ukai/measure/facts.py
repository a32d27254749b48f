"""The pool of facts that several evaluations traced: the share of each beside its price (P8.6).

A share holds inside one pool only. The pool is a floor, so every share runs high; its hash says which pool it was.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any

from ukai.kit import canonical
from ukai.measure import stats, tracing, weighing
from ukai.measure.checks import overlap
from ukai.measure.weighing import Weighed


@dataclass(frozen=True, kw_only=True)
class Point:
    """One version: what it relays and what a case of it costs."""

    name: str
    share: float
    low: float
    high: float
    """95 %, over subjects."""
    band: float | None
    """How far its own reruns lie apart, on average; None without any."""
    weighted: float
    """Findings counted by how often runs led with them."""
    untraced: float
    """Share of sentences that no item could be found for: what the pool does not see."""
    usd: float | None
    """Mean cost of a run; None where no price is known."""
    on_front: bool = False
    """No other version relays as much for less, or more for as much."""

    def as_json(self) -> dict[str, Any]:
        """Plain."""
        return {
            "name": self.name,
            "share": round(self.share, 4),
            "low": _bounded(self.low),
            "high": _bounded(self.high),
            "own_rerun": None if self.band is None else round(self.band, 4),
            "weighted_share": round(self.weighted, 4),
            "untraced_share": round(self.untraced, 4),
            "usd": None if self.usd is None else round(self.usd, 6),
            "on_front": self.on_front,
        }


@dataclass(frozen=True, kw_only=True)
class Pool:
    """All versions in one pool."""

    sha256: str
    size: int
    points: tuple[Point, ...]
    shares: Mapping[str, Mapping[str, list[float]]]
    """Version -> case -> the share of each run that answered."""

    def as_json(self) -> dict[str, Any]:
        """Plain; the shares of single cases stay out."""
        return {"pool": self.sha256, "findings": self.size, "versions": [point.as_json() for point in self.points]}


def pooled(versions: Mapping[str, Sequence[Weighed]], *, seed: int = 0) -> Pool:
    """The pool over the cases that every version answered."""
    answered = {v: _answered(runs) for v, runs in versions.items()}
    every = {case for by_case in answered.values() for case in by_case}
    cases = sorted(case for case in every if all(case in by_case for by_case in answered.values()))
    pools: dict[str, list[str]] = {}
    shares: dict[str, dict[str, list[float]]] = {v: {} for v in versions}
    weighted: dict[str, list[float]] = {v: [] for v in versions}
    for case in cases:
        traced = {v: answered[v][case] for v in versions}
        pools[case] = sorted({key for own in traced.values() for one in own for key in one.keys})
        weights = overlap.weights_of(pools[case], traced)
        for version, own in traced.items():
            if pools[case]:
                shares[version][case] = [overlap.share(one, pools[case]) for one in own]
                weighted[version] += [overlap.weighted_share(one, weights) for one in own]
    clusters = weighing.clusters([one for runs in versions.values() for one in runs])
    points = [
        _point(v, runs, shares[v], weighted[v], [t for c in cases for t in answered[v][c]], clusters, seed)
        for v, runs in versions.items()
    ]
    return Pool(
        sha256=canonical.sha256(pools),
        size=sum(map(len, pools.values())),
        points=tuple(_fronted(points)),
        shares=shares,
    )


def _answered(runs: Sequence[Weighed]) -> dict[str, list[tracing.Traced]]:
    found: dict[str, list[tracing.Traced]] = {}
    for one in runs:
        if one.run.answer is not None:
            found.setdefault(one.question.id, []).append(tracing.trace(one.pair[0]))
    return found


def _point(
    name: str,
    runs: Sequence[Weighed],
    shares: Mapping[str, list[float]],
    weighted: Sequence[float],
    traced: Sequence[tracing.Traced],
    clusters: Mapping[str, str],
    seed: int,
) -> Point:
    mean = stats.paired({case: [0.0] for case in shares}, shares, cluster=clusters, seed=seed)
    spreads = [overlap.spread(values) for values in shares.values() if len(values) > 1]
    costs = [one.values["usd"] for one in runs if "usd" in one.values]
    return Point(
        name=name,
        share=mean.mean,
        low=max(0.0, mean.low),
        high=min(1.0, mean.high),
        band=fmean(spreads) if spreads else None,
        weighted=fmean(weighted) if weighted else 0.0,
        untraced=fmean([one.untraced_share for one in traced]) if traced else 0.0,
        usd=fmean(costs) if costs and len(costs) == len(runs) else None,
    )


def _fronted(points: Sequence[Point]) -> list[Point]:
    priced = [p for p in points if p.usd is not None]
    front = {p.name for p in priced if not any(_beats(other, p) for other in priced)}
    return [replace(p, on_front=p.name in front) for p in points]


def _beats(one: Point, other: Point) -> bool:
    if one.usd is None or other.usd is None:
        return False
    as_good = one.share >= other.share and one.usd <= other.usd
    return as_good and (one.share > other.share or one.usd < other.usd)


def _bounded(value: float) -> float | None:
    return None if abs(value) == float("inf") else round(value, 4)
