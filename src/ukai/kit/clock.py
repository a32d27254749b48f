"""Time as an argument."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Protocol


class Clock(Protocol):
    """What decides what time it is. Everything that needs the time is handed one."""

    def now(self) -> datetime:
        """The current instant, always in UTC."""
        ...


class SystemClock:
    """The machine's own clock."""

    def now(self) -> datetime:
        """The current instant in UTC."""
        return datetime.now(UTC)


class FixedClock:
    """A clock that stands still until it is told to move: for tests and replays."""

    def __init__(self, at: datetime) -> None:
        if at.tzinfo is None:
            raise ValueError("a clock needs an instant with a time zone")
        self._at = at.astimezone(UTC)

    def now(self) -> datetime:
        """The instant it stands at."""
        return self._at

    def advance(self, by: timedelta) -> None:
        """Move forward by `by`."""
        self._at += by
