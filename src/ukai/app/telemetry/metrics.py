"""Counts and durations of this process, in the text form that Prometheus reads (version 0.0.4)."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

BUCKETS = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0)
"""Seconds of a turn: from a refusal to the longest job that a user may order (P4.1)."""
SERIES = 1_000
"""Of one metric. Labels hold names that a model may invent (a tool); beyond this number all count as one."""
OTHER = "(other)"
MEDIA = "text/plain; version=0.0.4; charset=utf-8"

Labels = tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Metric:
    """What one name counts, and by what."""

    name: str
    help: str
    labels: tuple[str, ...] = ()
    kind: str = "counter"
    """`counter`, `gauge` or `histogram`."""


@dataclass(kw_only=True)
class _Spread:
    counts: list[int] = field(default_factory=lambda: [0] * len(BUCKETS))
    total: float = 0.0
    count: int = 0


class Registry:
    """The metrics of a process. Threads may count at once."""

    def __init__(self, metrics: Sequence[Metric]) -> None:
        self._metrics = {m.name: m for m in metrics}
        self._values: dict[str, dict[Labels, float]] = {m.name: {} for m in metrics}
        self._spreads: dict[str, dict[Labels, _Spread]] = {m.name: {} for m in metrics}
        self._lock = threading.Lock()

    def add(self, name: str, *labels: str, by: float = 1.0) -> None:
        """Count. `labels` stand in the order of the metric's own."""
        with self._lock:
            values = self._values[name]
            key = _kept(labels, values)
            values[key] = values.get(key, 0.0) + by

    def set(self, name: str, *labels: str, to: float) -> None:
        """Say how it is now."""
        with self._lock:
            values = self._values[name]
            values[_kept(labels, values)] = to

    def observe(self, name: str, *labels: str, seconds: float) -> None:
        """One duration."""
        with self._lock:
            spreads = self._spreads[name]
            spread = spreads.setdefault(_kept(labels, spreads), _Spread())
            spread.total += seconds
            spread.count += 1
            for i, limit in enumerate(BUCKETS):
                spread.counts[i] += seconds <= limit

    def value(self, name: str, *labels: str) -> float:
        """What was counted so far."""
        with self._lock:
            return self._values[name].get(labels, 0.0)

    def exposition(self) -> str:
        """All of it as text, in the order of declaration."""
        with self._lock:
            lines: list[str] = []
            for metric in self._metrics.values():
                lines += [f"# HELP {metric.name} {metric.help}", f"# TYPE {metric.name} {metric.kind}"]
                for labels, value in self._values[metric.name].items():
                    lines.append(f"{metric.name}{_said(metric.labels, labels)} {_number(value)}")
                for labels, spread in self._spreads[metric.name].items():
                    lines += _spread_lines(metric, labels, spread)
            return "\n".join(lines) + "\n"


def _kept(labels: Labels, known: Mapping[Labels, object]) -> Labels:
    return labels if labels in known or len(known) < SERIES else (OTHER,) * len(labels)


def _spread_lines(metric: Metric, labels: Labels, spread: _Spread) -> list[str]:
    names = (*metric.labels, "le")
    lines = [
        f"{metric.name}_bucket{_said(names, (*labels, _number(limit)))} {count}"
        for limit, count in zip(BUCKETS, spread.counts, strict=True)
    ]
    said = _said(metric.labels, labels)
    return [
        *lines,
        f"{metric.name}_bucket{_said(names, (*labels, '+Inf'))} {spread.count}",
        f"{metric.name}_sum{said} {_number(spread.total)}",
        f"{metric.name}_count{said} {spread.count}",
    ]


def _said(names: Sequence[str], values: Sequence[str]) -> str:
    if not names:
        return ""
    return "{" + ",".join(f'{n}="{_escaped(v)}"' for n, v in zip(names, values, strict=True)) + "}"


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(value)
