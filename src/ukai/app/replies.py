"""What fits into one reply: long values page by page, long reports with their best lines (context E8, req. 33)."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ukai.context import making
from ukai.kit import canonical

AT_ONCE = 200_000
"""Characters that are looked at for one page; more fit nowhere."""
LISTS = ("ranking", "dropped")
"""Of a report, best first: their ends are left off where it is too long."""
BESIDE = ("found", "shown")
"""Of a report, what its ranking says too: left off as a whole."""


@dataclass(frozen=True, kw_only=True)
class Page:
    """A piece of a long value."""

    text: str
    after: int
    """Characters that stand before it."""
    characters: int
    """Of the whole."""

    @property
    def next(self) -> int | None:
        """Where the next page begins; None behind the last."""
        end = self.after + len(self.text)
        return end if end < self.characters else None

    def as_json(self) -> dict[str, Any]:
        """Plain JSON without the text."""
        return {"after": self.after, "characters": self.characters} | ({"next": self.next} if self.next else {})


def page(text: str, *, after: int, fits: Callable[[str], bool]) -> Page:
    """The longest piece of `text` behind `after` that surely fits; nothing of the text is lost between pages."""
    begin = max(0, min(after, len(text)))
    piece = text[begin : begin + AT_ONCE]
    while len(piece) > 1 and not fits(piece):
        piece = piece[: len(piece) * 3 // 4]
    return Page(text=piece, after=begin, characters=len(text))


def within(tokens: int) -> Callable[[str], bool]:
    """Whether a text has at most so many tokens."""
    return lambda text: making.counter().count(text) <= tokens


def fitting(found: Mapping[str, Any], *, fits: Callable[[str], bool]) -> dict[str, Any]:
    """A composition with its report, or with as much of the report as fits; `left_off` counts what does not."""
    made = dict(found)
    if "report" not in found or fits(_written(made)):
        return made
    report = {k: v for k, v in found["report"].items() if k not in BESIDE}
    keep = max(len(report[name]) for name in LISTS)
    while keep and not fits(_written(made)):
        keep //= 2
        left_off = {name: max(0, len(report[name]) - keep) for name in LISTS}
        made = {**found, "report": {**report, **{n: report[n][:keep] for n in LISTS}, "left_off": left_off}}
    return made


def _written(made: Mapping[str, Any]) -> str:
    return json.dumps(made, ensure_ascii=False, default=canonical.shown)
