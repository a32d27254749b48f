"""Every sentence of an answer traced to the items that the tools returned (P8.6).

In this order, the first hit wins and says how: a cited item that says it, a figure or date by value, a name by its
entity, the sentence by its passage. A finding is keyed by its item.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from ukai.kit import figures
from ukai.measure import content, names, passage, support
from ukai.measure.reading import Reading, Seen, Unit

FIRST = "first_paragraph"
Method = Literal["cited", "figure", "name", "passage"]
CITED = 0.25
"""A cited item only has to say it: the share of `citations`."""


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One item that the answer relays."""

    key: str
    """The item's; `value:1200000` when several items say the same figure and nothing tells them apart."""
    method: Method
    unit: int
    """The first sentence that relays it."""
    led: bool
    ambiguous: bool = False


@dataclass(frozen=True, kw_only=True)
class Traced:
    """An answer's findings, one a key, and how many sentences could not be traced."""

    findings: tuple[Finding, ...]
    sentences: int
    untraced: int

    @property
    def untraced_share(self) -> float:
        """Printed beside every share of a pool: what the pool cannot see."""
        return self.untraced / self.sentences if self.sentences else 0.0

    @property
    def keys(self) -> frozenset[str]:
        """Of the findings."""
        return frozenset(f.key for f in self.findings)


def trace(reading: Reading, *, lead: str | None = None, says: float = passage.SAYS) -> Traced:
    """The findings of one run's answer, in the order of their sentences. Worked out once a reading.

    `lead` None is the part that the run's agent declared to lead.
    """
    lead = lead or reading.run.config.lead or FIRST
    key = ("trace", lead, says)
    if key not in reading.memo:
        reading.memo[key] = _traced(reading, lead, says)
    return reading.memo[key]


def _traced(reading: Reading, lead: str, says: float) -> Traced:
    tracer = _Tracer(reading, says)
    leading = leads(reading, lead)
    found: dict[str, Finding] = {}
    untraced = counted = 0
    for unit in reading.units:
        if unit.block in ("heading", "code"):
            continue
        counted += 1
        own = list(tracer.of(unit))
        untraced += not own
        for key, method, ambiguous in own:
            led = unit.i in leading
            before = found.get(key)
            if before is None or (led and not before.led):
                first = before.unit if before else unit.i
                found[key] = Finding(key=key, method=method, unit=first, led=led, ambiguous=ambiguous)
    return Traced(findings=tuple(found.values()), sentences=counted, untraced=untraced)


def leads(reading: Reading, lead: str) -> frozenset[int]:
    """The sentences that lead: the first paragraph, and those under the declared heading (`heading: Next move`)."""
    first = _first_paragraph(reading)
    kind, _, title = lead.partition(":")
    if kind.strip() != "heading":
        return first
    under: set[int] = set()
    inside = False
    for unit in reading.units:
        if unit.block == "heading":
            inside = unit.text.strip(" #*").casefold() == title.strip().casefold()
        elif inside:
            under.add(unit.i)
    return first | under


def _first_paragraph(reading: Reading) -> frozenset[int]:
    units = [u for u in reading.units if u.block not in ("heading", "code")]
    if not units:
        return frozenset()
    end = re.search(r"\n[ \t]*\n", reading.answer[units[0].start :])
    border = units[0].start + end.start() if end else len(reading.answer)
    return frozenset(u.i for u in units if u.start < border)


class _Tracer:
    def __init__(self, reading: Reading, says: float) -> None:
        self._reading = reading
        self._says = says
        self._index = support.Index(seen for seen in reading.seen if seen.source.call >= 0)
        self._passages = passage.of(reading)
        self._registry = names.Registry(reading)

    def of(self, unit: Unit) -> Iterator[tuple[str, Method, bool]]:
        """Keys of the items that this sentence relays."""
        cited = [c.key for c in self._reading.cited if c.unit == unit.i]
        if cited:
            own = self._cited(unit, cited)
            if own:
                for key in own:
                    yield key, "cited", False
                return
        by_figure = list(self._figures(unit))
        if by_figure:
            yield from by_figure
            return
        by_name = self._named(unit)
        if by_name:
            yield by_name, "name", False
            return
        match = self._passages.best(unit.text)
        if match is not None and match.share >= self._says:
            yield match.passage.source.key, "passage", False

    def _cited(self, unit: Unit, cited: Sequence[str]) -> list[str]:
        found: list[str] = []
        for key in dict.fromkeys(cited):
            items = [s.key for s in self._reading.items if s.key == key or s.key.startswith(f"{key}/")]
            match = self._passages.best(unit.text, items) if items else None
            figure = any(seen.source.key in items for f in self._own_figures(unit) for seen in self._index.saying(f))
            if items and (figure or (match is not None and match.share >= CITED)):
                found.append(match.passage.source.key if match is not None else items[0])
        return found

    def _figures(self, unit: Unit) -> Iterator[tuple[str, Method, bool]]:
        near = content.near(unit.text)
        for figure in self._own_figures(unit):
            if figures.is_soft(figure):
                continue
            found = list(self._index.saying(figure))[: support.MOST]
            if not found:
                continue
            key, ambiguous = _one(figure, found, near)
            yield key, "figure", ambiguous

    def _own_figures(self, unit: Unit) -> list[figures.Figure]:
        marks = [(m.start, m.end) for m in self._reading.marks]
        inside = [f for f in self._reading.figures if unit.start <= f.start < unit.end]
        return [f for f in inside if not any(start <= f.start < end for start, end in marks)]

    def _named(self, unit: Unit) -> str:
        """The item that shares most with the sentence among those that name somebody whom the sentence names."""
        parts = {p for name in names.written(self._reading.answer, (unit,)) for p in name.parts}
        if not parts:
            return ""
        keys = {entity.key for entity in self._registry.entities if parts & set(entity.parts)}
        match = self._passages.best(unit.text, keys) if keys else None
        return match.passage.source.key if match is not None and match.share >= CITED else ""


def _one(figure: figures.Figure, found: Sequence[Seen], near: frozenset[str]) -> tuple[str, bool]:
    """The item that shares most words around the figure; on a tie of several items the value itself."""
    best: dict[str, int] = {}
    for seen in found:
        shared = len(near & support.context(seen.source, seen.figure, support.NEAR))
        best[seen.source.key] = max(best.get(seen.source.key, 0), shared)
    most = max(best.values())
    keys = [key for key, shared in best.items() if shared == most]
    return (keys[0], False) if len(keys) == 1 else (f"value:{figure.said}", True)
