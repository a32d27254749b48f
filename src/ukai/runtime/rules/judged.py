"""What a rule made of a text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ukai import record
from ukai.runtime.guardrail import Guardrail

Span = tuple[int, int]


@dataclass(frozen=True, kw_only=True)
class Judged:
    """Where the rule fires, or why it cannot tell."""

    fires: bool = False
    spans: tuple[Span, ...] = ()
    """Of the text, in order and apart; empty where the rule fires on the whole."""
    failure: str = ""
    """Why it could not be decided; `fires` then says nothing."""
    is_provoked: bool = False
    """The text itself kept it from being decided: it is then held back, whatever the rule's failure policy is."""


@dataclass(frozen=True, kw_only=True)
class Text:
    """What a rule reads: the question, or the answer with the run that it would end."""

    words: str
    sealed: Callable[[str], record.Run] | None = None
    """Of an answer: the run as it would be with these words, so that code may hold them against their sources."""


Decide = Callable[[Guardrail, Text], Judged]


def at(spans: list[Span]) -> Judged:
    """Fires at these places, if there are any; those that touch are one."""
    joined: list[Span] = []
    for start, end in sorted(spans):
        if start >= end:
            continue
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return Judged(fires=bool(joined), spans=tuple(joined))
