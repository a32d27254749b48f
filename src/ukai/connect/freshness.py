"""Sources that stopped updating: connectors whose last finished pull is older than their schedule allows (P4.7).

A connector without a schedule promises nothing, so nothing is said of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice

from cronsim import CronSim

from ukai import store
from ukai.connect import definition, rows
from ukai.kit.handle import Handle


@dataclass(frozen=True, kw_only=True)
class Stale:
    """A source that stopped updating."""

    connector: str
    type: str
    since: datetime
    """When its last pull finished; where none ever did, when the first one began."""
    is_whole: bool
    """Whether a pull ever finished."""
    is_alone: bool
    """Whether no other connector brings in records of the type."""

    def said(self, at: datetime) -> str:
        """In plain words, for whoever reads an answer of the instant `at`."""
        what = f"{_spaced(self.type)} records"
        if not self.is_alone:
            what += f" from {self.connector}"
        when = _day(self.since, at)
        if self.is_whole:
            return f"{what} have not been updated since {when}."
        return f"{what} have never been brought in completely: the first try was on {when}."


async def stale(
    tx: store.Transaction, connectors: Sequence[definition.Connector], cited: Iterable[Handle], *, at: datetime
) -> list[Stale]:
    """The connectors that brought in a record of `cited` and are late at the instant `at`, in the order of their names.

    `connectors` are all of the workspace, so that a source is named where its type alone does not tell it.
    """
    keys = {(h.type, h.key) for h in cited}
    scheduled = sorted((c for c in connectors if c.file.schedule), key=lambda c: c.name)
    asked = [(c.name, key) for c in scheduled for type, key in keys if type == c.file.into.node_type]
    if not asked:
        return []
    behind = await rows.brought_in(tx, asked)
    ages = await rows.ages(tx, sorted(behind))
    types = [c.file.into.node_type for c in connectors]
    found: list[Stale] = []
    for connector in scheduled:
        if connector.name not in ages:
            continue
        finished, began = ages[connector.name]
        since = finished or began
        if is_late(connector.file, since, at=at):
            type = connector.file.into.node_type
            found.append(
                Stale(
                    connector=connector.name,
                    type=type,
                    since=since,
                    is_whole=finished is not None,
                    is_alone=types.count(type) == 1,
                )
            )
    return found


def is_late(file: definition.File, since: datetime, *, at: datetime) -> bool:
    """Whether `stale_after` of the times that the schedule names have passed since then."""
    fires = islice(CronSim(file.schedule, since.astimezone(UTC)), file.stale_after)
    return all(fire <= at for fire in fires)


def _spaced(type: str) -> str:
    """`HealthScore` as `Health score`."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", type).replace("_", " ").split()
    return " ".join([*words[:1], *(w if w.isupper() else w.lower() for w in words[1:])])


def _day(when: datetime, at: datetime) -> str:
    """`3 May 2026`, with the hour where that is the day on which it is said."""
    when, at = when.astimezone(UTC), at.astimezone(UTC)
    day = f"{when.day} {_MONTHS[when.month - 1]} {when.year}"
    return f"{day}, {when:%H:%M} UTC" if when.date() == at.date() else day


_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip
