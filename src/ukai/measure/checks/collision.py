"""Check `collision`: which guardrails start or stop firing when one thing changes and three are held (P8.4).

The four factors: question and answer, model, code, wording. Runs that differ in more than one are not compared.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Any, ClassVar

from ukai.measure import firings, groups, spec, stats
from ukai.measure.score import Flag, Score
from ukai.measure.spec import Pair

Said = str
"""`pass`, `fired` or `failed`: a rule that could not be run is a third outcome and never one of the others."""


@dataclass(frozen=True, kw_only=True)
class Collision:
    """The check with its parameters."""

    name: ClassVar[str] = "collision"
    version: ClassVar[int] = 1

    alpha: float = 0.05
    """Of the adjusted p (Holm over rules) from which a change is news and gates."""

    def weigh_all(self, pairs: Sequence[Pair]) -> list[Score]:
        """One score for each factor that was varied alone; one for labels and failures, when there are any."""
        fired = [(pair, groups.factors(pair), firings.said(pair[0].run)) for pair in pairs if pair[0].run.firings]
        if not fired:
            return []
        noise = _noise(fired)
        scores = [score for factor in groups.NAMES for score in self._varied(fired, factor, noise)]
        labels = self._labels(fired)
        return [*scores, *([labels] if labels else [])]

    def _varied(self, fired: Sequence[_Fired], factor: str, noise: Mapping[str, _Flips]) -> Iterator[Score]:
        """The pairs of runs of one case that differ in `factor` only: before is the level that came first."""
        levels: dict[str, int] = {}
        strata: dict[tuple[str, ...], dict[str, list[_Fired]]] = {}
        for one in fired:
            level = getattr(one[1], factor)
            levels.setdefault(level, len(levels))
            key = (groups.case_of(one[0]), *(getattr(one[1], name) for name in groups.NAMES if name != factor))
            strata.setdefault(key, {}).setdefault(level, []).append(one)
        compared: list[tuple[_Fired, _Fired]] = []
        for group in strata.values():
            ordered = sorted(group, key=lambda level: levels[level])
            for before, after in pairwise(ordered):
                compared.append((group[before][0], group[after][0]))
        if compared:
            yield self._compared(factor, compared, noise)

    def _compared(self, factor: str, compared: Sequence[tuple[_Fired, _Fired]], noise: Mapping[str, _Flips]) -> Score:
        rules = sorted({rule for before, after in compared for rule in (*before[2], *after[2])})
        rows: dict[str, dict[str, Any]] = {}
        p_values: dict[str, float] = {}
        for rule in rules:
            moves = Counter(_move(before[2].get(rule), after[2].get(rule)) for before, after in compared)
            rows[rule] = {name: moves[name] for name in ("gained", "lost", "kept", "quiet", "failed", "absent")}
            p_values[rule] = stats.mcnemar(moves["gained"], moves["lost"])
        adjusted = stats.holm(p_values)
        flags: list[Flag] = []
        for rule, row in rows.items():
            flips = noise.get(rule)
            row |= {"p_holm": round(adjusted[rule], 4), "noise": flips.share.as_json() if flips else None}
            if adjusted[rule] <= self.alpha and not _is_noise(row, flips):
                flags.append(_flag(factor, rule, row))
        counts = {"pairs": float(len(compared)), "rules": float(len(rules))}
        counts |= {
            name: float(sum(row[name] for row in rows.values())) for name in ("gained", "lost", "kept", "failed")
        }
        ids = dict.fromkeys(one[0][0].id for pair in compared for one in pair)
        return Score(
            check=self.name,
            spec=spec.written(self),
            about=tuple(ids),
            flags=tuple(flags),
            counts=counts,
            details={"factor": factor, "rules": rows},
        )

    def _labels(self, fired: Sequence[_Fired]) -> Score | None:
        """Answers that people labelled: how often a rule fires where it should pass, and fires where it should."""
        rows: dict[str, dict[str, Any]] = {}
        flags: list[Flag] = []
        tallies: dict[str, Counter[str]] = {}
        for (reading, case), _, said in fired:
            for rule in case.should_pass if case else ():
                name, outcome = _named(rule, said)
                tallies.setdefault(name, Counter())[f"pass:{outcome}"] += 1
                if outcome == "fired":
                    flags.append(_grew(reading.id, name, reading.run.question))
            for rule in case.should_fire if case else ():
                name, outcome = _named(rule, said)
                tallies.setdefault(name, Counter())[f"fire:{outcome}"] += 1
        for name in sorted(tallies):
            seen = tallies[name]
            passes = sum(seen[f"pass:{o}"] for o in ("pass", "fired"))
            fires = sum(seen[f"fire:{o}"] for o in ("pass", "fired"))
            rows[name] = {
                "false_block_rate": stats.wilson(seen["pass:fired"], passes).as_json(),
                "recall": stats.wilson(seen["fire:fired"], fires).as_json(),
                "failed": seen["pass:failed"] + seen["fire:failed"],
            }
        if not rows:
            return None
        ids = tuple(reading.id for (reading, case), _, _ in fired if case and (case.should_pass or case.should_fire))
        return Score(
            check=self.name,
            spec=spec.written(self),
            about=ids,
            flags=tuple(flags),
            counts={"labelled": float(len(ids)), "false_blocks": float(len(flags))},
            details={"labels": rows},
        )


@dataclass(frozen=True, kw_only=True)
class _Flips:
    """How often two runs with all four factors equal disagree about a rule."""

    share: stats.Share


_Fired = tuple[Pair, groups.Factors, dict[str, Said]]


def _move(before: Said | None, after: Said | None) -> str:
    if before is None or after is None:
        return "absent"
    if "failed" in (before, after):
        return "failed"
    if before == after:
        return "kept" if before == "fired" else "quiet"
    return "gained" if after == "fired" else "lost"


def _noise(fired: Sequence[_Fired]) -> dict[str, _Flips]:
    """From repeats: the same case with all four factors the same."""
    same: dict[tuple[str, groups.Factors], list[dict[str, Said]]] = {}
    for pair, factors, said in fired:
        same.setdefault((groups.case_of(pair), factors), []).append(said)
    flips: Counter[str] = Counter()
    seen: Counter[str] = Counter()
    for repeats in same.values():
        for one, other in combinations(repeats, 2):
            for rule in sorted(one.keys() & other.keys()):
                if "failed" not in (one[rule], other[rule]):
                    seen[rule] += 1
                    flips[rule] += one[rule] != other[rule]
    return {rule: _Flips(share=stats.wilson(flips[rule], seen[rule])) for rule in sorted(seen)}


def _is_noise(row: Mapping[str, Any], flips: _Flips | None) -> bool:
    """Whether repeats alone would change as many: then nothing is news."""
    if flips is None or flips.share.value is None:
        return False
    pairs = row["gained"] + row["lost"] + row["kept"] + row["quiet"]
    return bool(pairs) and (row["gained"] + row["lost"]) / pairs <= flips.share.high


def _named(rule: str, said: Mapping[str, Said]) -> tuple[str, Said]:
    name = rule.partition("@")[0]
    return name, said.get(name, "pass")


def _flag(factor: str, rule: str, row: Mapping[str, Any]) -> Flag:
    note = f"with another {factor} it started to fire on {row['gained']} and stopped on {row['lost']} of the same cases"
    return Flag(kind="collision", words=rule, start=0, end=0, part="firings", gates=True, note=note)


def _grew(run_id: str, rule: str, question: str) -> Flag:
    note = f"a person says that it must pass on {question[:80]!r} (run {run_id})"
    return Flag(kind="false_block", words=rule, start=0, end=0, part="firings", gates=True, note=note)
