"""What a question is about by name: an answer from evidence that never names it would be about something else."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ukai.kit import words

_TOKEN = re.compile(r"[^\s\"“”()\[\],;:?!]+")
_QUOTED = re.compile(r"[\"“]([^\"“”]{2,80})[\"”]")
_OPENERS = words.listed("""
    how what when where which who whom whose why is are was were do does did has have had can could should would will
    may might must shall am list show tell give find explain describe summarise summarize compare name please any
    read open check get see look search
""")
_CALENDAR = words.listed("""
    monday tuesday wednesday thursday friday saturday sunday january february march april may june july august
    september october november december christmas easter q1 q2 q3 q4 today yesterday tomorrow
""")
_COMMON = words.listed("i ok eur usd gbp url id pdf csv api ai it hr ceo cfo cto vat")
"""Capitals that name a kind of thing, not one thing."""


def names(question: str) -> tuple[str, ...]:
    """The proper names, quoted words, identifiers and figures of `question`, as written, each once.

    Words in capitals count, and words with digits. The first word of a sentence counts when a second capital follows.
    Days and months do not count: evidence writes them as dates. A question in small letters has no names, and then
    only the ranking decides.
    """
    found: list[str] = [quoted.strip() for quoted in _QUOTED.findall(question)]
    raws = _TOKEN.findall(_QUOTED.sub(" ", question))
    tokens = [re.sub(r"['’]s\Z", "", raw.strip(".'’-–—/")) for raw in raws]
    for i, token in enumerate(tokens):
        opens = i == 0 or raws[i - 1].endswith(".")
        follows = (
            i + 1 < len(tokens) and not raws[i].endswith(".") and tokens[i + 1].istitle() and _is_name(tokens[i + 1])
        )
        if _is_name(token) and (not opens or not token.istitle() or (follows and token.casefold() not in _OPENERS)):
            found.append(token)
    return tuple(dict.fromkeys(found))


def without(question: str, asked: Iterable[str]) -> str:
    """`question` with its names left out: what is asked, whoever it is about. All of it when nothing else remains."""
    bare = question
    for name in sorted(asked, key=len, reverse=True):
        bare = re.sub(rf"(?<!\w){re.escape(name)}(?:['’]s)?(?!\w)", " ", bare)
    bare = " ".join(bare.split())
    return bare if words.terms(bare) else question


def _is_name(token: str) -> bool:
    plain = token.casefold()
    if not token or plain in _CALENDAR or plain in _COMMON:
        return False
    return "#" in token or any(c.isdigit() or c.isupper() for c in token)


def mentions(name: str, folded: str, stems: frozenset[str]) -> bool:
    """Whether a text names `name`; the text comes folded and as the set of its stems.

    Every word of the name has to be there; an abbreviation is met by words with those initials.
    """
    parts = words.words(name)
    if not parts:
        return name.casefold() in folded
    if all(words.stem(part) in stems or part in stems for part in parts):
        return True
    if name.isupper() and name.isalpha() and 2 <= len(name) <= 6:
        return _initials(name.casefold(), words.words(folded))
    return False


def _initials(letters: str, all_words: list[str]) -> bool:
    firsts = "".join(word[0] for word in all_words)
    return letters in firsts


def missing(asked: Iterable[str], text: str) -> list[str]:
    """Those of `asked` that `text` never mentions."""
    folded, stems = text.casefold(), frozenset(words.stem(w) for w in words.words(text))
    return [name for name in asked if not mentions(name, folded, stems)]
