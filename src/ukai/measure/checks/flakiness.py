"""Check `flakiness`: how far tool calls spread when the same question is asked again (P8.2)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import median
from typing import Any, ClassVar

from ukai.measure import groups, spec, stats
from ukai.measure.score import Flag, Score
from ukai.measure.spec import Pair


@dataclass(frozen=True, kw_only=True)
class Flakiness:
    """The check with its parameters."""

    name: ClassVar[str] = "flakiness"
    version: ClassVar[int] = 1

    ratio: float = 2.0
    """Most calls over fewest calls, up to which a schedule may rely on the case."""
    least_runs: int = 5

    def weigh_all(self, pairs: Sequence[Pair]) -> list[Score]:
        """One score a case and version."""
        scores: list[Score] = []
        for case, runs in groups.by_case(pairs).items():
            scores += [self._score(case, version, own) for version, own in groups.versions(runs).items()]
        return scores

    def _score(self, case: str, version: str, runs: Sequence[Pair]) -> Score:
        calls = [len(reading.run.calls) for reading, _ in runs]
        mixes = [Counter(call.tool for call in reading.run.calls) for reading, _ in runs]
        errors = [sum(call.label == "error" for call in reading.run.calls) for reading, _ in runs]
        ratio = max(calls) / min(calls) if min(calls) else (1.0 if not max(calls) else float(max(calls)))
        counts: dict[str, float] = {
            "runs": len(runs),
            "calls_min": min(calls),
            "calls_median": median(calls),
            "calls_max": max(calls),
            "ratio": ratio,
            "tool_mix": _overlap(mixes),
            "errors_min": min(errors),
            "errors_max": max(errors),
        }
        answered = sum(reading.run.status == "answered" for reading, _ in runs)
        details: dict[str, Any] = {"case": case, "version": version, "answered": f"{answered} of {len(runs)}"}
        pass_k = stats.pass_k(answered, len(runs), self.least_runs)
        if pass_k is not None:
            details["pass^k answered"] = round(pass_k, 4)
        few = len(runs) < self.least_runs
        return Score(
            check=self.name,
            spec=spec.written(self),
            about=tuple(reading.id for reading, _ in runs),
            flags=() if few or ratio <= self.ratio else (self._flag(case, counts, runs),),
            counts=counts,
            details=details,
            unable=f"{len(runs)} runs; a spread needs {self.least_runs}" if few else "",
        )

    def _flag(self, case: str, counts: dict[str, float], runs: Sequence[Pair]) -> Flag:
        note = f"between {counts['calls_min']:.0f} and {counts['calls_max']:.0f} calls for one question"
        if counts["errors_max"]:
            # An error storm looks like curiosity when only calls are counted.
            note += f"; failed calls go from {counts['errors_min']:.0f} to {counts['errors_max']:.0f}"
        return Flag(
            kind="spread", words=runs[0][0].run.question, start=0, end=0, part="question", gates=True, note=note
        )


def _overlap(mixes: Sequence[Counter[str]]) -> float:
    """Mean Jaccard overlap of the multisets of tools, over all pairs of runs; 1 when all are the same."""
    overlaps: list[float] = []
    for one, other in combinations(mixes, 2):
        either = (one | other).total()
        overlaps.append((one & other).total() / either if either else 1.0)
    return sum(overlaps) / len(overlaps) if overlaps else 1.0
