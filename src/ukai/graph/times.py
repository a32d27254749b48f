"""Days and instants as text: what is one, and its canonical form."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}\Z")
_LOOSE_DATE = re.compile(r"(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})(?:[T ].*)?\Z")
_INSTANT = re.compile(r"(\d{4}-\d{2}-\d{2})[Tt ](\d{2}:\d{2}:\d{2})(\.\d{1,9})?([Zz]|[+-]\d{2}:\d{2})?\Z")


def is_date(text: str) -> bool:
    """Whether `text` is a day, YYYY-MM-DD."""
    return _DATE.match(text) is not None and _exists(text)


def instant_of(text: str) -> datetime | None:
    """The instant that RFC 3339 text writes, in UTC, to the microsecond; None when it is none or names no offset."""
    found = _INSTANT.match(text)
    if not found or not found[4]:
        return None
    zone = "+00:00" if found[4] in "Zz" else found[4]
    try:
        return datetime.fromisoformat(f"{found[1]}T{found[2]}{(found[3] or '')[:7]}{zone}").astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def is_datetime(text: str) -> bool:
    """Whether `text` is an instant with its offset (RFC 3339)."""
    return instant_of(text) is not None


def written(instant: datetime) -> str:
    """The canonical text of an instant: UTC with a final Z."""
    return instant.astimezone(UTC).isoformat().replace("+00:00", "Z")


def probable_date(text: str) -> str | None:
    """The day that `2026/1/5` or `2026-01-05T08:00` probably means."""
    found = _LOOSE_DATE.match(text.strip())
    day = f"{found[1]}-{int(found[2]):02}-{int(found[3]):02}" if found else ""
    return day if day and _exists(day) else None


def lacks_offset(text: str) -> bool:
    """Whether `text` would be an instant if it named its offset."""
    return instant_of(f"{text}Z") is not None


def _exists(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True
