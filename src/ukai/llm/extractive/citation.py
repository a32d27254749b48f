"""How a quoted answer is written, and read back: one line a quote, its citation behind it.

- “Our legal people want the data processing addendum first.” [Call#harbor-12/turn/31]
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_LINE = re.compile(r"^- “(?P<text>.*)” \[(?P<cite>[^\[\]\n]+)\]$", re.MULTILINE)
_LOOKALIKE = re.compile(r"\[(?=[^\[\]\s]*[#:][^\[\]\s]*\])([^\[\]]*)\]")


@dataclass(frozen=True, kw_only=True)
class Quote:
    """One line of an answer."""

    text: str
    """As the source has it; runs of white space are one space."""
    cite: str
    """A handle (`Call#harbor-12/turn/31`), or a call of this turn (`tool:NAME/2`; its 5th entry: `tool:NAME/2/5`)."""


def line(quote: Quote) -> str:
    """The quote as a line. Brackets inside it that look like citations become round: only ours are ours."""
    return f"- “{quotable(quote.text)}” [{quote.cite}]"


def quotable(text: str) -> str:
    """`text` on one line, without anything that reads as a citation."""
    return _LOOKALIKE.sub(r"(\1)", " ".join(text.split()))


def quotes(answer: str) -> tuple[Quote, ...]:
    """The quotes of an answer of `extractive`, in order."""
    return tuple(Quote(text=m["text"], cite=m["cite"]) for m in _LINE.finditer(answer))
