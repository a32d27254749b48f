"""A run as the checks read it: its evidence, its answer's sentences and figures, each read once, when asked for.

Evidence is what existed before the answer: items of calls, the question and the as-of date. Figures that were read
when a call was saved are taken from the record; without them they are read here, with the same result.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from functools import cached_property
from typing import Any

from ukai import record
from ukai.kit import figures, sentences, words
from ukai.kit.figures import Calendar, Figure, TimeOfDay
from ukai.measure import content
from ukai.measure.composition import Composition

QUESTION, AS_OF = "question", "as_of"
_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Source:
    """One piece of evidence with its text."""

    key: str
    text: str
    call: int = -1
    """Index of the call that returned it; -1 for the question and the as-of date."""
    item: int = -1
    tool: str = ""
    as_of: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class Seen:
    """A figure of the evidence."""

    source: Source
    figure: Figure


@dataclass(frozen=True, kw_only=True)
class Unit:
    """One sentence of the answer, or one heading, table row or block of code."""

    i: int
    start: int
    end: int
    block: str
    text: str


@dataclass(frozen=True, kw_only=True)
class Cited:
    """That a sentence of the answer names an item as its source."""

    unit: int
    """Index of the sentence."""
    key: str
    start: int
    end: int
    """Of the mark in the text; the sentence's own place when the record alone says it."""


_CITATION = re.compile(r"\[([^\[\]\n]{0,200}[#:][^\[\]\n]{1,300})\](?!\()")


class Reading:
    """One run, read. Two readings of one run say the same."""

    def __init__(self, run: record.Run, compositions: Sequence[Composition] = ()) -> None:
        self.run = run
        self.compositions = tuple(compositions)
        self.memo: dict[Hashable, Any] = {}
        """What checks worked out and other checks need too; kept by `slim`."""

    def slim(self) -> Reading:
        """The same run without the texts of its evidence, for checks over many runs that need only what was read."""
        _ = self.returned
        calls = tuple(
            replace(call, figures=(), items=tuple(replace(item, text="", value=None) for item in call.items))
            for call in self.run.calls
        )
        other = Reading(replace(self.run, calls=calls), self.compositions)
        other.memo = {key: value for key, value in self.memo.items() if key != "passages"}
        return other

    @property
    def returned(self) -> frozenset[str]:
        """What the calls brought, as findings are keyed: keys of items, and `value:1200000` for each figure."""
        if "returned" not in self.memo:
            values = {f"value:{seen.figure.said}" for seen in self.seen if seen.source.call >= 0}
            self.memo["returned"] = frozenset(values | {source.key for source in self.items})
        return self.memo["returned"]

    @property
    def id(self) -> str:
        """The run's id."""
        return self.run.run_id

    @property
    def answer(self) -> str:
        """The text that was sent, empty when none was."""
        return self.run.answer.markdown if self.run.answer else ""

    @cached_property
    def units(self) -> tuple[Unit, ...]:
        """The answer's sentences: as saved, or read now."""
        text = self.answer
        saved = self.run.answer.sentences if self.run.answer else ()
        places = saved or sentences.split(text)
        return tuple(
            Unit(i=i, start=p.start, end=p.end, block=p.block, text=text[p.start : p.end]) for i, p in enumerate(places)
        )

    def unit_at(self, place: int) -> Unit | None:
        """The sentence around a place of the answer."""
        return next((unit for unit in self.units if unit.start <= place < unit.end), None)

    def sentence_at(self, place: int) -> str:
        """Its text; the line when no sentence is there."""
        unit = self.unit_at(place)
        if unit:
            return unit.text
        start = self.answer.rfind("\n", 0, place) + 1
        end = self.answer.find("\n", place)
        return self.answer[start : end if end >= 0 else len(self.answer)].strip()

    @cached_property
    def marks(self) -> tuple[Cited, ...]:
        """Citations as they stand in the text: `[Call#harbor-12/turn/31]`."""
        found: list[Cited] = []
        for match in _CITATION.finditer(self.answer):
            unit = self.unit_at(match.start()) or self._unit_before(match.start())
            if unit is not None:
                found.append(Cited(unit=unit.i, key=match[1].strip(), start=match.start(), end=match.end()))
        return tuple(found)

    def _unit_before(self, place: int) -> Unit | None:
        return next((unit for unit in reversed(self.units) if unit.end <= place), None)

    @cached_property
    def cited(self) -> tuple[Cited, ...]:
        """Every citation, of the record and of the text, once."""
        found = {(mark.unit, mark.key): mark for mark in self.marks}
        for citation in self.run.citations:
            if 0 <= citation.sentence < len(self.units):
                unit = self.units[citation.sentence]
                key = (unit.i, citation.item_key)
                found.setdefault(key, Cited(unit=unit.i, key=citation.item_key, start=unit.start, end=unit.end))
        return tuple(sorted(found.values(), key=lambda c: (c.unit, c.start, c.key)))

    @cached_property
    def figures(self) -> tuple[Figure, ...]:
        """The answer's."""
        return figures.extract(self.answer)

    @cached_property
    def items(self) -> tuple[Source, ...]:
        """What calls returned, in order."""
        return tuple(
            Source(key=item.item_key, text=item.words, call=c, item=i, tool=call.tool, as_of=item.as_of)
            for c, call in enumerate(self.run.calls)
            for i, item in enumerate(call.items)
        )

    @cached_property
    def sources(self) -> tuple[Source, ...]:
        """All evidence: items, question, as-of date."""
        given = [Source(key=QUESTION, text=self.run.question)]
        if self.run.as_of.year > 1:
            given.append(Source(key=AS_OF, text=_spoken(self.run.as_of)))
        return (*self.items, *given)

    @cached_property
    def seen(self) -> tuple[Seen, ...]:
        """All figures of the evidence."""
        return tuple(self._seen())

    def _seen(self) -> Iterator[Seen]:
        saved = [_by_item(call) for call in self.run.calls]
        for source in self.sources:
            kept = saved[source.call] if source.call >= 0 else None
            if kept is None:
                found: tuple[Figure, ...] | list[Figure] = figures.extract(source.text)
            else:
                found = [_figure(f, source.text) for f in kept.get(source.item, ())]
            yield from (Seen(source=source, figure=figure) for figure in found)

    @cached_property
    def words(self) -> frozenset[str]:
        """Every word of the evidence and of its keys, folded, with its ending."""
        return frozenset(word for source in self.sources for word in words.words(f"{source.text} {source.key}"))

    @cached_property
    def stems(self) -> frozenset[str]:
        """Every word of the evidence without its ending."""
        return frozenset(content.stem(word) for word in self.words)


def _by_item(call: record.Call) -> dict[int, list[record.SeenFigure]] | None:
    if call.figures is None:
        return None
    found: dict[int, list[record.SeenFigure]] = {}
    for figure in call.figures:
        found.setdefault(figure.item, []).append(figure)
    return found


def _figure(saved: record.SeenFigure, text: str) -> Figure:
    """The figure that was saved, as `figures.extract` gave it."""
    return Figure(
        saved.start,
        saved.end,
        text[saved.start : saved.end],
        saved.kind,
        _value(saved),
        saved.unit,
        Decimal(saved.ulp),
        saved.approx,
    )


def _value(saved: record.SeenFigure) -> Decimal | Calendar | TimeOfDay:
    """The inverse of `Figure.said`."""
    said = saved.value
    if saved.kind == "time":
        parts = [int(part) for part in said.split(":")]
        return TimeOfDay(parts[0], parts[1], parts[2] if len(parts) > 2 else None)
    if saved.kind not in ("date", "month", "quarter"):
        return Decimal(said)
    year, rest = (None, said[2:]) if said[:2] == "--" else (int(said[:4]), said[5:])
    if rest[:1] == "Q":
        return Calendar(year, quarter=int(rest[1:]))
    month, _, day = rest.partition("-")
    return Calendar(year, int(month) if month else None, int(day) if day else None)


def _spoken(at: datetime) -> str:
    """As a person would write it, so that each part is read as a figure."""
    return f"{at.day} {_MONTHS[at.month - 1]} {at.year:04}"
