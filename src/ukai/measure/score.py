"""What a check says: flags with words, place and the evidence looked at, counts, and why it could not say more."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Look:
    """One place of the evidence that a flag speaks of."""

    key: str
    """The item's key, `question`, `as_of`, or the name of another part of the run."""
    start: int = 0
    end: int = 0
    """Into the item's words; equal where the item as a whole was looked at."""
    words: str = ""

    def as_json(self) -> dict[str, Any]:
        """Plain."""
        return {"key": self.key, "start": self.start, "end": self.end, "words": self.words}


@dataclass(frozen=True, kw_only=True)
class Flag:
    """One thing that a check points at."""

    kind: str
    """What is wrong with it, in the check's own words: `invented`, `weak`, `unquoted`, `residue`."""
    words: str
    """Exactly as they stand."""
    start: int
    end: int
    """Into the answer, unless `part` names another text."""
    gates: bool
    """Whether it counts against the run; the others are reported and followed over time."""
    note: str = ""
    """Why, in one sentence."""
    sentence: str = ""
    """The whole sentence around it, for the reader."""
    looked: tuple[Look, ...] = ()
    """The nearest evidence, best first; empty when nothing came near."""
    part: str = "answer"
    """The text that `start` and `end` point into: `answer`, `call c3`, `original`."""

    def as_json(self) -> dict[str, Any]:
        """Plain, in a fixed order."""
        return {
            "kind": self.kind,
            "words": self.words,
            "part": self.part,
            "start": self.start,
            "end": self.end,
            "gates": self.gates,
            "note": self.note,
            "sentence": self.sentence,
            "looked": [look.as_json() for look in self.looked],
        }


@dataclass(frozen=True, kw_only=True)
class Score:
    """What one check says about one run, or about several together."""

    check: str
    spec: Mapping[str, Any]
    """The check as it was asked, enough to ask it again."""
    about: tuple[str, ...]
    """Ids of the runs or records."""
    flags: tuple[Flag, ...] = ()
    counts: Mapping[str, float] = field(default_factory=dict[str, float])
    """Numbers by name; the check's page says what each is."""
    details: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Tables: per tool, per rule, per version."""
    unable: str = ""
    """Why the check could not be made on this run; then it has no opinion, which is not the same as no flag."""

    @property
    def is_flagged(self) -> bool:
        """Whether something counts against the run."""
        return any(flag.gates for flag in self.flags)

    def as_json(self) -> dict[str, Any]:
        """Plain, in a fixed order, counts and details sorted by name."""
        document: dict[str, Any] = {
            "check": self.check,
            "about": list(self.about),
            "flagged": self.is_flagged,
            "flags": [flag.as_json() for flag in self.flags],
            "counts": {name: number(self.counts[name]) for name in sorted(self.counts)},
        }
        if self.details:
            document["details"] = dict(sorted(self.details.items()))
        return document | ({"unable": self.unable} if self.unable else {})


def number(value: float) -> float | int:
    """A number as it is printed: whole ones whole, others to six places."""
    rounded = round(value, 6)
    return int(rounded) if rounded == int(rounded) else rounded


def tally(flags: Iterable[Flag]) -> dict[str, float]:
    """How many flags of each kind."""
    counts: dict[str, float] = {}
    for flag in flags:
        counts[flag.kind] = counts.get(flag.kind, 0) + 1
    return counts
