"""The SQL of schedules (migration 0011)."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg import OperationalError
from psycopg.types.json import Jsonb

from ukai.store import Transaction

LONGEST = 2_000
"""Characters of why something failed."""


async def lock(line: Transaction, schedule: str) -> bool:
    """Whether nobody else runs it until the connection ends or `unlock` is called."""
    return await line.value("select pg_try_advisory_lock(hashtextextended('ukai.schedule ' || %s, 0))", (schedule,))


async def unlock(line: Transaction, schedule: str) -> None:
    """Let others run it. A connection that is lost has no lock any more."""
    with suppress(OperationalError):
        await line.value("select pg_advisory_unlock(hashtextextended('ukai.schedule ' || %s, 0))", (schedule,))


async def close_dead(line: Transaction, schedule: str, slot: datetime, *, tries: int, at: datetime) -> None:
    """Whoever holds the lock knows that nothing runs: what is older, or died often enough, has failed."""
    await line.execute(
        """update firing set state = 'failed', ended_at = %(at)s, said = 'its process died'
           where schedule = %(schedule)s and state = 'running' and (slot < %(slot)s or tries >= %(tries)s)""",
        {"schedule": schedule, "slot": slot, "tries": tries, "at": at},
    )


async def claim(line: Transaction, schedule: str, slot: datetime, *, holder: UUID, at: datetime) -> bool:
    """Whether the slot is the holder's to run: nobody began it, or who began it died."""
    return bool(
        await line.execute(
            """insert into firing (schedule, slot, state, tries, holder, started_at)
               values (%s, %s, 'running', 1, %s, %s)
               on conflict (schedule, slot) do update
               set tries = firing.tries + 1, holder = excluded.holder, started_at = excluded.started_at
               where firing.state = 'running'""",
            (schedule, slot, holder, at),
        )
    )


async def end(
    tx: Transaction,
    schedule: str,
    slot: datetime,
    *,
    holder: UUID,
    state: str,
    result: Mapping[str, Any] | None,
    said: str,
    at: datetime,
) -> None:
    """Keep what came of it; nothing when another one has taken over."""
    await tx.execute(
        """update firing set state = %s, result = %s, said = %s, ended_at = %s
           where schedule = %s and slot = %s and holder = %s and state = 'running'""",
        (
            state,
            Jsonb(result) if result is not None else None,
            said.replace("\0", "")[:LONGEST],
            at,
            schedule,
            slot,
            holder,
        ),
    )


async def is_open(line: Transaction, schedule: str, slot: datetime) -> bool:
    """Whether the slot has not ended: nobody began it, or who began it died."""
    return await line.value(
        "select not exists (select from firing where schedule = %s and slot = %s and state <> 'running')",
        (schedule, slot),
    )


async def latest(tx: Transaction, schedule: str, *, limit: int, until: datetime | None) -> list[tuple[Any, ...]]:
    """Newest first: slot, state, tries, started_at, ended_at, result, said."""
    return await tx.fetch(
        """select slot, state, tries, started_at, ended_at, result, said from firing
           where schedule = %(schedule)s and slot <= coalesce(%(until)s::timestamptz, 'infinity')
           order by slot desc limit %(limit)s""",
        {"schedule": schedule, "until": until, "limit": limit},
    )
