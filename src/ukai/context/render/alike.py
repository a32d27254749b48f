"""Texts that stand in a document almost word for word already: the second one is told by what differs (context E6).

A page that was copied, a policy and its next version. Nothing is lost: `as NAME; also: ..; without: ..` says all of it,
since the sentences in which two versions differ may be the answer.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ukai.context.sections import Unit

SHORT = 200
"""Characters; a shorter text is told again."""
SHARED = 0.8
"""Of both texts, by characters of sentences that they have in common."""
LATEST = 40
"""So many texts of the same place that came in last are looked at."""


@dataclass(frozen=True, kw_only=True)
class Near:
    """How a text differs from one that stands there."""

    also: tuple[str, ...] = ()
    without: tuple[str, ...] = ()

    def told(self, name: str) -> str:
        """In place of the text; `name` is what the other one is called."""
        more = f"; also: {' … '.join(self.also)}" if self.also else ""
        less = f"; without: {' … '.join(self.without)}" if self.without else ""
        return f"as {name}{more}{less}"


def between(unit: Unit, other: Unit) -> Near:
    """How the text of `unit` differs from that of the other."""
    own, its = _sentences(unit.item.text), _sentences(other.item.text)
    return Near(also=tuple(s for s in own if s not in its), without=tuple(s for s in its if s not in own))


@dataclass(kw_only=True)
class Texts:
    """The prose that stands in full in one document so far."""

    _equal: dict[str, Unit] = field(default_factory=dict[str, Unit])
    _at: dict[str, list[tuple[Unit, dict[str, None]]]] = field(
        default_factory=dict[str, list[tuple[Unit, dict[str, None]]]]
    )
    """Place -> the texts there, by their sentences."""

    def near(self, unit: Unit) -> Unit | None:
        """A text that is the same anywhere, or almost the same in the same place."""
        if not _is_prose(unit):
            return None
        equal = self._equal.get(unit.item.text)
        if equal is not None:
            return equal if equal.id != unit.id else None
        there = [t for t in self._at.get(unit.place, ())[-LATEST:] if t[0].id != unit.id]
        if not there:
            return None
        own = _sentences(unit.item.text)
        other, its = max(there, key=lambda t: _length(own.keys() & t[1].keys()))
        shared = _length(own.keys() & its.keys())
        return other if shared >= SHARED * max(_length(own), _length(its)) else None

    def add(self, unit: Unit) -> None:
        """It stands in full."""
        if _is_prose(unit) and self._equal.setdefault(unit.item.text, unit) is unit:
            self._at.setdefault(unit.place, []).append((unit, _sentences(unit.item.text)))


def _is_prose(unit: Unit) -> bool:
    first = unit.subjects[0]
    return len(first.item.text) >= SHORT and not first.item.is_part and not first.elements


def _sentences(text: str) -> dict[str, None]:
    return dict.fromkeys(s for line in text.split("\n") for s in line.split(". ") if s)


def _length(sentences: object) -> int:
    return sum(map(len, sentences))  # type: ignore[arg-type]
