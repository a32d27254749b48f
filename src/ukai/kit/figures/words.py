"""Number words: `twenty-five`, `a hundred and twenty`, `two and a half million`, `half a million`, `a dozen`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal

from ukai.kit.figures import names, value, vocabulary
from ukai.kit.figures.value import Draft

_SMALL = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen".split()
_UNITS = {word: i for i, word in enumerate(_SMALL)}
_TENS = {word: 10 * i for i, word in enumerate("twenty thirty forty fifty sixty seventy eighty ninety".split(), 2)}
_SCALES = {"thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
_WORDS = sorted([*_UNITS, *_TENS, *_SCALES, "hundred", "dozen"], key=len, reverse=True)
_ANY = "|".join(_WORDS)
_BIG = "|".join([*_SCALES, "hundred", "dozen"])

_PHRASE = re.compile(
    rf"(?<![A-Za-z0-9_'])(?:half[ ]an?[ ](?={_BIG})|an?[ ](?={_BIG}))?(?:{_ANY})(?![A-Za-z0-9_])"
    rf"(?:(?:[ ]|-|[ ]and[ ])(?:{_ANY})(?![A-Za-z0-9_])|[ ]and[ ]a[ ]half\b){{0,30}}+",
    re.I,
)
_TOKEN = re.compile(r"[a-z]+", re.I)
_AFTER = re.compile(
    rf"[ -]?(?:(?P<percent>%|per[ ]?cent\b)(?P<ofpoints>[ ]points?\b)?|(?P<points>percentage[ ]points?\b)|(?P<basis>basis[ ]points?\b)"
    rf"|(?P<money>(?:U\.?S\.?[ ])?dollars?\b|euros?\b)|(?P<cents>cents?\b|pence\b))|[ -](?P<time>(?:{vocabulary.TIME_UNITS})s?\b)",
    re.I,
)
_FRACTION = re.compile(
    r"-quarters?\b|-hal(?:f|ves)\b|[ -](?:third|fifth|sixth|seventh|eighth|ninth|tenth|hundredth|thousandth)s?\b", re.I
)
_APPROXIMATE = re.compile(rf"\b(?:{vocabulary.APPROXIMATE})[ ]$", re.I)
_BEFORE = re.compile(r"(?<![A-Za-z])([A-Za-z][A-Za-z&]{1,11})[ ]$")


def read(text: str, taken: bytearray) -> list[Draft]:
    """Every number word that is still on the table."""
    found: list[Draft] = []
    for match in _PHRASE.finditer(text):
        if not value.is_free(taken, *match.span()):
            continue
        for start, end, number, scaled in _numbers(match.group(), match.start()):
            draft = _draft(text, start, end, number, scaled)
            if draft is not None:
                value.take(taken, draft.start, draft.end)
                found.append(draft)
    return found


def _draft(text: str, start: int, end: int, number: Decimal, scaled: bool) -> Draft | None:
    after = _AFTER.match(text, end)
    if text[start:end].lower() == "one" and after is None:
        return None  # a pronoun far more often than a figure
    if _FRACTION.match(text, end):
        return None
    before = _BEFORE.search(text, max(0, start - 14), start)
    if before is not None and names.is_label(before[1]) and (after is None or after["time"] is None):
        return None
    draft = Draft(start, end, "number", number, exact=not scaled)
    if scaled:
        draft.mantissa, draft.scale = number / 1000, Decimal(1000)
    draft.approx = _APPROXIMATE.search(text, max(0, start - 16), start) is not None
    if after is not None and not after["time"]:
        draft.end = after.end()
        if after["money"]:
            draft.kind, draft.unit = "money", "EUR" if after["money"].lower().startswith("euro") else "USD"
        elif after["cents"]:
            draft.kind, draft.scale = "money", draft.scale / 100
            draft.unit = vocabulary.CENTS[after["cents"].lower()]
        else:
            draft.kind, draft.unit = "percent", "%" if after["percent"] and not after["ofpoints"] else "points"
            draft.scale = draft.scale / 100 if after["basis"] else draft.scale
    return draft


def _numbers(phrase: str, at: int) -> Iterator[tuple[int, int, Decimal, bool]]:
    """The numbers of a run of number words: `two hundred and five` is one, `five and ten` are two."""
    total = group = Decimal(0)
    last = ""  # what the number so far ends with: "", unit, tens, hundred, scale
    limit = 10**15
    start = end = 0
    scaled = joined = False
    half = False
    for token in _TOKEN.finditer(phrase):
        word = token.group().lower()
        if word in ("a", "an", "half"):
            if word == "half" and last and joined:
                group, end, last = group + Decimal("0.5"), token.end(), "half"
            elif not last:
                half = half or word == "half"
                start = token.start() if not half or word == "half" else start
            continue
        if word == "and":
            joined = True
            continue
        fits = _fits(word, last, limit, joined)
        if not fits and last:
            yield at + start, at + end, total + group, scaled
            total = group = Decimal(0)
            limit, scaled, last, half = 10**15, False, "", False
        if not last and not half and word not in ("hundred", "dozen", *_SCALES):
            start = token.start()
        elif not last and not half and not phrase[start : token.start()].strip().lower().startswith(("a", "an")):
            start = token.start()
            joined = False
            continue  # `million` alone is no number
        if word in _UNITS:
            group, last = group + _UNITS[word], "unit"
        elif word in _TENS:
            group, last = group + _TENS[word], "tens"
        elif word in ("hundred", "dozen"):
            factor = Decimal("0.5") if half and not last else group or Decimal(1)
            group, last = factor * (100 if word == "hundred" else 12), "hundred"
        else:
            factor = Decimal("0.5") if half and not last else group or Decimal(1)
            total, group, limit, last, scaled = total + factor * _SCALES[word], Decimal(0), _SCALES[word], "scale", True
        end, joined = token.end(), False
    if last:
        yield at + start, at + end, total + group, scaled


def _fits(word: str, last: str, limit: int, joined: bool) -> bool:
    """Whether `word` continues a number that ends with `last`."""
    if not last:
        return True
    if word in _SCALES:
        return not joined and last != "scale" and _SCALES[word] < limit
    if word in ("hundred", "dozen"):
        return not joined and last == "unit"
    if joined and last not in ("hundred", "scale"):
        return False
    if word in _TENS:
        return last in ("hundred", "scale")
    return last in ("hundred", "scale") or (last == "tens" and 1 <= _UNITS[word] <= 9)
