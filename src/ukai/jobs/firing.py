"""One run of a schedule: claimed once, by one process, and kept with what came of it."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from ukai import store
from ukai.jobs import rows
from ukai.jobs.schedule import Schedule
from ukai.kit import ids
from ukai.kit.clock import Clock
from ukai.kit.errors import UkaiError

TRIES = 3
"""How often one slot is begun when whoever ran it died; a run that ended, well or badly, is not begun again."""

Run = Callable[[], Awaitable[Mapping[str, Any]]]


@dataclass(frozen=True, kw_only=True)
class Firing:
    """A run of a schedule, as the store has it."""

    schedule: str
    slot: datetime
    """The time for which it was due."""
    state: Literal["running", "done", "failed"]
    tries: int
    started_at: datetime
    ended_at: datetime | None
    result: Mapping[str, Any] | None
    said: str
    """Why it failed."""


@dataclass(frozen=True, kw_only=True)
class Skipped:
    """Nothing ran here, and why that is right."""

    reason: Literal["not due", "runs elsewhere", "ran already"]
    next: datetime


async def fire(
    db: store.Database, schedule: Schedule, *, clock: Clock, run: Run, entropy: ids.Entropy = os.urandom
) -> Firing | Skipped:
    """Run it if it is due and nobody else did or does.

    What `run` returns is kept. What it raises is kept as why it failed, and raised.
    """
    at = clock.now()
    slot = schedule.due(at)
    if slot is None:
        return Skipped(reason="not due", next=schedule.next(at))
    async with db.statements() as line:
        if not await rows.lock(line, schedule.name):
            return Skipped(reason="runs elsewhere", next=schedule.next(at))
        try:
            holder = ids.time_ordered(at, entropy=entropy)
            await rows.close_dead(line, schedule.name, slot, tries=TRIES, at=at)
            if not await rows.claim(line, schedule.name, slot, holder=holder, at=at):
                return Skipped(reason="ran already", next=schedule.next(at))
            return await _ran(db, schedule, slot, holder, clock=clock, run=run)
        finally:
            await rows.unlock(line, schedule.name)


async def _ran(
    db: store.Database, schedule: Schedule, slot: datetime, holder: UUID, *, clock: Clock, run: Run
) -> Firing:
    state, said, result = "done", "", None
    try:
        result = await run()
    except Exception as failed:
        state = "failed"
        said = str(failed) if isinstance(failed, UkaiError) else f"{type(failed).__name__}: {failed}"
        raise
    finally:
        # Cancelled or killed it stays `running`: whoever comes next takes it over.
        if result is not None or state == "failed":
            async with db.transaction() as tx:
                await rows.end(
                    tx, schedule.name, slot, holder=holder, state=state, result=result, said=said, at=clock.now()
                )
    return (await latest(db, schedule.name, until=slot))[0]


async def is_open(db: store.Database, schedule: Schedule, *, at: datetime) -> bool:
    """Whether it is due and neither done nor under way: what a process asks before it starts another one for it."""
    slot = schedule.due(at)
    if slot is None:
        return False
    async with db.statements() as line:
        if not await rows.lock(line, schedule.name):
            return False
        try:
            return await rows.is_open(line, schedule.name, slot)
        finally:
            await rows.unlock(line, schedule.name)


async def latest(db: store.Database, schedule: str, *, limit: int = 1, until: datetime | None = None) -> list[Firing]:
    """The last runs, the newest first; with `until`, nothing that was due later.

    A clock that was ahead once leaves a run of a day to come, and that is nobody's last one until then.
    """
    async with db.transaction() as tx:
        found = await rows.latest(tx, schedule, limit=limit, until=until)
        return [
            Firing(schedule=schedule, slot=slot, state=state, tries=tries, started_at=began, ended_at=ended,
                   result=result, said=said)
            for slot, state, tries, began, ended, result, said in found
        ]  # fmt: skip
