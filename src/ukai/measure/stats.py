"""One statistical rule per quantity. Nothing here draws a conclusion from a single run.

Sources: Wilson 1927; McNemar 1947, exact binomial form; Holm 1979; Benjamini & Hochberg 1995; pass^k as in tau-bench;
cluster bootstrap: resampling whole clusters (Field & Welsh 2007). Which quantity takes which: docs/design/measure.md.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import comb, sqrt
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


@dataclass(frozen=True, kw_only=True)
class Difference:
    """After minus before, paired by case, with its 95 % interval."""

    mean: float
    low: float
    high: float
    cases: int
    unpaired: tuple[str, ...]
    """Cases that only one side has: listed, never dropped in silence."""

    def word(self, *, larger_than: float) -> Word:
        """The verdict: `no difference` means none larger than that, and is earned like the other two."""
        if self.cases < MIN_CASES:
            return "not enough runs"
        if self.low > 0:
            return "better"
        if self.high < 0:
            return "worse"
        return "no difference" if -larger_than <= self.low and self.high <= larger_than else "not enough runs"


MIN_CASES = 6
"""Below it a bootstrap over cases has too few distinct resamples for a 95 % interval."""


def paired(
    before: Mapping[str, Sequence[float]],
    after: Mapping[str, Sequence[float]],
    *,
    cluster: Mapping[str, str] | None = None,
    draws: int = 2_000,
    seed: int = 0,
) -> Difference:
    """The difference of case means between two sides, by cluster bootstrap.

    Both map a case to its runs' values; `cluster` maps a case to what it shares with others (an account). The same
    input gives the same interval: draws come from `seed` and the input.
    """
    both = sorted(case for case in before if case in after and before[case] and after[case])
    gaps = {case: _mean(after[case]) - _mean(before[case]) for case in both}
    unpaired = tuple(sorted((before.keys() | after.keys()) - set(both)))
    if not both:
        return Difference(mean=0.0, low=float("-inf"), high=float("inf"), cases=0, unpaired=unpaired)
    groups: dict[str, list[float]] = {}
    for case in both:
        groups.setdefault((cluster or {}).get(case, case), []).append(gaps[case])
    low, high = _bootstrap([groups[name] for name in sorted(groups)], draws=draws, seed=seed)
    return Difference(mean=_mean(list(gaps.values())), low=low, high=high, cases=len(both), unpaired=unpaired)


def _bootstrap(groups: Sequence[Sequence[float]], *, draws: int, seed: int) -> tuple[float, float]:
    key = canonical.sha256([seed, [list(group) for group in groups]])
    rng = random.Random(key)  # noqa: S311 - it must be repeatable, and guards nothing
    sums = [(sum(group), len(group)) for group in groups]
    means: list[float] = []
    for _ in range(draws):
        drawn = rng.choices(sums, k=len(sums))
        means.append(sum(total for total, _ in drawn) / sum(count for _, count in drawn))
    means.sort()
    return means[int(0.025 * draws)], means[int(0.975 * draws) - 1]


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
