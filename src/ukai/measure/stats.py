"""One statistical rule per quantity. Nothing here draws a conclusion from a single run.

Sources: Wilson 1927; McNemar 1947, exact binomial form; Holm 1979; Benjamini & Hochberg 1995; pass^k as in tau-bench;
cluster bootstrap: resampling whole clusters (Field & Welsh 2007), percentiles expanded for few clusters (Hesterberg
2015). Which quantity takes which: docs/reference/statistics.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import atan, comb, cos, exp, lgamma, pi, sqrt
from statistics import NormalDist, fmean, variance
from typing import Literal

from ukai.kit import canonical

Z95 = 1.959963984540054
Word = Literal["better", "worse", "no difference", "not enough runs"]


@dataclass(frozen=True, kw_only=True)
class Share:
    """A share with its 95 % interval."""

    hits: int
    of: int
    low: float
    high: float

    @property
    def value(self) -> float | None:
        """None where there was nothing to count."""
        return self.hits / self.of if self.of else None

    def as_json(self) -> dict[str, float | int | None]:
        """Rounded to four places."""
        value = self.value
        return {
            "hits": self.hits,
            "of": self.of,
            "value": None if value is None else round(value, 4),
            "low": round(self.low, 4),
            "high": round(self.high, 4),
        }


def wilson(hits: int, of: int, z: float = Z95) -> Share:
    """A share of independent cases. Nothing counted says nothing: 0 to 1."""
    if of == 0:
        return Share(hits=0, of=0, low=0.0, high=1.0)
    p, zz = hits / of, z * z
    middle = (p + zz / (2 * of)) / (1 + zz / of)
    half = z * sqrt(p * (1 - p) / of + zz / (4 * of * of)) / (1 + zz / of)
    low = 0.0 if hits == 0 else max(0.0, middle - half)
    high = 1.0 if hits == of else min(1.0, middle + half)
    return Share(hits=hits, of=of, low=low, high=high)


def mcnemar(gained: int, lost: int) -> float:
    """Exact two-sided p that pairs which changed are as likely to go either way."""
    pairs = gained + lost
    if pairs == 0:
        return 1.0
    tail = sum(comb(pairs, k) for k in range(min(gained, lost) + 1)) / 2**pairs
    return min(1.0, 2 * tail)


def holm(p_values: Mapping[str, float]) -> dict[str, float]:
    """Adjusted p by name, for a gate: the chance of one false alarm over all names stays what it says."""
    adjusted: dict[str, float] = {}
    largest = 0.0
    ordered = sorted(p_values.items(), key=lambda pair: (pair[1], pair[0]))
    for i, (name, p) in enumerate(ordered):
        largest = max(largest, min(1.0, p * (len(ordered) - i)))
        adjusted[name] = largest
    return adjusted


def reported(gaps: Mapping[str, Difference]) -> dict[str, float]:
    """Adjusted p by name for a report, over everything that moved at all."""
    adjusted = benjamini_hochberg({name: gap.p for name, gap in gaps.items() if not gap.is_still})
    return {name: adjusted.get(name, 1.0) for name in gaps}


def benjamini_hochberg(p_values: Mapping[str, float]) -> dict[str, float]:
    """Adjusted p by name, for a report: the share of false alarms among those told stays what it says."""
    adjusted: dict[str, float] = {}
    smallest = 1.0
    ordered = sorted(p_values.items(), key=lambda pair: (pair[1], pair[0]))
    for i in range(len(ordered) - 1, -1, -1):
        name, p = ordered[i]
        smallest = min(smallest, p * len(ordered) / (i + 1))
        adjusted[name] = smallest
    return adjusted


def pass_k(passed: int, runs: int, k: int) -> float | None:
    """The chance that `k` runs drawn without replacement all passed; None when there are fewer than `k` runs."""
    if not 1 <= k <= runs:
        return None
    return comb(passed, k) / comb(runs, k)


TURNED: Mapping[Word, Word] = {"better": "worse", "worse": "better"}
"""Where less is better."""
ALPHA = 0.05
MIN_CLUSTERS = 6
"""Below it a bootstrap over clusters has too few distinct resamples for a 95 % interval."""
DRAWS = 4_000


@dataclass(frozen=True, kw_only=True)
class Difference:
    """After minus before, paired by case, with its 95 % interval."""

    mean: float
    low: float
    high: float
    cases: int
    unpaired: tuple[str, ...] = ()
    """Cases that only one side has: listed, never dropped in silence."""
    clusters: int
    """Groups of cases that share something; without any, the cases."""
    p: float = 1.0
    """Two-sided: exact McNemar where each case has one run a side that passed or not, else that of the interval."""
    se: float = 0.0
    noise: float | None = None
    """How far apart two rounds of one version come to lie (standard deviation); None where nothing was repeated.

    A gap within it is no difference, whatever the interval says.
    """

    def word(self, *, larger_than: float, alpha: float = ALPHA, p: float | None = None) -> Word:
        """The verdict. `no difference` means none larger than that, however sure a smaller one is, and it is earned.

        `p` takes the place of the own one where many were asked at once (Holm, Benjamini-Hochberg).
        """
        if self.clusters < MIN_CLUSTERS:
            return "not enough runs"
        if -larger_than <= self.low and self.high <= larger_than:
            return "no difference"
        if (self.p if p is None else p) <= alpha and abs(self.mean) > (self.noise or 0.0):
            return "better" if self.mean > 0 else "worse"
        return "not enough runs"

    @property
    def is_still(self) -> bool:
        """Whether no case moved at all: no test of it could find anything, so it counts for none (Tarone 1990)."""
        return self.mean == self.low == self.high == 0.0

    @property
    def detectable(self) -> float:
        """The smallest difference that as many runs would call by name four times in five."""
        return (t_quantile(1 - ALPHA / 2, max(1, self.clusters - 1)) + NormalDist().inv_cdf(0.8)) * self.se


def paired(
    before: Mapping[str, Sequence[float]],
    after: Mapping[str, Sequence[float]],
    *,
    cluster: Mapping[str, str] | None = None,
    draws: int = DRAWS,
    seed: int = 0,
) -> Difference:
    """The difference of case means between two sides, by cluster bootstrap.

    Both map a case to its runs' values; `cluster` maps a case to what it shares with others (an account). The same
    input gives the same interval: draws come from `seed` and the input.
    """
    both = sorted(case for case in before if case in after and before[case] and after[case])
    unpaired = tuple(sorted((before.keys() | after.keys()) - set(both)))
    if not both:
        return Difference(mean=0.0, low=float("-inf"), high=float("inf"), cases=0, clusters=0, unpaired=unpaired)
    gaps = {case: fmean(after[case]) - fmean(before[case]) for case in both}
    groups: dict[str, list[float]] = {}
    for case in both:
        groups.setdefault((cluster or {}).get(case) or case, []).append(gaps[case])
    low, high, p, se = _bootstrap([groups[name] for name in sorted(groups)], draws=draws, seed=seed)
    if len(groups) == len(both) and _is_once(before, both) and _is_once(after, both):
        p = mcnemar(sum(gap > 0 for gap in gaps.values()), sum(gap < 0 for gap in gaps.values()))
    return Difference(
        mean=fmean(gaps.values()),
        low=low,
        high=high,
        cases=len(both),
        unpaired=unpaired,
        clusters=len(groups),
        p=p,
        se=se,
        noise=_noise(before, after, both),
    )


def _is_once(values: Mapping[str, Sequence[float]], cases: Sequence[str]) -> bool:
    return all(len(values[case]) == 1 and values[case][0] in (0.0, 1.0) for case in cases)


def _noise(
    before: Mapping[str, Sequence[float]], after: Mapping[str, Sequence[float]], cases: Sequence[str]
) -> float | None:
    """What the repeats alone would move the difference by, the cases held: it is not news."""
    own = [variance(side[case]) / len(side[case]) for side in (before, after) for case in cases if len(side[case]) > 1]
    return sqrt(sum(own)) / len(cases) if own else None


def _bootstrap(groups: Sequence[Sequence[float]], *, draws: int, seed: int) -> tuple[float, float, float, float]:
    """Interval, two-sided p, standard error. Plain percentiles of few clusters are too narrow: they are expanded."""
    import numpy as np  # not at the top: linting a file of cases does without it

    sums = np.array([sum(group) for group in groups])
    counts = np.array([len(group) for group in groups])
    key = int(canonical.sha256([seed, [list(group) for group in groups]])[:8], 16)
    drawn = np.random.RandomState(key).randint(0, len(groups), size=(draws, len(groups)))
    means = np.sort(sums[drawn].sum(axis=1) / counts[drawn].sum(axis=1))
    if len(groups) == 1:
        return float("-inf"), float("inf"), 1.0, float("inf")
    df = len(groups) - 1
    wider = sqrt(len(groups) / df)
    tail = NormalDist().cdf(-wider * t_quantile(1 - ALPHA / 2, df))
    # Differences of binary fractions that are one number come out as several: a whisker is no side.
    below, above = int((means <= 1e-12).sum()), int((means >= -1e-12).sum())
    low, high = np.quantile(means, [tail, 1 - tail])
    middle, se = float(means.mean()), float(means.std()) * wider
    if side := min(below, above):
        t = -NormalDist().inv_cdf(min(side / draws, 0.5)) / wider
    else:
        t = abs(middle) / se if se > 1e-12 else 1e3  # beyond what draws can count
    # Signs alone go all one way once in 2 to the number of clusters: nothing is surer than that.
    p = min(1.0, max(2 * (1 - t_cdf(t, df)), 2.0 ** (1 - len(groups))))
    return float(low), float(high), p, se


def t_cdf(t: float, df: int) -> float:
    """Student's distribution: the substitution t = sqrt(df) tan(u) makes it an integral of a power of a cosine."""
    steps = 200
    end = atan(t / sqrt(df))
    step = end / steps
    inner = sum((4 if i % 2 else 2) * cos(i * step) ** (df - 1) for i in range(1, steps))
    area = (1.0 + inner + cos(end) ** (df - 1)) * step / 3
    return 0.5 + area * exp(lgamma((df + 1) / 2) - lgamma(df / 2)) / sqrt(pi)


@lru_cache(maxsize=4_096)
def t_quantile(share: float, df: int) -> float:
    """The inverse of `t_cdf`, for shares above one half."""
    low, high = 0.0, 1e3
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if t_cdf(middle, df) < share else (low, middle)
    return (low + high) / 2
