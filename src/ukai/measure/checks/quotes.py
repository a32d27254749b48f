"""Check `quotes`: passages in quotation marks that nothing the tools returned holds."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from rapidfuzz import fuzz

from ukai.measure import normal, spec
from ukai.measure.case import Case
from ukai.measure.reading import Reading, Source
from ukai.measure.score import Flag, Look, Score

_QUOTED = re.compile(r"“([^“”\n]{2,2000})”|(?<![\w\"])\"([^\"\n]{2,2000})\"(?!\w)|«([^«»\n]{2,2000})»")
_ELIDED = re.compile(r"\s*(?:\.\.\.|…|\[[^\]\n]{0,80}\])\s*")


@dataclass(frozen=True, kw_only=True)
class Quotes:
    """The check with its parameters."""

    name: ClassVar[str] = "quotes"
    version: ClassVar[int] = 1

    least_words: int = 4
    """Shorter quotations are terms and titles."""
    altered: float = 90.0
    """Partial ratio (rapidfuzz) from which a quotation that does not stand there is one that was changed."""

    def weigh(self, reading: Reading, case: Case | None = None) -> Score:
        """`unquoted`: it stands nowhere. `altered`: nearly so. `elsewhere`: in another item than the one cited."""
        if reading.run.answer is None:
            return Score(check=self.name, spec=spec.written(self), about=(reading.id,), unable="the run has no answer")
        found = list(_quoted(reading.answer, self.least_words))
        evidence = [(source, normal.text(source.text)) for source in reading.sources] if found else []
        flags = [flag for match in found if (flag := self._flag(reading, evidence, *match)) is not None]
        counts = {"quotes": float(len(found))}
        for flag in flags:
            counts[flag.kind] = counts.get(flag.kind, 0.0) + 1
        return Score(check=self.name, spec=spec.written(self), about=(reading.id,), flags=tuple(flags), counts=counts)

    def _flag(
        self, reading: Reading, evidence: list[tuple[Source, str]], start: int, end: int, words: str
    ) -> Flag | None:
        pieces = [piece for piece in map(normal.text, _ELIDED.split(words)) if piece]
        holders = [source for source, text in evidence if all(_holds(text, piece) for piece in pieces)]
        unit = reading.unit_at(start)
        cited = {c.key for c in reading.cited if unit is not None and c.unit == unit.i}
        if holders and (not cited or any(_is_of(source.key, cited) for source in holders)):
            return None
        looked: tuple[Look, ...]
        if holders:
            kind, note = "elsewhere", f"it stands in {holders[0].key}, and {', '.join(sorted(cited))} is cited"
            looked = (Look(key=holders[0].key),)
        else:
            ratio, source = self._closest(" ".join(pieces), evidence)
            kind = "altered" if ratio >= self.altered else "unquoted"
            note = f"nothing holds these words; the closest agrees to {ratio:.0f} of 100"
            looked = (Look(key=source.key),) if source else ()
        return Flag(
            kind=kind,
            words=words,
            start=start,
            end=end,
            gates=kind == "unquoted",
            note=note,
            sentence=reading.sentence_at(start),
            looked=looked,
        )

    def _closest(self, words: str, evidence: list[tuple[Source, str]]) -> tuple[float, Source | None]:
        best: tuple[float, Source | None] = (0.0, None)
        for source, text in evidence:
            ratio = fuzz.partial_ratio(words, text, score_cutoff=best[0]) if len(text) >= len(words) else 0.0
            if ratio > best[0]:
                best = (ratio, source)
        return best


def _quoted(text: str, least: int) -> Iterator[tuple[int, int, str]]:
    for match in _QUOTED.finditer(text):
        group = next(g for g in (1, 2, 3) if match[g] is not None)
        if len(match[group].split()) >= least:
            yield match.start(group), match.end(group), match[group]


def _holds(text: str, piece: str) -> bool:
    """A comma or full stop before the closing mark belongs to the answer's sentence."""
    return piece in text or piece.rstrip(".,;:!?") in text


def _is_of(key: str, cited: set[str]) -> bool:
    return any(key == c or key.startswith(f"{c}/") or c.startswith(f"{key}/") for c in cited)
