"""Texts that stand in a document almost word for word already: the second one is told by what differs (context E6).

A page that was copied, a policy and its next version. Nothing is lost: `as NAME; instead of «..»: «..»; after «..»:
«..»; without «..»` says all of it in its order, since the sentences in which two versions differ may be the answer, and
the same sentences in another order may say the opposite. A text with a sentence in it twice is told in full: «..» would
name two places.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher

from ukai.context import structure
from ukai.context.sections import Unit

SHORT = 200
"""Characters; a shorter text is told again."""
SHARED = 0.8
"""Of both texts, by characters of sentences that they have in common."""
LATEST = 40
"""So many texts of the same place that came in last are looked at."""


def told(unit: Unit, other: Unit, name: str) -> str:
    """In place of the text of `unit`: how it differs from that of the other one, which is called `name`."""
    its, own = _sentences(other.item.text), _sentences(unit.item.text)
    return "; ".join([f"{structure.AS}{name}", *_changes(its, own)])


def _changes(its: Sequence[str], own: Sequence[str]) -> Iterator[str]:
    for kind, start, end, here, until in SequenceMatcher(None, its, own, autojunk=False).get_opcodes():
        gone, new = _quoted(its[start:end]), _quoted(own[here:until])
        if kind == "replace":
            yield f"{structure.INSTEAD}{gone}: {new}"
        elif kind == "delete":
            yield f"{structure.LESS}{gone}"
        elif kind == "insert":
            yield f"{structure.AFTER}{_quoted(own[here - 1 : here])}: {new}" if here else f"{structure.FIRST}{new}"


def _quoted(sentences: Sequence[str]) -> str:
    return f"«{' … '.join(sentences)}»"


class Texts:
    """The prose that stands in full in one document so far."""

    def __init__(self) -> None:
        self._equal: dict[str, Unit] = {}
        self._at: dict[str, list[tuple[Unit, list[str], frozenset[str]]]] = {}
        """Place -> the texts there, by their sentences."""
        self._known: dict[str, tuple[tuple[bool, int], Unit | None]] = {}
        """Unit id -> what was near it in this state: it is asked for several times before one comes in."""

    def state(self, unit: Unit) -> tuple[bool, int]:
        """What `near` depends on beside the unit: while it is the same, the same is near."""
        return unit.item.text in self._equal, len(self._at.get(unit.place, ()))

    def near(self, unit: Unit) -> Unit | None:
        """A text that is the same anywhere, or almost the same in the same place."""
        known, now = self._known.get(unit.id), self.state(unit)
        if known is None or known[0] != now:
            known = self._known[unit.id] = (now, self._near(unit) if any(now) else None)
        return known[1]

    def _near(self, unit: Unit) -> Unit | None:
        if not _is_prose(unit):
            return None
        equal = self._equal.get(unit.item.text)
        if equal is not None:
            return equal if equal.id != unit.id else None
        own = _sentences(unit.item.text)
        once = frozenset(own)
        there = [t for t in self._at.get(unit.place, ())[-LATEST:] if not once.isdisjoint(t[2]) and t[0].id != unit.id]
        if not there:
            return None
        other, its, theirs = max(there, key=lambda t: _length(once & t[2]))
        wanted = SHARED * max(_length(own), _length(its))
        is_clear = len(once) == len(own) and len(theirs) == len(its) and _length(once & theirs) >= wanted
        return other if is_clear and _in_order(its, own) >= wanted else None

    def add(self, unit: Unit) -> None:
        """It stands in full."""
        if _is_prose(unit) and self._equal.setdefault(unit.item.text, unit) is unit:
            own = _sentences(unit.item.text)
            self._at.setdefault(unit.place, []).append((unit, own, frozenset(own)))


def _is_prose(unit: Unit) -> bool:
    first = unit.subjects[0]
    return len(first.item.text) >= SHORT and not first.item.is_part and not first.elements


def _in_order(its: Sequence[str], own: Sequence[str]) -> int:
    """Characters of the sentences that both have in the same order."""
    same = SequenceMatcher(None, its, own, autojunk=False).get_matching_blocks()
    return sum(_length(its[m.a : m.a + m.size]) for m in same)


def _sentences(text: str) -> list[str]:
    return [s for line in text.split("\n") for s in line.split(". ") if s]


def _length(sentences: Iterable[str]) -> int:
    return sum(map(len, sentences))
