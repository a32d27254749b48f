"""Which content words two texts share: the strict reading behind the questions named `paraphrase-`.

A content word is a word of letters or digits that is no stop word and no name of a customer, a contact or a colleague
(a question has to say whom it is about). Two words count as one when their stems are equal, or when both have at least
five letters and begin with the same five.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

STOP = frozenset(
    re.findall(
        r"\w+",
        """
        a about after again all also am an and any are as at be because been before being both but by can could
        did do does doing done each else every few for from had has have having he her here hers him his how i
        if in into is it its just like may me might more most much must my no nor not now of off on once one
        only or other our ours out over own per please same shall she should so some still such than that the
        their theirs them then there these they this those through to too under until up upon us very was we
        were what when where which while who whom whose why will with without would yes yet you your yours
        harbor
        """,
    )
)
_SUFFIXES = ("ations", "ation", "ments", "ment", "ingly", "ings", "ing", "ions", "ion", "edly", "ies", "ied", "ers")
_SHORT = ("er", "ed", "es", "ly", "al", "s", "e", "y")


def names(records: Iterable[dict[str, Any]]) -> frozenset[str]:
    """The single words of all names of customers, contacts and colleagues, in lower case."""
    kinds = ("Account", "Person", "Teammate")
    return frozenset(
        word for made in records if made["type"] in kinds for word in _split(made["fields"]["name"]) if word not in STOP
    )


def shared(one: str, other: str, apart_from: frozenset[str]) -> set[str]:
    """Content words of `one` that `other` holds, too."""
    theirs = _content(other, apart_from)
    return {word for word in _content(one, apart_from) if any(_same(word, their) for their in theirs)}


def _content(text: str, apart_from: frozenset[str]) -> set[str]:
    return {w for w in _split(text) if w not in STOP and w not in apart_from}


def _split(text: str) -> list[str]:
    return re.findall(r"[a-z0-9]+", text.lower().replace("'s", "").replace("’s", ""))


def _same(one: str, other: str) -> bool:
    return _stem(one) == _stem(other) or (min(len(one), len(other)) >= 5 and one[:5] == other[:5])


def _stem(word: str) -> str:
    for suffix in (*_SUFFIXES, *_SHORT):
        if word.endswith(suffix) and len(word) - len(suffix) >= 3:
            word = word[: -len(suffix)]
            break
    return word[:-1] if len(word) > 3 and word[-1] == word[-2] else word
