"""Dates that evidence says relative to its own day: `yesterday` in a message of 8 May says 7 May."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta

from ukai.kit import figures
from ukai.kit.figures import Calendar, Figure
from ukai.measure.reading import Seen, Source

_DAYS: tuple[str, ...] = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_NUMBERS = {
    "a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9,
    "ten": 10, "eleven": 11, "twelve": 12,
}  # fmt: skip
_SPOKEN = re.compile(
    rf"""
    \b(?: (?P<day>day[ ]before[ ]yesterday|yesterday|last[ ]night|today|tonight|this[ ]morning|tomorrow)
        | (?P<which>last|next|this|this[ ]past)[ ](?P<what>{"|".join(_DAYS)}|week|weekend|month|year
                                                   |spring|summer|autumn|fall|winter)
        | (?P<count>\d{{1,3}}|{"|".join(_NUMBERS)})[ ](?P<unit>day|week|month|year)s?[ ](?P<way>ago|from[ ]now|later)
        | (?:on[ ])?(?P<plain>{"|".join(_DAYS)})\b )\b
    """,
    re.X | re.I,
)
_FIXED = {
    "day before yesterday": -2, "yesterday": -1, "last night": -1, "today": 0, "tonight": 0, "this morning": 0,
    "tomorrow": 1,
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Spoken:
    """A relative date with what it means."""

    source: Source
    start: int
    end: int
    words: str
    day: date
    """The day that it is relative to."""
    means: Calendar


def saying(claim: Figure, sources: tuple[Source, ...], seen: tuple[Seen, ...]) -> Spoken | None:
    """The first relative date in the evidence that means what `claim` says."""
    if claim.kind not in ("date", "month"):
        return None
    days = _days(seen)
    for source in sources:
        day = days.get((source.call, source.item)) or (source.as_of.date() if source.as_of else None)
        if day is None:
            continue
        for spoken in _spoken(source, day):
            if figures.agrees(claim, Figure(0, 0, "", "date", spoken.means)) and _is_as_exact(claim, spoken.means):
                return spoken
    return None


def _days(seen: tuple[Seen, ...]) -> dict[tuple[int, int], date]:
    """The first whole date of each item: messages and transcripts open with it."""
    found: dict[tuple[int, int], date] = {}
    for one in seen:
        value, key = one.figure.value, (one.source.call, one.source.item)
        if key not in found and isinstance(value, Calendar) and value.year and value.month and value.day:
            day = _date(value.year, value.month, value.day)
            if day:
                found[key] = day
    return found


def _is_as_exact(claim: Figure, means: Calendar) -> bool:
    """`last year` says a year and no day in it."""
    value = claim.value
    return isinstance(value, Calendar) and (value.day is None or means.day is not None)


def _spoken(source: Source, day: date) -> Iterator[Spoken]:
    for match in _SPOKEN.finditer(source.text):
        for means in _means(match, day):
            yield Spoken(source=source, start=match.start(), end=match.end(), words=match.group(), day=day, means=means)


def _means(match: re.Match[str], day: date) -> Iterator[Calendar]:
    if match["day"]:
        yield _whole(day + timedelta(days=_FIXED[match["day"].lower()]))
    elif match["count"]:
        count = _NUMBERS.get(match["count"].lower()) or int(match["count"])
        yield from _moved(day, count if match["way"].lower() != "ago" else -count, match["unit"].lower())
    elif match["plain"]:
        for step in (-1, 1):
            yield _whole(_weekday(day, match["plain"].lower(), step))
    else:
        step = {"last": -1, "next": 1}.get(match["which"].lower().split()[0], 0)
        what = match["what"].lower()
        if what in _DAYS:
            for way in (step,) if step else (-1, 1):
                yield _whole(_weekday(day, what, way))
        elif what in ("week", "weekend"):
            monday = day - timedelta(days=day.weekday()) + timedelta(weeks=step)
            yield from (_whole(monday + timedelta(days=k)) for k in range(7))
        else:
            yield from _moved(day, step, "month" if what == "month" else "year")


def _moved(day: date, count: int, unit: str) -> Iterator[Calendar]:
    if unit in ("day", "week"):
        yield _whole(day + timedelta(days=count * (7 if unit == "week" else 1)))
    elif unit == "month":
        months = day.year * 12 + day.month - 1 + count
        if months >= 12:
            yield Calendar(months // 12, months % 12 + 1)
    elif day.year + count >= 1:
        yield Calendar(day.year + count)


def _weekday(day: date, name: str, step: int) -> date:
    """The nearest day of that name before (-1) or after (1) `day`."""
    gap = (_DAYS.index(name) - day.weekday()) % 7
    return day + timedelta(days=(gap or 7) if step > 0 else gap - 7)


def _whole(day: date) -> Calendar:
    return Calendar(day.year, day.month, day.day)


def _date(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None
