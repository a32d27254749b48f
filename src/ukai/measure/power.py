"""What a bank can see before anything is spent on it: the power to call a true difference by its name (P8.7).

A change of size d is taken to lift each case by the same share of what it lacks, so that cases that always pass stay.
Source of the prior: flaky cases as Beta(3, 1.2), the mean .71 (docs/reference/statistics.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import exp, lgamma, log, sqrt
from statistics import NormalDist, fmean

from ukai.measure import stats

PRIOR_FAILS = 1.2 / 4.2
PRIOR_WITHIN = 3 * 1.2 / (4.2 * 5.2)
"""Mean of p (1 - p) over cases; with it a bank without any run can be judged."""
SOUGHT = 0.8
LOOKED = tuple(i / 200 for i in range(1, 101))
"""Differences that are tried, half a point apart."""


@dataclass(frozen=True, kw_only=True)
class Spread:
    """How cases of one version pass."""

    fails: float = PRIOR_FAILS
    """Mean share of runs that fail."""
    within: float = PRIOR_WITHIN
    """Mean of p (1 - p): what repeats of one case differ by."""

    def se(self, difference: float, *, cases: int, repeats: int) -> float:
        """Of the difference of case means, when the true one is `difference`."""
        lifted, squared = self._lifted(difference), self.fails - self.within  # mean of (1 - p) squared
        after = (1 - lifted) * self.fails - (1 - lifted) ** 2 * squared
        uneven = lifted**2 * max(0.0, squared - self.fails**2)
        return sqrt(max(0.0, (self.within + after) / repeats + uneven) / cases)

    def moves(self, difference: float) -> tuple[float, float]:
        """The chances that one run of a case fails before and passes after, and the other way round."""
        lifted, squared = self._lifted(difference), self.fails - self.within
        return self.fails - (1 - lifted) * squared, (1 - lifted) * self.within

    def _lifted(self, difference: float) -> float:
        return min(1.0, difference / self.fails) if self.fails else 0.0


def spread_of(values: Mapping[str, Sequence[float]]) -> Spread:
    """From the runs of a version: unbiased where cases were repeated, the prior's within where none was."""
    means = [fmean(runs) for runs in values.values() if runs]
    if not means:
        return Spread()
    repeated = [runs for runs in values.values() if len(runs) > 1]
    fails = 1 - fmean(means)
    if not repeated:
        # All cases may be sure, or none: without repeats the prior's proportion is the best guess.
        return Spread(fails=fails, within=PRIOR_WITHIN / (PRIOR_FAILS * (1 - PRIOR_FAILS)) * fails * (1 - fails))
    within = fmean(m * (1 - m) * len(r) / (len(r) - 1) for r in repeated for m in (fmean(r),))
    return Spread(fails=fails, within=min(within, fails))


def power(difference: float, *, cases: int, repeats: int, clusters: int | None = None, spread: Spread) -> float:
    """The chance that a true `difference` is called better (or worse)."""
    groups = clusters or cases
    if groups < stats.MIN_CLUSTERS:
        return 0.0
    if repeats == 1 and groups == cases:
        return _exact(abs(difference), cases, spread)
    se = spread.se(abs(difference), cases=cases, repeats=repeats)
    if se == 0:
        return 1.0 if difference else 0.0
    df = groups - 1
    t = stats.t_quantile(1 - stats.ALPHA / 2, df)
    # Noncentral t by its normal approximation (Johnson & Kotz 1970).
    return NormalDist().cdf((abs(difference) / se - t * (1 - 1 / (4 * df))) / sqrt(1 + t * t / (2 * df)))


def _exact(difference: float, cases: int, spread: Spread) -> float:
    """Of exact McNemar, which needs more than the interval does: summed over how many cases may change."""
    gains, losses = spread.moves(difference)
    changes = gains + losses
    if changes <= 0:
        return 0.0
    return sum(
        _binomial(n, cases, changes) * sum(_binomial(g, n, gains / changes) for g in range(_critical(n), n + 1))
        for n in range(cases + 1)
        if abs(n - cases * changes) <= 6 * sqrt(cases * changes) + 6
    )


@lru_cache(maxsize=4_096)
def _critical(changes: int) -> int:
    """The least number of gains among so many changes that is called better."""
    return next(
        (g for g in range(changes // 2 + 1, changes + 1) if stats.mcnemar(g, changes - g) <= stats.ALPHA), changes + 1
    )


def _binomial(hits: int, of: int, chance: float) -> float:
    if chance in (0.0, 1.0):
        return float(hits == of * chance)
    size = lgamma(of + 1) - lgamma(hits + 1) - lgamma(of - hits + 1)
    return exp(size + hits * log(chance) + (of - hits) * log(1 - chance))


def detectable(*, cases: int, repeats: int, clusters: int | None = None, spread: Spread) -> float | None:
    """The smallest difference, to half a point, that is called by name four times in five; None when none is."""
    for difference in LOOKED:
        if power(difference, cases=cases, repeats=repeats, clusters=clusters, spread=spread) >= SOUGHT:
            return difference
    return None
