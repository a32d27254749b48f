"""A text cut into what can be quoted: lines of a list or of a speaker, and sentences in them."""

from __future__ import annotations

import re

_BLOCK = re.compile(r"\n\s*\n|\n(?=\s*(?:[-*•#|>]|\d+[.)]\s))")
_END = re.compile(r"(?<=[.!?…])[\"'”’)\]]*\s+(?=[\"'“‘(\[]?[A-Z0-9ÄÖÜÉÈÀ€$])")
_NO_END = re.compile(
    r"(?:\b(?:Mr|Mrs|Ms|Dr|Prof|St|No|Nos|vs|etc|approx|e\.g|i\.e|cf|Inc|Ltd|Co|Corp"
    r"|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sep|Oct|Nov|Dec)|\b[A-Z])\.\Z"
)
_MARK = re.compile(r"^\s*(?:[-*•>]\s+|#{1,6}\s+|\d+[.)]\s+)")
LONGEST = 500
"""Characters of one quote; what is longer is cut at a word and says so."""


def split(text: str) -> list[str]:
    """The sentences of `text` in order, each on one line, without list marks. Nothing is reworded."""
    found: list[str] = []
    for block in _BLOCK.split(text):
        line = _MARK.sub("", " ".join(block.split()))
        start = 0
        for end in _END.finditer(line):
            if _NO_END.search(line[start : end.start()]):
                continue
            found.append(line[start : end.start()] + line[end.start() : end.end()].rstrip())
            start = end.end()
        found.append(line[start:])
    return [_shortened(s) for s in found if re.search(r"\w", s)]


def _shortened(sentence: str) -> str:
    if len(sentence) <= LONGEST:
        return sentence
    return sentence[:LONGEST].rsplit(" ", 1)[0] + " …"
