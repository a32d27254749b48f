"""Number words: `twenty-five`, `a hundred and twenty`, `two and a half million`, `half a million`, `a dozen`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

from ukai.kit.figures import names, value, vocabulary
from ukai.kit.figures.value import Draft

_UNITS = {
    "zero": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9,
    "ten": 10, "eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14, "fifteen": 15, "sixteen": 16,
    "seventeen": 17, "eighteen": 18, "nineteen": 19,
}  # fmt: skip
_TENS = {
    "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90,
}  # fmt: skip
_GROUPS = {"hundred": 100, "dozen": 12}
_SCALES = {"thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
_BIG = "|".join([*_GROUPS, *_SCALES])
_ANY = "|".join(sorted([*_UNITS, *_TENS, *_GROUPS, *_SCALES], key=len, reverse=True))

_PHRASE = re.compile(
    rf"""
    (?<![A-Za-z0-9_']) (?: half[ ]an?[ ](?={_BIG}) | an?[ ](?={_BIG}) )? (?:{_ANY}) (?![A-Za-z0-9_])
    (?>(?: (?:[ ]|-|[ ]and[ ])(?:{_ANY})(?![A-Za-z0-9_]) | [ ]and[ ]a[ ]half\b ){{0,30}})
    """,
    re.X | re.I,
)
_TOKEN = re.compile(r"half an?|and a half|and|an?|[a-z]+", re.I)
_AFTER = re.compile(
    rf"""
    [ -]?(?: (?P<percent>%|per[ ]?cent\b)(?P<of_points>[ ]points?\b)? | (?P<points>percentage[ ]points?\b)
           | (?P<basis>basis[ ]points?\b) | (?P<money>(?:U\.?S\.?[ ])?dollars?\b|euros?\b)
           | (?P<cents>cents?\b|pence\b) )
    | [ -](?P<time>(?:{vocabulary.TIME_UNITS})s?\b)
    """,
    re.X | re.I,
)
_FRACTION = re.compile(
    r"-quarters?\b|[ -]hal(?:f|ves)\b|[ -](?:third|fifth|sixth|seventh|eighth|ninth|tenth)s?\b", re.I
)
_APPROXIMATE = re.compile(rf"\b(?:{vocabulary.APPROXIMATE})[ ]$", re.I)
_BEFORE = re.compile(r"(?<![A-Za-z])([A-Za-z][A-Za-z&]{1,11})[ ]$")


def read(text: str, taken: bytearray) -> list[Draft]:
    """Every number word that is still on the table."""
    found: list[Draft] = []
    for match in _PHRASE.finditer(text):
        if value.is_free(taken, *match.span()):
            for number in _numbers(match.group()):
                draft = _draft(text, match.start() + number.start, match.start() + number.end, number)
                if draft is not None and value.is_free(taken, draft.start, draft.end):
                    value.take(taken, draft.start, draft.end)
                    found.append(draft)
    return found


@dataclass(slots=True)
class _Number:
    """A number while its words come in."""

    start: int
    end: int
    total: Decimal = Decimal(0)
    """What its scales have closed: the 2,000 of `two thousand and five`."""
    group: Decimal = Decimal(0)
    """What the next scale would multiply."""
    last: str = ""
    """What it ends with: article, unit, tens, group, half or scale."""
    scale: int = 10**15
    """The smallest scale so far; the next one is smaller."""

    @property
    def is_scaled(self) -> bool:
        """Whether a scale word rounds it."""
        return self.scale < 10**15

    def takes(self, word: str, *, joined: bool) -> bool:
        """Whether `word` (after an `and`, when `joined`) continues this number."""
        if word in _SCALES:
            return not joined and self.last != "scale" and _SCALES[word] < self.scale
        if word in _GROUPS:
            return not joined and self.last in ("unit", "article")
        if word == "and a half":
            return self.last in ("unit", "tens")
        if self.last in ("group", "scale"):
            return True
        return not joined and self.last == "tens" and 1 <= _UNITS.get(word, 0) <= 9

    def add(self, word: str, end: int) -> None:
        """One more word that `takes` allowed."""
        self.end = end
        if word in _SCALES:
            self.total, self.group = self.total + self.group * _SCALES[word], Decimal(0)
            self.scale, self.last = _SCALES[word], "scale"
        elif word in _GROUPS:
            self.group, self.last = self.group * _GROUPS[word], "group"
        elif word == "and a half":
            self.group, self.last = self.group + Decimal("0.5"), "half"
        else:
            self.group += _UNITS.get(word, _TENS.get(word, 0))
            self.last = "unit" if word in _UNITS else "tens"


def _numbers(phrase: str) -> Iterator[_Number]:
    """The numbers of a run of number words: `two hundred and five` is one, `five and ten` are two."""
    number: _Number | None = None
    joined = False
    for token in _TOKEN.finditer(phrase):
        word = token.group().lower()
        if word == "and":
            joined = True
            continue
        if number is not None and number.takes(word, joined=joined):
            number.add(word, token.end())
        else:
            if number is not None and number.last != "article":
                yield number
            number = _begun(word, *token.span())
        joined = False
    if number is not None and number.last != "article":
        yield number


def _begun(word: str, start: int, end: int) -> _Number | None:
    """A number that starts with `word`; a lone `million` or `and a half` starts none."""
    if word in ("a", "an"):
        return _Number(start, end, group=Decimal(1), last="article")
    if word.startswith("half"):
        return _Number(start, end, group=Decimal("0.5"), last="article")
    if word in _UNITS or word in _TENS:
        number = _Number(start, end)
        number.add(word, end)
        return number
    return None


def _draft(text: str, start: int, end: int, number: _Number) -> Draft | None:
    after = _AFTER.match(text, end)
    if text[start:end].lower() == "one" and after is None:
        return None  # a pronoun far more often than a figure
    if _FRACTION.match(text, end) or _is_numbered(text, start, after):
        return None
    total = number.total + number.group
    draft = Draft(start, end, "number", total, exact=not number.is_scaled)
    if number.is_scaled:
        draft.mantissa, draft.scale = total / 1000, Decimal(1000)
    draft.approx = _APPROXIMATE.search(text, max(0, start - 16), start) is not None
    if after is not None and not after["time"]:
        draft.end = after.end()
        _give_unit(draft, after)
    return draft


def _is_numbered(text: str, start: int, after: re.Match[str] | None) -> bool:
    """`week two`, `Phase One`."""
    before = _BEFORE.search(text, max(0, start - 14), start)
    return before is not None and after is None and names.is_label(before[1])


def _give_unit(draft: Draft, after: re.Match[str]) -> None:
    if after["money"]:
        draft.kind, draft.unit = "money", "EUR" if after["money"].lower().startswith("euro") else "USD"
    elif after["cents"]:
        draft.kind, draft.scale = "money", draft.scale / 100
        draft.unit = vocabulary.CENTS[after["cents"].lower()]
    else:
        draft.kind, draft.unit = "percent", "%" if after["percent"] and not after["of_points"] else "points"
        draft.scale = draft.scale / 100 if after["basis"] else draft.scale
