"""Which passage of the evidence a sentence says again: the share of its content words, weighted by rarity.

A passage is three sentences of one item, or the item where it has no more. Thresholds: docs/design/measure.md.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import log

from ukai.kit import sentences
from ukai.measure import content
from ukai.measure.reading import Reading, Source

WINDOW = 3
SAYS = 0.4
"""Weighted share of a sentence's words from which a passage says it (research: 60 % traced, 0.8 % wrongly)."""
SHORT = 400
"""An item of so many characters is one passage and is not split."""


@dataclass(frozen=True, kw_only=True)
class Passage:
    """Where it stands."""

    source: Source
    start: int
    end: int

    @property
    def words(self) -> str:
        """Its text."""
        return self.source.text[self.start : self.end]


@dataclass(frozen=True, kw_only=True)
class Match:
    """A passage and how much of a sentence it holds."""

    passage: Passage
    share: float


class Passages:
    """The passages of some evidence, with an index of their words."""

    def __init__(self, sources: Sequence[Source]) -> None:
        self._sources = sources

    @cached_property
    def _passages(self) -> list[Passage]:
        return [passage for source in self._sources for passage in _passages(source)]

    @cached_property
    def _places(self) -> dict[str, list[int]]:
        places: dict[str, list[int]] = defaultdict(list)
        for number, passage in enumerate(self._passages):
            for term in content.terms(passage.words):
                places[term].append(number)
        return places

    def best(self, sentence: str, within: Iterable[str] | None = None) -> Match | None:
        """The passage that holds most of `sentence`, the first of equals; of the items with these keys, if given."""
        wanted = content.terms(sentence)
        if not wanted:
            return None
        keys = None if within is None else set(within)
        shares: dict[int, float] = defaultdict(float)
        total = 0.0
        for term in sorted(wanted):
            weight = self._rarity(term)
            total += weight
            for number in self._places.get(term, ()):
                if keys is None or self._passages[number].source.key in keys:
                    shares[number] += weight
        if not shares:
            return None
        number = min(shares, key=lambda n: (-round(shares[n], 9), n))
        return Match(passage=self._passages[number], share=shares[number] / total)

    def _rarity(self, term: str) -> float:
        """Words that no passage holds weigh as the rarest do."""
        return log(1 + len(self._passages) / (1 + len(self._places.get(term, ())))) + 1e-6


def of(reading: Reading) -> Passages:
    """The passages of a run's items, indexed once for all checks."""
    if "passages" not in reading.memo:
        reading.memo["passages"] = Passages(reading.items)
    return reading.memo["passages"]


def _passages(source: Source) -> list[Passage]:
    if len(source.text) <= SHORT:
        return [Passage(source=source, start=0, end=len(source.text))]
    units = sentences.split(source.text)
    if len(units) <= WINDOW:
        return [Passage(source=source, start=0, end=len(source.text))]
    return [
        Passage(source=source, start=units[i].start, end=units[i + WINDOW - 1].end)
        for i in range(len(units) - WINDOW + 1)
    ]
