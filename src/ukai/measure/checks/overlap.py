"""Check `overlap`: what each version relayed of the pool that all versions traced, weighted by what led (P8.6)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, ClassVar

from ukai.kit import canonical
from ukai.measure import groups, passage, spec, stats, tracing
from ukai.measure.case import Case
from ukai.measure.reading import Reading
from ukai.measure.score import Flag, Look, Score
from ukai.measure.spec import Pair
from ukai.measure.tracing import Traced


@dataclass(frozen=True, kw_only=True)
class Overlap:
    """The check with its parameters."""

    name: ClassVar[str] = "overlap"
    version: ClassVar[int] = 1

    says: float = passage.SAYS

    def weigh(self, reading: Reading, case: Case | None = None) -> Score:
        """One run alone: what it relays, and which sentences could not be traced."""
        if reading.run.answer is None:
            return Score(check=self.name, spec=spec.written(self), about=(reading.id,), unable="the run has no answer")
        traced = self._trace(reading, case)
        counts: dict[str, float] = {
            "findings": len(traced.findings),
            "sentences": traced.sentences,
            "untraced": traced.untraced,
            "ambiguous": sum(f.ambiguous for f in traced.findings),
            "led": sum(f.led for f in traced.findings),
        }
        findings = [{"key": f.key, "method": f.method, "sentence": f.unit, "led": f.led} for f in traced.findings]
        return Score(
            check=self.name,
            spec=spec.written(self),
            about=(reading.id,),
            counts=counts,
            details={"findings": findings},
        )

    def weigh_all(self, pairs: Sequence[Pair]) -> list[Score]:
        """One score a case that several runs answered; with two versions or more, one over all cases."""
        scores: list[Score] = []
        shares: dict[str, dict[str, list[float]]] = {}
        for case, runs in groups.by_case(pairs).items():
            answered = [pair for pair in runs if pair[0].run.answer is not None]
            if len(answered) < 2:
                continue
            score, own = self._case(case, answered)
            scores.append(score)
            for version, values in own.items():
                shares.setdefault(version, {})[case] = values
        if len(shares) > 1:
            scores.append(self._over(pairs, shares))
        return scores

    def _trace(self, reading: Reading, case: Case | None) -> Traced:
        return tracing.trace(reading, lead=case.lead if case else None, says=self.says)

    def _case(self, case: str, runs: Sequence[Pair]) -> tuple[Score, dict[str, list[float]]]:
        versions = groups.versions(runs)
        traced = {v: [self._trace(reading, c) for reading, c in own] for v, own in versions.items()}
        pool = sorted({key for own in traced.values() for one in own for key in one.keys})
        weights = weights_of(pool, traced)
        shares = {v: [share(one, pool) for one in own] for v, own in traced.items()}
        rows: dict[str, dict[str, Any]] = {}
        flags: list[Flag] = []
        for version, own in traced.items():
            reached = {key for one in own for key in one.keys}
            others = {key for v, them in traced.items() if v != version for one in them for key in one.keys}
            only = sorted(reached - others) if len(traced) > 1 else []
            missed = sorted(set(pool) - reached)
            rows[version] = {
                "share": _round(_mean(shares[version])),
                "weighted_share": _round(_mean([weighted_share(one, weights) for one in own])),
                "own_rerun": _round(spread(shares[version])),
                "missed": missed,
                "only_it": only,
                "untraced_share": _round(_mean([one.untraced_share for one in own])),
                "cost": _cost(versions[version]),
            }
            if missed:
                flags.append(_missed(version, missed, weights))
        details = {"case": case, "pool": canonical.sha256(pool), "versions": rows, "weights": weights}
        counts = {"pool": float(len(pool)), "versions": float(len(rows)), "runs": float(len(runs))}
        counts["ambiguous"] = float(sum(key.startswith("value:") for key in pool))
        ids = tuple(reading.id for reading, _ in runs)
        made = Score(
            check=self.name, spec=spec.written(self), about=ids, flags=tuple(flags), counts=counts, details=details
        )
        return made, shares

    def _over(self, pairs: Sequence[Pair], shares: Mapping[str, Mapping[str, Sequence[float]]]) -> Score:
        """Each later version against the first, by case; a gap within the first's own reruns is no difference."""
        first, *others = shares
        rows: dict[str, Any] = {}
        floor = _mean([spread(values) for values in shares[first].values() if len(values) > 1])
        for version in others:
            gap = stats.paired(shares[first], shares[version])
            word = gap.word(larger_than=max(floor, 0.01))
            if word in ("better", "worse") and abs(gap.mean) <= floor:
                word = "no difference"
            finite = gap.cases > 0
            rows[version] = {
                "against": first,
                "mean_gap": _round(gap.mean),
                "low": _round(gap.low) if finite else None,
                "high": _round(gap.high) if finite else None,
                "cases": gap.cases,
                "unpaired": list(gap.unpaired),
                "own_rerun_floor": _round(floor),
                "verdict": word,
                "thinner": self._thinner(pairs, first, version),
            }
        ids = tuple(reading.id for reading, _ in pairs)
        return Score(
            check=self.name,
            spec=spec.written(self),
            about=ids,
            counts={"versions": float(len(shares))},
            details={"compared": rows},
        )

    def _thinner(self, pairs: Sequence[Pair], first: str, second: str) -> dict[str, int]:
        """Findings that went, split: the later run's calls did not return the item, or they did and it was left out."""
        had_less = wrote_less = 0
        for runs in groups.by_case(pairs).values():
            versions = groups.versions([pair for pair in runs if pair[0].run.answer is not None])
            if first not in versions or second not in versions:
                continue
            before, after = versions[first][0], versions[second][0]
            gone = self._trace(*before).keys - self._trace(*after).keys
            had_less += len(gone - after[0].returned)
            wrote_less += len(gone & after[0].returned)
        return {"had_less": had_less, "wrote_less": wrote_less}


def weights_of(pool: Sequence[str], traced: Mapping[str, Sequence[Traced]]) -> dict[str, float]:
    """Of the runs that reached a finding, the share that led with it; reruns vote."""
    weights: dict[str, float] = {}
    for key in pool:
        reached = [f for own in traced.values() for one in own for f in one.findings if f.key == key]
        weights[key] = round(sum(f.led for f in reached) / len(reached), 4)
    return weights


def share(traced: Traced, pool: Sequence[str]) -> float:
    """Of the pool, what one run relays."""
    return len(traced.keys & set(pool)) / len(pool) if pool else 0.0


def weighted_share(traced: Traced, weights: Mapping[str, float]) -> float:
    """The same, a finding counted as often as runs led with it."""
    total = sum(weights.values())
    return sum(weights[key] for key in sorted(traced.keys)) / total if total else 0.0


def spread(shares: Sequence[float]) -> float:
    """The mean gap between two reruns; 0 for a single run, of which it is not known."""
    return _mean([abs(one - other) for one, other in combinations(shares, 2)])


def _cost(runs: Sequence[Pair]) -> float | None:
    """Mean cost a run in dollars; None when no price is known."""
    costs = [sum(float(u.usd) for u in reading.run.usage if u.usd is not None) for reading, _ in runs]
    priced = any(u.usd is not None for reading, _ in runs for u in reading.run.usage)
    return _round(_mean(costs)) if priced else None


def _missed(version: str, missed: Sequence[str], weights: Mapping[str, float]) -> Flag:
    ordered = sorted(missed, key=lambda key: (-weights[key], key))
    return Flag(
        kind="missed",
        words=version,
        start=0,
        end=0,
        part="answers",
        gates=False,
        note=f"other runs relayed {len(missed)} more of the pool",
        looked=tuple(Look(key=key) for key in ordered[:10]),
    )


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def _round(value: float) -> float:
    return round(value, 4)
