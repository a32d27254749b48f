"""Numbers in digits, with what stands around them: sign, currency, scale, percent, a range's other end; bare years."""

from __future__ import annotations

import re
from decimal import Decimal

from ukai.kit.figures import value, vocabulary
from ukai.kit.figures.value import Calendar, Draft

_CODES = "|".join(vocabulary.CODES)
_NUMBER = re.compile(
    rf"""
    [\d.½¼¾⅛⅜⅝⅞]
    (?: (?<![A-Za-z0-9_].) | (?<=\d[dhm].) | (?<=(?:{_CODES}).) | (?<=RM.) | (?<=Rs.) ) (?<!\d\..)
    (?: (?<=\d)
        (?: (?<![\[,].) (?:\d{{0,2}}(?>(?:,\d{{3}})+)|\d?(?:,\d{{2}}){{1,8}},\d{{3}}) (?!\d|,\d)
          | (?<!\d[ ,].) \d{{0,2}}(?>(?:[ ]\d{{3}})+) (?![\d/:-]|[ ]\d|,\d{{3}})
          | \d*+ (?:[ ](?=[1357]/[248]\b(?!/)))? )
        (?>(?:\.\d++)?) (?P<fraction>[1357]/[248]\b(?!/))? [½¼¾⅛⅜⅝⅞]?
      | (?<=\.)\d++ | (?<=[½¼¾⅛⅜⅝⅞]) )
    """,
    re.X,
)
"""`1,234.5`, `12,34,567`, `1 200`, `2 1/2`, `2½`, `.5`; a stretch of digits is never tried twice."""
_BEFORE = re.compile(
    rf"""
    (?: (?<![\w)%$€£\u2013]) (?P<sign>[-+\u2013]) )?
    (?: (?P<currency> (?:(?<![A-Za-z])(?:US|CA|AU|NZ|HK|SG|NT|MX|[CASR]))?\$(?:US)? | [€£¥₹₩₽]
                    | (?<![A-Za-z])(?:{vocabulary.CODE})\.? ) [ ]? )?
    (?P<inner> (?<=[$€£¥₹])[-+] | (?<!\w)\( )? $
    """,
    re.X | re.I,
)
_AFTER = re.compile(
    rf"""
    (?P<close>\))?
    (?: [ -]?(?P<scale>[tmb]r?illion|thousand|hundred)s?\b | [ ]?(?P<short>mln|mm|mn|bn|trn|tn|k|m|b)(?![A-Za-z0-9]) )?
    (?P<late_close>\))?
    (?: [ -]?(?P<percent>%|per[ ]?cent\b|pct\b) (?P<of_points>[ -]?points?\b)?
      | [ ]?(?P<points>percentage[ ]points?\b|pp\b)
      | [ ]?(?P<basis>bps\b|basis[ ]points?\b)
      | [ -]?(?P<money>(?:U\.?S\.?[ ])?dollars?\b|euros?\b|yen\b|yuan\b|rupees?\b|€|(?:{vocabulary.CODE})\b)
      | [ ]?(?P<cents>cents?\b|¢|pence\b) | (?P<pence>p\b)
      | (?P<times>x\b) )?
    (?P<plus>\+)?
    """,
    re.X | re.I,
)
_LEADS = set("-+\u2013($€£¥₹₩₽.")
_ENDS = {"", ",", ";", "]", "}", '"', "\n", "|", ":"}
_OWN = ("scale", "short", "percent", "of_points", "points", "basis", "money", "cents", "pence", "times")
"""The groups of `_AFTER` that become part of the figure."""
_APPROXIMATE = re.compile(rf"(?:\b(?:{vocabulary.APPROXIMATE})[ ](?:the[ ]|an?[ ])?|~[ ]?)$", re.I)
_APPROXIMATE_ENDS = {
    *(choice.rsplit("[ ]")[-1].replace("\\.?", "") for choice in vocabulary.APPROXIMATE.split("|")),
    *("approx.", "the", "a", "an", "~"),
}
_COUNTRY = re.compile(r"\b(AU|US|NZ|HK|SG|CA)[ ]$")
_MEASURED = re.compile(rf"[ -](?:{vocabulary.TIME_UNITS}|percent|bytes?|tokens?|px|words?)s?\b")
_JOINED = re.compile(r"[ ]?(?:-|\u2013|to|and)[ ]?")
_BETWEEN = re.compile(r"\bbetween[ ](?:about[ ]|approximately[ ])?$", re.I)
_WORD = re.compile(r"([A-Za-z]+)[ ]$")
_COUNTING = re.compile(
    r"(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\w+teen|\w+ty|hundred)", re.I
)
_CELL = re.compile(r"(?:\||\t|[ ]{2})[ ]?$")
_RESTATED_WITHIN = 60


def _empty(pattern: re.Pattern[str]) -> re.Match[str]:
    match = pattern.search("")
    if match is None:
        raise AssertionError(f"{pattern.pattern!r} must match nothing at all")
    return match


_EMPTY_BEFORE, _EMPTY_AFTER = _empty(_BEFORE), _empty(_AFTER)


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
    """The number of `match` with all that belongs to it, or None when it is an ordinal or a marker."""
    start, end = match.span()
    if text[end : end + 2].lower() in vocabulary.ORDINALS and not text[end + 2 : end + 3].isalnum():
        return None
    before, after = _around(text, start, end)
    draft = Draft(start, end, "number", _mantissa(match))
    _give_unit(draft, text, before, after)
    bare = draft.kind == "number" and draft.scale == 1 and not draft.unit
    if bare and not before["sign"] and _is_year(text, match):
        draft.kind, draft.when = "date", Calendar(int(match.group()))
    elif before["inner"] == "(" and (after["close"] or after["late_close"]):
        if bare and _is_marker(text, match):
            return None
        if _is_negative(text, before, after, match) and not _restates(draft, found, start):
            draft.mantissa = -draft.mantissa
    elif before["sign"] in ("-", "\u2013") or before["inner"] == "-":
        draft.mantissa = -draft.mantissa
    if draft.when is None:
        _stretch(draft, before, after)
    draft.approx = bool(after["plus"]) or _is_approximate(text, draft.start)
    return draft


def _around(text: str, start: int, end: int) -> tuple[re.Match[str], re.Match[str]]:
    """What stands before and after; where one character tells that it is nothing, no pattern is asked."""
    last = text[start - 1 : start] or " "
    if last == " ":
        last = text[start - 2 : start - 1] or " "
    leads = last.isalpha() or last in _LEADS
    before = _BEFORE.search(text, max(0, start - 8), start) if leads else None
    after = _AFTER.match(text, end) if text[end : end + 1] not in _ENDS else None
    return before or _EMPTY_BEFORE, after or _EMPTY_AFTER


def _is_approximate(text: str, start: int) -> bool:
    tail = text[max(0, start - 24) : start]
    if tail.endswith("~"):
        return True
    words = tail.split()
    return bool(words) and words[-1].lower() in _APPROXIMATE_ENDS and _APPROXIMATE.search(tail) is not None


def _mantissa(match: re.Match[str]) -> Decimal:
    digits = match.group().replace(",", "").replace(" ", "")
    extra = match["fraction"]
    if extra:
        return Decimal(digits.removesuffix(extra)) + Decimal(vocabulary.FRACTIONS.get(extra, "0"))
    if digits[-1] in vocabulary.VULGAR:
        return Decimal(digits[:-1] or "0") + Decimal(vocabulary.VULGAR[digits[-1]])
    return Decimal(digits)


def _give_unit(draft: Draft, text: str, before: re.Match[str], after: re.Match[str]) -> None:
    scale, currency = after["scale"] or after["short"], before["currency"]
    if scale:
        draft.scale = vocabulary.SCALES[scale.lower()]
    if after["percent"] or after["points"]:
        draft.kind, draft.unit = "percent", "points" if after["points"] or after["of_points"] else "%"
    elif after["basis"]:
        draft.kind, draft.unit, draft.scale = "percent", "points", Decimal("0.01")
    elif currency:
        draft.kind, draft.unit = "money", vocabulary.CURRENCIES[currency.rstrip(".").lower()]
    elif after["money"]:
        name = after["money"].lower().replace(".", "")
        draft.kind, draft.unit = "money", vocabulary.CURRENCIES.get(name) or vocabulary.CURRENCIES[name.rstrip("s")]
    elif after["cents"] or after["pence"]:
        country = _COUNTRY.search(text, max(0, draft.start - 4), draft.start)
        draft.kind, draft.scale = "money", draft.scale / 100
        cents = vocabulary.CENTS[(after["cents"] or "p").lower()]
        draft.unit = vocabulary.COUNTRIES[country[1]] if country else cents
    elif after["times"]:
        draft.unit = "x"


def _stretch(draft: Draft, before: re.Match[str], after: re.Match[str]) -> None:
    """Sign, currency, scale and unit are part of the figure; parentheses are when some of it stands behind them."""
    parts = [before.start(name) for name in ("sign", "currency") if before[name]]
    last = max((after.end(name) for name in _OWN if after[name]), default=-1)
    closed = after.end("close") if after["close"] else after.end("late_close")
    if before["inner"] == "(" and 0 <= closed < last:
        parts.append(before.start("inner"))
    draft.start = min([draft.start, *parts])
    draft.end = max(draft.end, last)


def _is_marker(text: str, match: re.Match[str]) -> bool:
    """A whole number alone in parentheses: `(2)`; but not a table's cell, or a number word said again in digits."""
    start = match.start()
    if not match.group().isdigit() or _in_cell(text, start - 1):
        return False
    word = _WORD.search(text, max(0, start - 14), start - 1)
    return word is None or _COUNTING.fullmatch(word[1]) is None


def _is_negative(text: str, before: re.Match[str], after: re.Match[str], match: re.Match[str]) -> bool:
    """Accounting's parentheses, by rule 5 of the definition."""
    if before["currency"] or (after["close"] and (after["percent"] or after["points"])):
        return True
    if _in_cell(text, match.start() - 1):
        return True
    alone = after["close"] and not after["scale"] and not after["short"]
    return bool(alone) and any(c in match.group() for c in ".,")


def _restates(draft: Draft, found: list[Draft], start: int) -> bool:
    """`30% or higher (.3)`."""
    near = [other for other in found[-2:] if other.when is None and start - other.end < _RESTATED_WITHIN]
    return any(draft.mantissa in (other.mantissa, other.mantissa / 100) for other in near)


def _in_cell(text: str, paren: int) -> bool:
    return _CELL.search(text, max(0, paren - 4), paren) is not None


def _is_year(text: str, match: re.Match[str]) -> bool:
    digits = match.group()
    is_one = len(digits) == 4 and digits.isdigit() and 1900 <= int(digits) <= 2099
    return is_one and _MEASURED.match(text, match.end()) is None


def _share(text: str, first: Draft, last: Draft) -> None:
    """Unit, scale and currency said once hold for both ends of a range."""
    gap = text[first.end : last.start] if last.start - first.end <= 6 else ""
    if first.when is not None or last.when is not None or last.mantissa < 0 or not _JOINED.fullmatch(gap):
        return
    if gap.strip() == "and" and not _BETWEEN.search(text, max(0, first.start - 24), first.start):
        return
    if first.kind == "number" and not first.unit and last.kind != "number":
        if last.kind == "percent" or text[last.start].isdigit():  # a currency before the second end is its own
            first.kind, first.unit = last.kind, last.unit
            first.scale = last.scale if last.scale < 1 else first.scale
    elif first.kind == "money" and last.kind == "number" and not last.unit:
        last.kind, last.unit = first.kind, first.unit
    elif first.kind == "number" and last.unit == "x":
        first.unit = "x"
    # Not `$900,000 to $1.2 million`: the smaller end comes first.
    if first.scale == 1 and last.scale >= 1000 and first.kind == last.kind and first.mantissa < last.mantissa:
        first.scale = last.scale
