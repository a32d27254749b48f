"""Check `latency`: where the time of a run went, tool by tool, and the slowest calls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ukai.measure import spec
from ukai.measure.case import Case
from ukai.measure.reading import Reading
from ukai.measure.score import Flag, Score
from ukai.measure.spec import Pair


@dataclass(frozen=True, kw_only=True)
class Latency:
    """The check with its parameters."""

    name: ClassVar[str] = "latency"
    version: ClassVar[int] = 1

    run_s: float = 60.0
    """A run that takes longer is shown; nothing gates on it, machines differ."""
    call_s: float = 10.0

    def weigh(self, reading: Reading, case: Case | None = None) -> Score:
        """`slow_run`, `slow_call`: reported."""
        run = reading.run
        total = (run.ended_at - run.started_at).total_seconds()
        calls = [(call, (call.t1 - call.t0).total_seconds()) for call in run.calls]
        flags: list[Flag] = []
        if total > self.run_s:
            flags.append(
                _flag("slow_run", run.question, "question", f"{total:.1f} s, of which {_sum(calls):.1f} s in tools")
            )
        flags += [
            _flag("slow_call", call.tool, f"call {call.call_id}", f"{seconds:.1f} s")
            for call, seconds in calls
            if seconds > self.call_s
        ]
        counts = {
            "seconds": total,
            "tool_seconds": _sum(calls),
            "guardrail_seconds": sum(firing.latency_ms for firing in run.firings) / 1000,
            "slowest_call_seconds": max((seconds for _, seconds in calls), default=0.0),
        }
        return Score(check=self.name, spec=spec.written(self), about=(reading.id,), flags=tuple(flags), counts=counts)

    def weigh_all(self, pairs: Sequence[Pair]) -> list[Score]:
        """All runs together: percentiles, and a table by tool."""
        if len(pairs) < 2:
            return []
        totals = sorted((reading.run.ended_at - reading.run.started_at).total_seconds() for reading, _ in pairs)
        tools: dict[str, list[float]] = {}
        for reading, _ in pairs:
            for call in reading.run.calls:
                tools.setdefault(call.tool, []).append((call.t1 - call.t0).total_seconds())
        rows: list[dict[str, Any]] = [
            {
                "tool": tool,
                "calls": len(times),
                "p50": _percentile(sorted(times), 50),
                "p95": _percentile(sorted(times), 95),
            }
            for tool, times in sorted(tools.items())
        ]
        counts = {"runs": float(len(totals)), "p50": _percentile(totals, 50), "p95": _percentile(totals, 95)}
        ids = tuple(reading.id for reading, _ in pairs)
        return [Score(check=self.name, spec=spec.written(self), about=ids, counts=counts, details={"tools": rows})]


def _sum(calls: Sequence[tuple[Any, float]]) -> float:
    return sum(seconds for _, seconds in calls)


def _percentile(ordered: Sequence[float], percent: int) -> float:
    """The nearest rank."""
    return round(ordered[min(len(ordered) - 1, max(0, -(-percent * len(ordered) // 100) - 1))], 6)


def _flag(kind: str, words: str, part: str, note: str) -> Flag:
    return Flag(kind=kind, words=words, start=0, end=0, part=part, gates=False, note=note)
