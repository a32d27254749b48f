"""Check `citations`: sentences that cite an item which is not there, or which does not say what it is cited for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from ukai.kit import figures, suggest
from ukai.measure import names, passage, spec, support
from ukai.measure.case import Case
from ukai.measure.reading import Reading, Unit
from ukai.measure.score import Flag, Look, Score


@dataclass(frozen=True, kw_only=True)
class Citations:
    """The check with its parameters."""

    name: ClassVar[str] = "citations"
    version: ClassVar[int] = 1

    says: float = 0.25
    """Share of a sentence's words, weighted by rarity, from which an item says it. Lower than for tracing: the item is
    named, and only has to say it."""

    def weigh(self, reading: Reading, case: Case | None = None) -> Score:
        """`unknown`: no call returned it. `elsewhere`: it says nothing of the sentence, and another item does.
        `misplaced`: a figure of the sentence stands in another item and in none that is cited. These gate. `silent`:
        it says nothing of the sentence, nor does any other; a free wording looks the same to code."""
        if reading.run.answer is None:
            return Score(check=self.name, spec=spec.written(self), about=(reading.id,), unable="the run has no answer")
        flags = tuple(self._flags(reading))
        counts = {"citations": float(len(reading.cited)), "sentences": float(len({c.unit for c in reading.cited}))}
        for flag in flags:
            counts[flag.kind] = counts.get(flag.kind, 0.0) + 1
        return Score(check=self.name, spec=spec.written(self), about=(reading.id,), flags=flags, counts=counts)

    def _flags(self, reading: Reading) -> Iterator[Flag]:
        passages = passage.of(reading)
        index = support.Index(reading.seen)
        for unit in reading.units:
            cited = [c for c in reading.cited if c.unit == unit.i]
            if not cited:
                continue
            text = _plain(reading, unit)
            reached: set[str] = set()
            for citation in cited:
                keys = {source.key for source in reading.items if _is_of(source.key, citation.key)}
                reached |= keys
                if not keys:
                    yield _unknown(reading, unit, citation.key, citation.start, citation.end)
                elif not self._says(reading, passages, index, unit, text, keys):
                    match = passages.best(text)
                    looked = (Look(key=citation.key), *((_look(match),) if match else ()))
                    kind, note = "silent", "the item says nothing of this sentence"
                    if match is not None and match.share >= passage.SAYS:
                        kind, note = "elsewhere", f"{note}; {match.passage.source.key} does"
                    yield _flag(kind, citation.key, citation.start, citation.end, unit, note, looked)
            if reached:
                yield from _misplaced(reading, index, unit, reached)

    def _says(
        self,
        reading: Reading,
        passages: passage.Passages,
        index: support.Index,
        unit: Unit,
        text: str,
        keys: set[str],
    ) -> bool:
        for figure in _figures(reading, unit):
            if any(seen.source.key in keys for seen in index.saying(figure)):
                return True
        match = passages.best(text, keys)
        if match is not None and match.share >= self.says:
            return True
        named = {part for name in names.written(reading.answer, (unit,)) for part in name.parts}
        said = {part for source in reading.items if source.key in keys for part in source.text.casefold().split()}
        return len(named & said) > 1 or (bool(named) and not match and bool(named & said))


def _misplaced(reading: Reading, index: support.Index, unit: Unit, keys: set[str]) -> Iterator[Flag]:
    for figure in _figures(reading, unit):
        said = list(index.saying(figure))
        if not figures.is_hard(figure) or not said or any(s.source.key in keys or s.source.call < 0 for s in said):
            continue
        looked = tuple(
            Look(key=s.source.key, start=s.figure.start, end=s.figure.end, words=s.figure.text) for s in said[:3]
        )
        note = f"{', '.join(sorted(keys))} does not say it; {said[0].source.key} does"
        yield _flag("misplaced", figure.text, figure.start, figure.end, unit, note, looked)


def _figures(reading: Reading, unit: Unit) -> list[figures.Figure]:
    marks = [(m.start, m.end) for m in reading.marks]
    inside = [f for f in reading.figures if unit.start <= f.start < unit.end]
    return [f for f in inside if not any(start <= f.start < end for start, end in marks)]


def _plain(reading: Reading, unit: Unit) -> str:
    """The sentence without its citation marks."""
    text, at = "", unit.start
    for mark in reading.marks:
        if unit.start <= mark.start < unit.end:
            text, at = text + reading.answer[at : mark.start], mark.end
    return text + reading.answer[at : unit.end]


def _is_of(key: str, cited: str) -> bool:
    """A whole record may be cited for its part, and a part for a record that was returned whole."""
    return key == cited or key.startswith(f"{cited}/") or cited.startswith(f"{key}/")


def _unknown(reading: Reading, unit: Unit, key: str, start: int, end: int) -> Flag:
    known = sorted({source.key for source in reading.items})
    near = suggest.suggest(key, known)
    looked = (Look(key=near.name),) if near else ()
    return _flag("unknown", key, start, end, unit, "no call returned an item of this name", looked)


def _flag(kind: str, words: str, start: int, end: int, unit: Unit, note: str, looked: tuple[Look, ...]) -> Flag:
    return Flag(
        kind=kind,
        words=words,
        start=start,
        end=end,
        gates=kind != "silent",
        note=note,
        sentence=unit.text,
        looked=looked,
    )


def _look(match: passage.Match) -> Look:
    found = match.passage
    return Look(key=found.source.key, start=found.start, end=found.end, words=found.words[:200])
