"""Check `evidence`: which calls failed or brought nothing, whether that was made good, who answered all the same."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, cast

from ukai import record
from ukai.measure import groups, spec, stats
from ukai.measure.case import Case
from ukai.measure.reading import Reading
from ukai.measure.score import Flag, Look, Score
from ukai.measure.spec import Pair

LABELS = ("data", "nothing", "error")


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """The check with its parameters."""

    name: ClassVar[str] = "evidence"
    version: ClassVar[int] = 1

    draws: int = 2_000
    """Of the bootstrap over cases, when two versions are compared."""
    larger_than: float = 0.05
    """A difference of error rates up to this is none."""

    def weigh(self, reading: Reading, case: Case | None = None) -> Score:
        """One run. `unrecovered` gates when an answer was given all the same; `nothing` is reported."""
        calls = reading.run.calls
        answered = reading.run.status == "answered" and reading.run.answer is not None
        flags: list[Flag] = []
        counts: dict[str, float] = {"calls": len(calls), "recovered_loose": 0, "recovered_strict": 0, "unrecovered": 0}
        for label in LABELS:
            counts[label] = sum(call.label == label for call in calls)
        counts["truncated"] = sum(call.truncated for call in calls)
        counts["heuristic"] = sum(call.label_rule == "heuristic" for call in calls)
        targets = case.target_args if case else ()
        for i, call in enumerate(calls):
            if call.label != "error":
                continue
            loose, strict = recovered(calls, i, targets)
            counts["recovered_loose"] += loose
            counts["recovered_strict"] += strict
            if not loose:
                counts["unrecovered"] += 1
                flags.append(_unrecovered(call, calls[i + 1 :], answered))
        counts["answered_blind"] = float(answered and counts["unrecovered"] > 0)
        return Score(check=self.name, spec=spec.written(self), about=(reading.id,), flags=tuple(flags), counts=counts)

    def weigh_all(self, pairs: Sequence[Pair]) -> list[Score]:
        """All runs: a table by tool with intervals; and, where there are two versions, before against after."""
        if len(pairs) < 2:
            return []
        details: dict[str, Any] = {"tools": _table(pairs)}
        versions = groups.versions(pairs)
        if len(versions) == 2:
            (before, left), (after, right) = versions.items()
            details["compared"] = {"before": before, "after": after, "tools": self._compared(left, right)}
        blind = sum(self.weigh(reading, case).counts["answered_blind"] for reading, case in pairs)
        counts = {"runs": float(len(pairs)), "answered_blind": blind}
        ids = tuple(reading.id for reading, _ in pairs)
        return [Score(check=self.name, spec=spec.written(self), about=ids, counts=counts, details=details)]

    def _compared(self, before: Sequence[Pair], after: Sequence[Pair]) -> list[dict[str, Any]]:
        """The error rate of each tool, paired by case; p adjusted over tools by Holm, because this is a gate."""
        rows: list[dict[str, Any]] = []
        p_values: dict[str, float] = {}
        clusters = {groups.case_of(pair): (pair[1].cluster if pair[1] else "") for pair in (*before, *after)}
        named = {case: cluster or case for case, cluster in clusters.items()}
        for tool in sorted({call.tool for reading, _ in (*before, *after) for call in reading.run.calls}):
            left, right = _rates(before, tool), _rates(after, tool)
            gap = stats.paired(left, right, cluster=named, draws=self.draws)
            worse = sum(_mean(right[c]) > _mean(left[c]) for c in left if c in right)
            better = sum(_mean(right[c]) < _mean(left[c]) for c in left if c in right)
            p_values[tool] = stats.mcnemar(worse, better)
            word = gap.word(larger_than=self.larger_than)
            rows.append(
                {
                    "tool": tool,
                    "calls": [_calls(before, tool), _calls(after, tool)],
                    "error_rate_change": _rounded(gap.mean),
                    "low": _rounded(gap.low),
                    "high": _rounded(gap.high),
                    "cases": gap.cases,
                    "unpaired": list(gap.unpaired),
                    "verdict": stats.TURNED.get(word, word),  # a higher error rate is worse
                }
            )
        adjusted = stats.holm(p_values)
        return [row | {"p_holm": round(adjusted[row["tool"]], 4)} for row in rows]


def recovered(calls: Sequence[record.Call], i: int, targets: Sequence[str] = ()) -> tuple[bool, bool]:
    """Whether a later call of the same tool worked; and whether one with the same target arguments did.

    Without declared targets, all arguments are the target.
    """
    failed = calls[i]
    later = [call for call in calls[i + 1 :] if call.tool == failed.tool and call.label != "error"]
    wanted = _target(failed, targets)
    return bool(later), any(_target(call, targets) == wanted for call in later)


def _target(call: record.Call, targets: Sequence[str]) -> Any:
    try:
        args = json.loads(call.args_canonical)
    except (ValueError, RecursionError):
        return call.args_canonical
    if not targets or not isinstance(args, dict):
        return args
    given = cast("dict[str, Any]", args)
    return {name: given.get(name) for name in targets}


def _unrecovered(call: record.Call, later: Sequence[record.Call], answered: bool) -> Flag:
    tried = [other for other in later if other.tool == call.tool]
    said = f"{len(tried)} later calls of {call.tool} failed too" if tried else f"{call.tool} was not called again"
    return Flag(
        kind="unrecovered",
        words=call.error_code or call.label_rule,
        start=0,
        end=0,
        part=f"call {call.call_id}",
        gates=answered,
        note=said + (", and an answer was given" if answered else ""),
        looked=tuple(Look(key=f"call {other.call_id}", words=other.error_code or "") for other in tried),
    )


def _table(pairs: Sequence[Pair]) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    calls = [(call, reading.run.calls, i, case) for reading, case in pairs for i, call in enumerate(reading.run.calls)]
    for tool in sorted({call.tool for call, *_ in calls}):
        own = [entry for entry in calls if entry[0].tool == tool]
        failed = [entry for entry in own if entry[0].label == "error"]
        healed = [recovered(all_of, i, case.target_args if case else ()) for _, all_of, i, case in failed]
        row: dict[str, Any] = {"tool": tool, "calls": len(own)}
        for label in LABELS:
            row[label] = stats.wilson(sum(entry[0].label == label for entry in own), len(own)).as_json()
        row["recovered_loose"] = stats.wilson(sum(loose for loose, _ in healed), len(failed)).as_json()
        row["recovered_strict"] = stats.wilson(sum(strict for _, strict in healed), len(failed)).as_json()
        rows.append(row)
    return rows


def _rates(pairs: Sequence[Pair], tool: str) -> dict[str, list[float]]:
    """Case -> the error rate of the tool in each of its runs that called it."""
    rates: dict[str, list[float]] = {}
    for reading, case in pairs:
        labels = [call.label for call in reading.run.calls if call.tool == tool]
        if labels:
            rates.setdefault(groups.case_of((reading, case)), []).append(labels.count("error") / len(labels))
    return rates


def _calls(pairs: Sequence[Pair], tool: str) -> int:
    return sum(call.tool == tool for reading, _ in pairs for call in reading.run.calls)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _rounded(value: float) -> float | None:
    return round(value, 4) if abs(value) != float("inf") else None
