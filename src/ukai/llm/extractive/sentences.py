"""A text cut into what can be quoted, each on one line."""

from __future__ import annotations

import re

from ukai.kit import sentences

LONGEST = 500
"""Characters of one quote; what is longer is cut at a word and says so."""


def split(text: str) -> list[str]:
    """The sentences of `text` in order. Nothing is reworded; runs of white space become one space."""
    found = [" ".join(text[s.start : s.end].split()) for s in sentences.split(text)]
    return [_shortened(sentence) for sentence in found if re.search(r"\w", sentence)]


def _shortened(sentence: str) -> str:
    if len(sentence) <= LONGEST:
        return sentence
    return sentence[:LONGEST].rsplit(" ", 1)[0] + " …"
