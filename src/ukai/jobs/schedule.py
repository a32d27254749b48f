"""When something is due: a cron expression on the clock of a place, and how late is still in time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from cronsim import CronSim


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """One thing that runs by itself."""

    name: str
    """Its key in the store."""
    cron: str
    """Five fields. Where clocks change, the rules of Debian's cron hold: nothing is left out, nothing comes twice."""
    timezone: str = "UTC"
    """An IANA name."""
    grace: timedelta = timedelta(hours=1)
    """How long after its time it may still begin; what is later than that is left out."""

    def due(self, at: datetime) -> datetime | None:
        """The time for which it is due at `at`, if it is."""
        return self.newest(at, within=self.grace)

    def newest(self, at: datetime, *, within: timedelta) -> datetime | None:
        """The last time up to `at` for which it was due, no longer ago than `within`."""
        # Forwards, as `next` goes: backwards the rules about changing clocks would have to be trusted twice.
        found: datetime | None = None
        for slot in self._after(at - within - timedelta(seconds=1)):
            if slot > at:
                return found
            found = slot
        return found

    def next(self, at: datetime) -> datetime:
        """The first time after `at`."""
        return next(self._after(at))

    def _after(self, at: datetime) -> Iterator[datetime]:
        slots = (slot.astimezone(UTC) for slot in CronSim(self.cron, at.astimezone(ZoneInfo(self.timezone))))
        # In the second of two equal hours the expression is read as in the first: what was then is no time to come.
        return (slot for slot in slots if slot > at)
