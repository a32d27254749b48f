"""What a figure is once read, and the draft it is while its neighbours may still change it."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Context, Decimal
from typing import Literal, NamedTuple

Kind = Literal["number", "money", "percent", "date", "month", "quarter", "time"]

MAX_DIGITS = 30
"""Longer runs of digits are identifiers. Below that, sums and scales stay exact within `EXACT`."""
EXACT = Context(prec=80)


class Calendar(NamedTuple):
    """A place in the calendar; what was not said is None."""

    year: int | None = None
    month: int | None = None
    day: int | None = None
    quarter: int | None = None

    def __str__(self) -> str:
        year = "-" if self.year is None else f"{self.year:04}"
        if self.quarter is not None:
            return f"{year}-Q{self.quarter}"
        if self.month is None:
            return year
        month = f"{year}-{self.month:02}"
        return month if self.day is None else f"{month}-{self.day:02}"


class TimeOfDay(NamedTuple):
    """A place on the clock, in 24 hours."""

    hour: int
    minute: int = 0
    second: int | None = None

    def __str__(self) -> str:
        short = f"{self.hour:02}:{self.minute:02}"
        return short if self.second is None else f"{short}:{self.second:02}"


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure: `text[start:end]` as it stands there, and what it says."""

    start: int
    end: int
    text: str
    kind: Kind
    value: Decimal | Calendar | TimeOfDay
    """Scale applied; percentages in percent (25 basis points are 0.25)."""
    unit: str = ""
    """Currency code (empty when money did not say which), `%`, `points`, `x`, or nothing."""
    ulp: Decimal = Decimal(0)
    """One unit in the last place that was said: 100000 for `1.2M`. Zero where nothing may be rounded."""
    approx: bool = False
    """`about`, `nearly`, `over` and the like stand before it."""

    @property
    def said(self) -> str:
        """The value as text, the same for every way to write it: `1200000`, `2019-12-31`, `--12`, `17:00`."""
        if not isinstance(self.value, Decimal):
            return str(self.value)
        if not self.value:
            return "0"
        return format(EXACT.plus(self.value).normalize(EXACT), "f")


@dataclass(slots=True)
class Draft:
    """A figure under construction: mantissa and scale apart, so that the ends of a range can share."""

    start: int
    end: int
    kind: Kind
    mantissa: Decimal = Decimal(0)
    scale: Decimal = Decimal(1)
    unit: str = ""
    exact: bool = False
    when: Calendar | TimeOfDay | None = None
    approx: bool = False

    def figure(self, text: str) -> Figure:
        """The finished value."""
        stretch = text[self.start : self.end]
        if self.when is not None:
            return Figure(self.start, self.end, stretch, self.kind, self.when, self.unit, Decimal(0), self.approx)
        value = EXACT.multiply(self.mantissa, self.scale)
        exponent = self.mantissa.as_tuple().exponent
        ulp = Decimal(0) if self.exact else EXACT.multiply(Decimal(1).scaleb(int(exponent)), self.scale)
        return Figure(self.start, self.end, stretch, self.kind, value, self.unit, ulp, self.approx)


def is_free(taken: bytearray, start: int, end: int) -> bool:
    """Whether nothing has been read from `start` to `end` yet."""
    return taken.find(1, start, end) < 0


def take(taken: bytearray, start: int, end: int) -> None:
    """Off the table."""
    taken[start:end] = b"\x01" * (end - start)
