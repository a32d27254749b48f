"""Names that merely contain digits: addresses, identifiers, versions, standards, list markers, footnotes.

Patterns here scan the whole text, so each is written to stay linear: possessive repeats, bounded ones, or a first
character that ends the same pattern's earlier attempt. Where one can, it begins with its first character and looks
behind only then: the engine jumps to such characters instead of asking at every place. A group that must not give back
is atomic, `(?>(?:..)*)`: Python 3.11 before 3.11.5 matches a possessive repeat of a group wrongly.
"""

from __future__ import annotations

import re

from ukai.kit.figures import value, vocabulary

_SCANS = (
    # Addresses of pages, link targets, tags.
    re.compile(r"(?<![A-Za-z0-9+.-])[A-Za-z][A-Za-z0-9+.-]{1,20}+://[^\s<>\"')\]]*+"),
    re.compile(r"\]\([^\s()]*+(?>(?:\([^\s()]*+\)[^\s()]*+){0,8})\)"),
    re.compile(r"<[A-Za-z/!][^<>\n]{0,1000}+>"),
    # Inline code, unless a bare figure stands in it.
    re.compile(r"`(?=[A-Za-z_/.<])[^`\n]{1,300}+`"),
    # Telephone numbers.
    re.compile(r"\+\d{1,3}[ -]\(?\d{3}\)?[-. ]?\d{3}[-. ]\d{4}(?!\w)"),
    re.compile(r"\(\d{3}\)[ ]?\d{3}[-.]\d{4}(?!\w)"),
    re.compile(r"\d(?<![\w.$€£]\d)\d\d(?:([-. ])\d{3}\1|[ ]\d{3}-)\d{4}(?!\w)"),
    # Footnotes, but not the arrays of JSON.
    re.compile(
        r"\[(?<![:\[{=]\[)(?<![:\[{=] \[)(?<![\"\d\]}],\[)(?<![\"\d\]}], \[)"
        r"\^?\d{1,4}(?>(?:[ ]?[,;\u2013-][ ]?\d{1,4}){0,20})\]"
    ),
    # Line starts: list markers; numbers of headings and notes (`15 Financial risk management`).
    re.compile(r"(?m)^[ \t>]{0,16}(?>(?:[-*+#_]{1,6}[ \t]{1,4}|\*\*)?)(?:\(\d{1,3}\)|\d{1,3}[.)])(?=[ \t*_])"),
    re.compile(rf"(?m)^\d{{1,2}}(?=[ ](?!(?:{vocabulary.CAPITAL_MONTH})\b)[A-Z][a-z]{{1,20}}(?:[ ][a-z(]|[ ]*$))"),
    re.compile(r"[Nn](?<!\w[Nn])os?\.[ ]?\d{1,6}\b"),
    re.compile(r"#[ ]?\d{1,9}\b"),
    re.compile(r"\d\d\d?\([a-z]\)"),
)

_TOKEN = re.compile(
    r"(?<![A-Za-z0-9_])(?<![A-Za-z0-9_][-./@#])"
    r"(?>(?:[A-Za-z_]++[-./@#]?+)*)\d\w*+"
    r"(?>(?:(?:[-./@#]|(?<=\d):(?=\d)|,(?=\d{3}(?!\d)))\w++)*)",
    re.A,
)
"""A run of word characters with a digit in it, joined by what joins names. It starts only where no run before it ended,
so that no character is tried twice."""

_N = r"(?:\d{1,3}(?:,\d{3})+|\d{1,30})(?:\.\d{1,30})?"
_UNIT = r"[A-Za-z]{1,5}"
_CLOCK = r"\d{1,2}:\d\d?(?::\d\d(?:\.\d+)?)?"
_PLAIN = re.compile(rf"(?:\d{{1,3}}(?:,\d{{3}})+(?:\.\d{{1,30}})?|\d{{1,30}}\.\d{{1,30}})(?:/{_N})?|{_N}|\.\d{{1,30}}")
_FIGURES = re.compile(
    rf"""
    (?P<head>{_CLOCK}|{_N}) (?P<unit>{_UNIT})?
    (?: - (?P<tail>{_CLOCK}|{_N}) (?P<unit2>{_UNIT})? )?
    (?: [-/] (?!\d) (?P<word>[A-Za-z][\w'-]*(?:/[A-Za-z]+)?) )?
    """,
    re.X,
)
_DATES = re.compile(
    r"\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|-?\d\d(?::?\d\d)?)?)?"
    r"|\d{4}/\d{1,2}/\d{1,2}|\d{1,2}/\d{1,2}/(?:\d{4}|\d\d)|\d{1,2}[.-]\d{1,2}[.-]\d{4}|\d{4}-(?:0[1-9]|1[0-2])"
    r"|\d{1,2}(?:st|nd|rd|th)?-[A-Za-z]{3,9}-\d{2,4}"
)
_DURATION = re.compile(r"(?>(?:\d{1,4}(?:d|hr|h|min|ms|m|s))+)")
_CALENDAR = re.compile(
    r"(?:(?:FY|CY)?(?:\d{4}|\d\d)?[-/]?Q[1-4](?:[-/]?(?:FY|CY)?(?:\d{4}|\d\d)|-Q[1-4])?|[1-4]Q(?:\d{4}|\d\d)?"
    r"|(?:FY|CY)-?(?:\d{4}|\d\d)|[1-4](?:st|nd|rd|th)[-/]quarter)"
)
_PREFIXED = re.compile(
    rf"""
    (?: (?:mid|pre|post|sub|non|ex|early|late|since|circa)- | (?:{vocabulary.CODE})\.?
      | (?:{vocabulary.CAPITAL_MONTH})[-.] )
    {_N} (?P<unit>{_UNIT})?
    """,
    re.X | re.I,
)
_FILINGS = {"k", "q", "f", "d"}

_BEFORE = re.compile(r"(?<![A-Za-z])([A-Za-z][A-Za-z&]{1,11})\.?[ ](?:[Nn]o\.?[ ])?$")
_NUMBERED = re.compile(
    r"\d{1,6}[A-Za-z]?(?>(?:[.:/-]\d{1,5}){0,4})"
    rf"(?![\w%]|[.,]\d|[ ]%|[ -](?:per|percent|[mb]illion|thousand|dollars|points|(?:{vocabulary.TIME_UNITS})s?)\b)"
    r"(?>(?:(?:,[ ]|,?[ ](?:and|or|to|through|&)[ ]|[ ]?[-\u2013&/][ ]?)\d{1,4}\b(?![.,]\d|[ ]?%)){0,12})"
)
_COUNTED = re.compile(r"[ ](?!(?:is|was|has|as|this|does|its|plus|versus)\b)[a-z]{2,20}s\b")


def mark(text: str, taken: bytearray) -> None:
    """Take every name off the table."""
    for scan in _SCANS:
        for match in scan.finditer(text):
            value.take(taken, *match.span())
    for match in _TOKEN.finditer(text):
        start, end = match.span()
        token = match.group()
        if _is_name(text, start, token):
            value.take(taken, start, end)
        elif token[0].isdigit() and (named := _after_label(text, start)):
            value.take(taken, start, named)


def _is_name(text: str, start: int, token: str) -> bool:
    if token.isdigit():
        return len(token) > value.MAX_DIGITS
    if text[start - 1 : start] in ("/", "\\", "@", "#"):
        return True
    return not _states(token.strip("_./-@#")) and not _is_mixed_fraction(text, start, token)


def _states(token: str) -> bool:
    """Whether a token with digits and other characters states figures rather than naming something."""
    if len(token) > 2 * value.MAX_DIGITS:
        return False
    if any(shape.fullmatch(token) for shape in (_PLAIN, _DATES, _CALENDAR, _DURATION)):
        return True
    if prefixed := _PREFIXED.fullmatch(token):
        return _are_units(prefixed["unit"])
    match = _FIGURES.fullmatch(token)
    if match is None or not _are_units(match["unit"], match["unit2"]):
        return False
    word = match["word"]
    if word and (word.lower() in _FILINGS or any(c.isdigit() for c in word)):
        return False
    return not (":" in match["head"] and _is_ratio(match["head"]))


def _are_units(*glued: str | None) -> bool:
    return all(unit is None or unit.lower() in vocabulary.GLUED for unit in glued)


def _is_ratio(token: str) -> bool:
    """`1:1` and `1666:1666` are no clock times."""
    hour, minute, *_ = token.split(":")
    return int(hour) > 24 or (len(minute) == 1 and minute != "0") or int(minute) > 59


def _is_mixed_fraction(text: str, start: int, token: str) -> bool:
    """`1/2` in `2 1/2`."""
    return token in vocabulary.FRACTIONS and start >= 2 and text[start - 2].isdigit() and text[start - 1] == " "


def _after_label(text: str, start: int) -> int | None:
    """Where the name ends when the number at `start` belongs to the word before it: `Note 12`, `Levels 1 and 2`."""
    if start < 2 or text[start - 1] != " " or not (text[start - 2].isalpha() or text[start - 2] == "."):
        return None  # the same answer as below, sooner
    before = _BEFORE.search(text, max(0, start - 18), start)
    if before is None or not is_label(before[1]):
        return None
    number = _NUMBERED.match(text, start)
    if number is None or (len(number.group()) == 4 and number.group()[:2] in ("19", "20")):
        return None
    # `track 5 metrics` counts, `Track 5` and `in week 5` name.
    if before[1].islower() and _COUNTED.match(text, number.end()):
        return None
    return number.end()


def is_label(word: str) -> bool:
    """Whether a number after `word` is part of a name."""
    low = word.lower()
    return word in vocabulary.STANDARDS or low in vocabulary.LABELS or low.removesuffix("s") in vocabulary.LABELS
