"""A corpus in memory: what one case may see, counted as the composer's view of the store counts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ukai.context import score, sections
from ukai.context.item import Item
from ukai.context.layered import Vectors
from ukai.context.render import document, templates
from ukai.context.subject import Subject
from ukai.kit import bm25

if TYPE_CHECKING:
    from numpy.typing import NDArray

Embed = Callable[[Sequence[str]], "NDArray[np.float32]"]


class Counted:
    """Texts counted once, whichever scopes they are in."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, ...], tuple[bytes, bytes, bytes]] = {}

    def of(self, subject: Subject) -> tuple[bytes, bytes, bytes]:
        """Text, title and place, packed."""
        key = (subject.item.id, *(e.id for e in subject.elements))
        if key not in self._known:
            item = subject.item
            place = score.terms(f"{item.path} {item.lead}".replace("/", " "))
            packed = (bm25.packed(_own(subject)), bm25.packed(score.terms(item.title)), bm25.packed(place))
            self._known[key] = packed
        return self._known[key]


class Memory:
    """The units of what is visible, their numbers, and the layout that their documents share."""

    def __init__(self, items: Sequence[Item], *, counted: Counted, embed: Embed | None) -> None:
        self.items = tuple(items)
        self.units = tuple(sections.units(items))
        self.layout = document.Layout(self.units, body=templates.Bodies())
        subjects = [u.subjects[0] for u in self.units]
        packed = [counted.of(s) for s in subjects]
        numbers: dict[str, int] = {}
        group = np.array([numbers.setdefault(s.place, len(numbers)) for s in subjects], np.int32)
        size = np.array([max(1, len(s.item.text)) for s in subjects], np.int32)
        is_part = np.array([s.item.is_part for s in subjects], bool)
        first, last = score.spans(group, size, is_part)
        self.corpus = score.Corpus(
            own=bm25.Packed([p[0] for p in packed]),
            title=bm25.Packed([p[1] for p in packed]),
            place=bm25.Packed([p[2] for p in packed]),
            first=first,
            last=last,
            is_part=is_part,
            size=size,
            group=group,
        )
        self._meaning = None
        if embed and subjects:
            self._meaning = Vectors(score.meaning(self.corpus, embed([said(s) for s in subjects])))

    def scores(self, question: str, embed: Embed | None) -> dict[str, float]:
        """Item id -> how well it answers; the members of a family share theirs."""
        asked = score.asked(question)
        cosines = None
        if embed is not None and self._meaning is not None:
            cosines = [self._meaning.times(v).astype(float) for v in embed(asked)]
        found = score.scores(self.corpus, [score.terms(a) for a in asked], cosines)
        return {u.id: round(float(s), 6) for u, s in zip(self.units, found, strict=True)}


def said(subject: Subject) -> str:
    """The text of a thing that is embedded: its title over its text."""
    item = subject.item
    return f"{item.title}\n{item.text}" if item.title else item.text


def _own(subject: Subject) -> list[str]:
    item = subject.item
    found = [*score.terms(item.lead), *score.terms(item.text)]
    known = set(found)
    for element in subject.elements:  # a text that lists its elements has counted them
        found += [t for t in (*score.terms(element.title), *score.terms(element.text)) if t not in known]
    return found
