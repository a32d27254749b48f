"""Numbers in digits, with what stands around them: sign, currency, scale, percent, the other end of a range; and bare years."""

from __future__ import annotations

import re
from decimal import Decimal

from ukai.kit.figures import value, vocabulary
from ukai.kit.figures.value import Calendar, Draft

_NUMBER = re.compile(
    r"(?<![A-Za-z0-9_])(?<!\d\.)(?:"
    r"(?:(?<![\[,])(?:\d{1,3}(?:,\d{3})++(?![\d,])|\d{1,2}(?:,\d{2})++,\d{3}(?![\d,]))"
    r"|(?<!\d[ ,])\d{1,3}(?:[ ]\d{3})++(?![\d/:-]|[ ]\d|,\d{3})"
    r"|\d++(?:[ ](?=[1357]/[248]\b))?)"
    r"(?:\.\d++)?+(?P<fraction>[1357]/[248]\b(?!/))?(?P<vulgar>[½¼¾⅛⅜⅝⅞])?"
    r"|\.\d++|[½¼¾⅛⅜⅝⅞])"
)
"""`1,234.5`, `12,34,567`, `1 200`, `2 1/2`, `.5`; a stretch of digits is never tried twice."""
_BEFORE = re.compile(
    rf"(?:(?<![\w)%$€£\u2013])(?P<sign>[-+\u2013]))?"
    rf"(?P<currency>(?:(?<![A-Za-z])(?:US|CA|AU|NZ|HK|SG|NT|MX|[CASR]))?\$(?:US)?|[€£¥₹₩₽]|(?<![A-Za-z])(?:{vocabulary.CODE})\.?)?[ ]?"
    rf"(?P<inner>(?<=[$€£¥₹])[-+]|(?<![\w])\()?$",
    re.I,
)
_AFTER = re.compile(
    rf"(?P<close>\))?"
    rf"(?:[ -]?(?P<scale>[tmb]r?illion|thousand|hundred)s?\b|[ ]?(?P<short>mln|mm|mn|bn|trn|tn|k|m|b)(?![A-Za-z0-9]))?"
    rf"(?P<close2>\))?"
    rf"(?:(?:(?:[ ]|-)?(?P<percent>%|per[ ]?cent\b|pct\b))(?:[ -]?(?P<ofpoints>points?\b))?"
    rf"|[ ]?(?P<points>percentage[ ]points?\b|pp\b)|[ ]?(?P<basis>bps\b|basis[ ]points?\b)"
    rf"|(?:[ -]?(?P<money>(?:U\.?S\.?[ ])?dollars?\b|euros?\b|yen\b|yuan\b|rupees\b|€|(?:{vocabulary.CODE})\b))"
    rf"|(?:[ ]?(?P<cents>cents?\b|¢|pence\b)|(?P<p>p\b))|(?P<times>x\b))?(?P<plus>\+)?",
    re.I,
)
_APPROXIMATE = re.compile(rf"(?:\b(?:{vocabulary.APPROXIMATE})[ ](?:the[ ]|an?[ ])?|~[ ]?|≈)$", re.I)
_COUNTRY = re.compile(r"\b(AU|US|NZ|HK|SG|CA)[ ]$")
_MEASURED = re.compile(rf"[ -](?:{vocabulary.TIME_UNITS}|percent|bytes?|tokens?|px|words?)s?\b")
_JOINED = re.compile(r"[ ]?(?:-|\u2013|to|and)[ ]?")
_BETWEEN = re.compile(r"\b(?:between|from)[ ](?:about[ ]|approximately[ ])?[^\d\n]{0,4}$", re.I)
_WORD = re.compile(r"([A-Za-z]+)[ ]$")
_NUMBER_WORDS = set(
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty thirty forty fifty "
    "sixty seventy eighty ninety hundred thousand million".split()
)
_CELL = re.compile(r"(?:\||\t|[ ]{2})[ ]?$")


def read(text: str, taken: bytearray) -> list[Draft]:
    """Every number in digits that is still on the table."""
    found: list[Draft] = []
    for match in _NUMBER.finditer(text):
        start, end = match.span()
        if end - start <= 2 * value.MAX_DIGITS and value.is_free(taken, start, end):
            draft = _draft(text, match, found)
            if draft is not None and value.is_free(taken, draft.start, draft.end):
                value.take(taken, draft.start, draft.end)
                if found:
                    _share(text, found[-1], draft)
                found.append(draft)
    return found


def _draft(text: str, match: re.Match[str], found: list[Draft]) -> Draft | None:
    """The number of `match` with all that belongs to it, or None when it is a marker."""
    start, end = match.span()
    before = _BEFORE.search(text, max(0, start - 8), start)
    after = _AFTER.match(text, end)
    assert before is not None and after is not None  # both can be empty
    draft = Draft(start, end, "number", _mantissa(match))
    if not _unit(draft, text, before, after, end):
        return None
    bare = draft.kind == "number" and draft.scale == 1 and not draft.unit
    opened = before["inner"] == "("
    closed = after.end("close") if after["close"] else after.end("close2") if after["close2"] else -1
    if opened and closed >= 0:
        if bare and _is_marker(text, match, found):
            return None
        if _is_negative(text, before, after, draft, match, found):
            draft.mantissa = -draft.mantissa
    elif "-" in (before["sign"], before["inner"]) or before["sign"] == "\u2013":
        draft.mantissa = -draft.mantissa
    _span(draft, before, after, opened=opened, closed=closed)
    if bare and not before["sign"] and _is_year(text, match):
        return Draft(start, end, "date", when=Calendar(int(match.group())), approx=_is_approximate(text, start, ""))
    draft.approx = _is_approximate(text, draft.start, after["plus"])
    return draft


def _mantissa(match: re.Match[str]) -> Decimal:
    digits = match.group().replace(",", "").replace(" ", "")
    extra = match["fraction"]
    if extra:
        return Decimal(digits.removesuffix(extra)) + Decimal(vocabulary.FRACTIONS.get(extra, "0"))
    if digits[-1] in vocabulary.VULGAR:
        return Decimal(digits[:-1] or "0") + Decimal(vocabulary.VULGAR[digits[-1]])
    return Decimal(digits)


def _unit(draft: Draft, text: str, before: re.Match[str], after: re.Match[str], end: int) -> bool:
    """Scale, kind and unit of `draft`; False when the letters after it make it something else (an ordinal)."""
    glued = text[end : end + 2].lower()
    if glued in vocabulary.ORDINALS and not text[end + 2 : end + 3].isalnum():
        return False
    scale = after["scale"] or after["short"]
    if scale:
        draft.scale = vocabulary.SCALES[scale.lower()]
    currency = before["currency"]
    if after["percent"] or after["points"]:
        draft.kind, draft.unit = "percent", "points" if after["points"] or after["ofpoints"] else "%"
    elif after["basis"]:
        draft.kind, draft.unit, draft.scale = "percent", "points", Decimal("0.01")
    elif currency:
        draft.kind, draft.unit = "money", vocabulary.CURRENCIES[currency.rstrip(".").lower()]
    elif after["money"]:
        draft.kind, draft.unit = (
            "money",
            vocabulary.CURRENCIES[after["money"].lower().replace(".", "").replace("us ", "us ")],
        )
    elif after["cents"] or after["p"]:
        country = _COUNTRY.search(text, max(0, draft.start - 4), draft.start)
        draft.kind, draft.scale = "money", draft.scale / 100
        draft.unit = vocabulary.COUNTRIES[country[1]] if country else vocabulary.CENTS[(after["cents"] or "p").lower()]
    elif after["times"]:
        draft.unit = "x"
    return True


def _span(draft: Draft, before: re.Match[str], after: re.Match[str], *, opened: bool, closed: int) -> None:
    if before["currency"]:
        draft.start = before.start("currency")
    if before["sign"]:
        draft.start = before.start("sign")
    last = max((after.end(name) for name in _TRAILING if after[name]), default=-1)
    draft.end = max(draft.end, last)
    if opened and 0 <= closed < last:
        draft.start = min(draft.start, before.start("inner"))


_TRAILING = ("scale", "short", "percent", "ofpoints", "points", "basis", "money", "cents", "p", "times")


def _is_marker(text: str, match: re.Match[str], found: list[Draft]) -> bool:
    """A whole number alone in parentheses: `(2)`; but not a year, a table's cell, or a number word said again in digits."""
    start, end = match.span()
    if not match.group().isdigit() or _is_year(text, match) or _in_cell(text, start - 1):
        return False
    word = _WORD.search(text, max(0, start - 14), start - 1)
    return word is None or word[1].lower() not in _NUMBER_WORDS


def _is_negative(
    text: str, before: re.Match[str], after: re.Match[str], draft: Draft, match: re.Match[str], found: list[Draft]
) -> bool:
    """Accounting's parentheses, by rule 5 of the definition."""
    start, end = match.span()
    if before["currency"] or (after["close"] and (after["percent"] or after["points"])):
        return True
    if _in_cell(text, start - 1):
        return True
    if draft.kind != "number" or draft.unit or after["scale"] or after["short"]:
        return False
    if not any(c in match.group() for c in ".,"):
        return False
    return not any(_restates(draft.mantissa, other) for other in found[-2:] if start - other.end < 60)


def _restates(mantissa: Decimal, other: Draft) -> bool:
    return other.when is None and mantissa in (other.mantissa, other.mantissa / 100)


def _in_cell(text: str, paren: int) -> bool:
    return _CELL.search(text, max(0, paren - 4), paren) is not None


def _is_year(text: str, match: re.Match[str]) -> bool:
    digits = match.group()
    return (
        len(digits) == 4
        and digits.isdigit()
        and 1900 <= int(digits) <= 2099
        and _MEASURED.match(text, match.end()) is None
    )


def _is_approximate(text: str, start: int, plus: str | None) -> bool:
    return bool(plus) or _APPROXIMATE.search(text, max(0, start - 24), start) is not None


def _share(text: str, first: Draft, last: Draft) -> None:
    """Unit, scale and currency said once hold for both ends of a range."""
    gap = text[first.end : last.start] if last.start - first.end <= 6 else "far"
    if _JOINED.fullmatch(gap) is None or (gap.strip() == "and" and not _opens_range(text, first.start)):
        return
    if first.when is not None or last.when is not None:
        return
    if last.mantissa < 0:  # the dash was no minus
        return
    if first.kind == "number" and not first.unit and last.kind != "number":
        if first.scale in (1, last.scale) and (last.kind == "percent" or text[last.start].isdigit()):
            first.kind, first.unit, first.scale = last.kind, last.unit, last.scale
    elif first.kind == "money" and last.kind == "number" and not last.unit:
        last.kind, last.unit = first.kind, first.unit
    elif first.kind == "number" and last.unit == "x":
        first.unit = "x"
    if (
        first.scale == 1
        and last.scale >= 1000
        and first.kind == last.kind
        and first.mantissa < min(last.mantissa, 1000)
    ):
        first.scale = last.scale


def _opens_range(text: str, start: int) -> bool:
    return _BETWEEN.search(text, max(0, start - 24), start) is not None
