"""Dates, months, quarters, fiscal years and clock times. Bare years are read with the numbers, in `amounts`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import date

from ukai.kit.figures import value, vocabulary
from ukai.kit.figures.value import Calendar, Draft, TimeOfDay

_MONTH = rf"(?:{vocabulary.CAPITAL_MONTH})"
_S = r"(?:[ \t]{1,3}\n?[ \t]{0,3}|\n)"  # within a figure a line may wrap, a paragraph may not end
_DAY = r"\d{1,2}(?!\d)"
_YEAR = r"(?:[12]\d{3}|'\d\d)(?!\d|[.,]\d)"
_FISCAL = r"(?:fiscal(?:[ ]year)?|Fiscal(?:[ ][Yy]ear)?|FISCAL(?:[ ]YEAR)?|calendar[ ]year|financial[ ]year|FY|CY)"
_ORDINAL = {"first": 1, "1st": 1, "second": 2, "2nd": 2, "third": 3, "3rd": 3, "fourth": 4, "4th": 4}
_MINUTES = r":(?:[0-5]\d(?::[0-5]\d(?:\.\d{1,6})?)?|0)"
_HALF = r"(?:[ap]\.m\.|[ap]m\b)"

# Where one can, a pattern begins with its first character and looks behind only then: the engine jumps to such
# characters instead of asking at every place. `read` sees to it that no match begins inside a word.
_ISO = re.compile(
    r"(\d(?<!-\d)\d{3})([-/])(\d{1,2})\2(\d{1,2})(?!\d)"
    r"(?:T(?P<time>\d\d:\d\d(?::\d\d)?)(?:\.\d{1,9})?Z?(?!\d))?"
)
_NUMERIC = re.compile(r"(\d(?<![/.-]\d)\d?)([/.-])(\d{1,2})\2(\d{4}|\d{2})(?![\d/-])")
_MONTH_DAY = re.compile(
    rf"""
    (?P<month>{_MONTH}) \b\.? {_S} (?P<day>{_DAY}) (?:st|nd|rd|th)?
    (?: [ ]?(?:[-\u2013]|to|and)[ ]? (?P<last>{_DAY}(?![ ]?(?:%|{_MONTH}|[mb]illion|[ap]m))) (?:st|nd|rd|th)? )?
    (?: ,?{_S}(?:of[ ])? (?P<year>{_YEAR}) )?
    (?![\w%]|,\d{{3}}|\.\d) (?!{_S}(?:[mb]illion|thousand|percent)\b)
    """,
    re.X,
)
_DAY_MONTH = re.compile(
    rf"""
    (?P<first>\d(?<![.,]\d)\d?)(?!\d) (?:st|nd|rd|th)?
    (?: [ ]?[-\u2013][ ]? (?P<last>{_DAY}) (?:st|nd|rd|th)? )? (?:{_S}|-) (?:of[ ])? (?P<month>{_MONTH}) \b\.?
    (?: (?:,?{_S}|-) (?P<year>{_YEAR}|(?<=-)\d\d(?!\d)) )?
    """,
    re.X,
)
_MONTH_YEAR = re.compile(rf"(?P<month>{_MONTH})\b(?:[.,]?{_S}(?:of[ ])?|[-/])(?P<year>{_YEAR})")
_ISO_MONTH = re.compile(r"(?P<year>[12](?<!-[12])\d{3})-(?P<month>0[1-9]|1[0-2])(?![\d-])")
_LONE_MONTH = re.compile(rf"{_MONTH}\b(?![ ]?[-'])")
_NAMES_A_MONTH = re.compile(
    r"\b(?:in|of|by|since|until|through|from|to|this|last|next|early|late|mid|during|before|after)[ -]$", re.I
)
_QUARTER_WORDS = re.compile(
    rf"""
    (?P<q>first|second|third|fourth|First|Second|Third|Fourth|1st|2nd|3rd|4th) [ -] (?:fiscal[ ])? [Qq]uarters?\b
    (?: {_S}(?:(?:of|in|for){_S})?(?:the{_S})?(?:{_FISCAL}[ ]?)? (?P<year>{_YEAR}|(?<=FY)\d\d(?!\d)) )?
    """,
    re.X,
)
_QUARTER = re.compile(
    r"""
    [Q1-4] (?: (?<=Q)(?P<q>[1-4]) | (?<=(?P<q2>[1-4]))Q )
    (?: (?: [ ]?[-/][ ]? | [ ]?(?:of[ ])?(?:fiscal[ ](?:year[ ])?)? ) (?:FY|CY)?[ ]?'?
        (?P<year>[12]\d{3}|(?<=[FC]Y)\d\d|(?<=')\d\d|(?<=Q)\d\d|(?<=Q[1-4]-)\d\d) )?
    (?![A-Za-z0-9])
    """,
    re.X,
)
_YEAR_BEFORE = re.compile(r"(?<![A-Za-z0-9])(?:(?:FY|CY)[ ]?(?P<fiscal>\d{4}|\d\d)?|(?P<year>[12]\d{3}|'?\d\d))[ -]?$")
_FISCAL_YEAR = re.compile(rf"{_FISCAL}[ ]?-?(?P<year>{_YEAR}|(?<=Y)\d\d(?!\d)|(?<=Y )\d\d(?!\d))(?!\w)")
_TIME_RANGE = re.compile(
    rf"""
    (?P<a> \d(?<![:.,$]\d)\d? (?:{_MINUTES}(?!\d))? ) [ ]?(?:[-\u2013]|to)[ ]?
    (?P<b> \d{{1,2}} (?:{_MINUTES}(?!\d))? ) [ ]?(?P<half>{_HALF})
    """,
    re.X | re.I,
)
_TIME = re.compile(
    rf"""
    (?P<a> \d(?<![:.,$]\d)\d? (?:(?=:)(?P<minutes>{_MINUTES})(?!\d))? )
    (?: [ ]?(?P<half>{_HALF}) | (?(minutes)|(?!)) ) (?![:\d])
    """,
    re.X | re.I,
)


def read(text: str, taken: bytearray) -> list[Draft]:
    """Everything of the calendar and the clock, taken off the table as it is found."""
    found: list[Draft] = []
    for pattern, drafts in _READERS:
        for match in pattern.finditer(text):
            start, end = match.span()
            # A quarter may touch its year (`FY22Q3`): its reader looks for itself.
            inside_word = start > 0 and text[start - 1].isalnum() and pattern is not _QUARTER
            if inside_word or not value.is_free(taken, start, end):
                continue
            if pattern in _NUMERALS:
                value.take(taken, start, end)  # `30/60/90` is no date and no three numbers either
            for draft in drafts(match):
                if pattern in _NUMERALS or value.is_free(taken, draft.start, draft.end):
                    value.take(taken, draft.start, draft.end)
                    found.append(draft)
    return found


def _iso(match: re.Match[str]) -> Iterator[Draft]:
    yield from _day(match.start(), match.end(4), match[1], match[3], match[4])
    when = _clock(match["time"], None) if match["time"] else None
    if when is not None:
        yield Draft(*match.span("time"), "time", when=when)


def _numeric(match: re.Match[str]) -> Iterator[Draft]:
    """`12/31/2019` has the month first; with points, or where that cannot be, the day is first."""
    a, b = match[1], match[3]
    day_first = match[2] == "." or int(a) > 12
    yield from _day(*match.span(), match[4], b if day_first else a, a if day_first else b)


def _month_day(match: re.Match[str]) -> Iterator[Draft]:
    month, year = match["month"], match["year"]
    end = match.end("day") if match["last"] else match.end()
    yield from _day(match.start(), end, year, month, match["day"])
    if match["last"]:
        yield from _day(match.start("last"), match.end(), year, month, match["last"])


def _day_month(match: re.Match[str]) -> Iterator[Draft]:
    month, year = match["month"], match["year"]
    if match["last"]:
        yield from _day(*match.span("first"), year, month, match["first"])
        yield from _day(match.start("last"), match.end(), year, month, match["last"])
    else:
        yield from _day(*match.span(), year, month, match["first"])


def _day(start: int, end: int, year: str | None, month: str, day: str) -> Iterator[Draft]:
    when = Calendar(_year(year), _month(month), int(day))
    try:
        date(when.year or 2024, when.month or 0, int(day))
    except ValueError:
        return
    yield Draft(start, end, "date", when=when)


def _month_year(match: re.Match[str]) -> Iterator[Draft]:
    yield Draft(*match.span(), "month", when=Calendar(_year(match["year"]), _month(match["month"])))


def _lone_month(match: re.Match[str]) -> Iterator[Draft]:
    """`May`, `March` and short names are months only where a word before them says so."""
    name, start = match.group(), match.start()
    is_one = len(name) > 3 and name.lower() not in ("march", "sept")
    if is_one or _NAMES_A_MONTH.search(match.string, max(0, start - 8), start):
        yield Draft(*match.span(), "month", when=Calendar(month=_month(name)))


def _quarter_words(match: re.Match[str]) -> Iterator[Draft]:
    when = Calendar(_year(match["year"]), quarter=_ORDINAL[match["q"].lower()])
    yield Draft(*match.span(), "quarter", when=when)


def _quarter(match: re.Match[str]) -> Iterator[Draft]:
    text, start, year = match.string, match.start(), match["year"]
    before = _YEAR_BEFORE.search(text, max(0, start - 8), start)
    if before is not None:
        start, year = before.start(), year or before["fiscal"] or before["year"]
    elif start and text[start - 1].isalnum():
        return
    yield Draft(start, match.end(), "quarter", when=Calendar(_year(year), quarter=int(match["q"] or match["q2"])))


def _fiscal_year(match: re.Match[str]) -> Iterator[Draft]:
    yield Draft(*match.span(), "date", when=Calendar(_year(match["year"])))


def _time_range(match: re.Match[str]) -> Iterator[Draft]:
    """AM or PM said once holds for both ends, unless the first would then be the later one (`9-5pm`)."""
    first, last = _clock(match["a"], match["half"]), _clock(match["b"], match["half"])
    if first is None or last is None:
        return
    if first > last:
        first = _clock(match["a"], "am") or first
    yield Draft(*match.span("a"), "time", when=first)
    yield Draft(match.start("b"), match.end(), "time", when=last)


def _time(match: re.Match[str]) -> Iterator[Draft]:
    when = _clock(match["a"], match["half"])
    if when is not None:
        yield Draft(*match.span(), "time", when=when)


def _clock(digits: str, half: str | None) -> TimeOfDay | None:
    hour, *rest = [int(part.partition(".")[0]) for part in digits.split(":")]
    if hour > (12 if half else 24):
        return None
    if half:
        hour = hour % 12 + (12 if half[0] in "pP" else 0)
    return TimeOfDay(hour, *rest)


def _month(name: str) -> int:
    return int(name) if name.isdigit() else vocabulary.MONTHS[name.lower()]


def _year(digits: str | None) -> int | None:
    """Two digits up to 69 are of this century."""
    if digits is None:
        return None
    digits = digits.lstrip("'")
    year = int(digits)
    return year if len(digits) > 2 else year + (2000 if year < 70 else 1900)


_READERS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], Iterator[Draft]]], ...] = (
    (_ISO, _iso),
    (_NUMERIC, _numeric),
    (_QUARTER_WORDS, _quarter_words),
    (_QUARTER, _quarter),
    (_FISCAL_YEAR, _fiscal_year),
    (_MONTH_DAY, _month_day),
    (_DAY_MONTH, _day_month),
    (_MONTH_YEAR, _month_year),
    (_ISO_MONTH, _month_year),
    (_TIME_RANGE, _time_range),
    (_TIME, _time),
    (_LONE_MONTH, _lone_month),
)
"""In this order: what says more is read before what says less."""
_NUMERALS = (_ISO, _NUMERIC)
