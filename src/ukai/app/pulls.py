"""Connectors that name a `schedule`, pulled when they are due by whoever serves the workspace (P4.7, C45).

await pulls.run(path)                      # `ukai ingest --due`: each that is due and that nobody else pulled or pulls
async with pulls.watched(engine): ...      # a server: starts that as a process of its own
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import Any

from ukai import jobs, store
from ukai.app import engine, ingest, telemetry, watching
from ukai.app.telemetry import names
from ukai.connect import definition, order, pull, rows
from ukai.kit.clock import Clock
from ukai.kit.errors import UkaiError
from ukai.kit.finding import Finding, errors

GRACE = timedelta(days=1)
"""A server that was away pulls once for all that it missed, however often that was."""
DUE = ("ingest", "--due", "--quiet")
COUNTED = 20
"""Of times that failed in a row, so many are told."""
_log = logging.getLogger(__name__)


class NotRead(UkaiError):
    """A source was not read to its end; the next time that is due tries again."""


@dataclass(frozen=True, kw_only=True)
class Planned:
    """A connector with a schedule, how its last pull ended, and when the next one is due."""

    connector: str
    next: datetime
    last: jobs.Firing | None

    @property
    def alert(self) -> str:
        """Why somebody should look; empty where all is well."""
        return self.last.said if self.last is not None and self.last.state == "failed" else ""

    def __str__(self) -> str:
        last = "never pulled by itself"
        if self.last is not None:
            said = f": {self.last.said}" if self.last.said else ""
            last = f"last at {self.last.slot:%Y-%m-%d %H:%M} UTC, {self.last.state}{said}"
        return f"{self.connector}: {last}; next at {self.next:%Y-%m-%d %H:%M} UTC"

    def as_json(self) -> dict[str, Any]:
        """For machines."""
        last = self.last and {"slot": self.last.slot.isoformat(), "state": self.last.state, "said": self.last.said}
        return {"connector": self.connector, "last": last, "next": self.next.isoformat()}


def schedule(file: definition.File) -> jobs.Schedule:
    """When a connector is due."""
    return jobs.Schedule(name=f"connector {file.connector}", cron=file.schedule, grace=GRACE)


async def run(
    path: Path, *, clock: Clock | None = None, progress: ingest.Progress = lambda _: None
) -> tuple[list[Planned], list[Finding]]:
    """How the connectors stand afterwards, and what is wrong with files. Raises what is no matter of one source."""
    async with ingest.opened(path, clock=clock) as intake:
        return await fired(intake, progress=progress)


async def fired(
    intake: ingest.Intake, *, progress: ingest.Progress = lambda _: None
) -> tuple[list[Planned], list[Finding]]:
    """The same in a workspace that is open."""
    planned, findings = scheduled(intake)
    for connector in order.ordered(planned):
        pulling = partial(_pulled, intake, connector, progress)
        # Why it failed is kept with the run: another connector is not to wait for its source.
        with suppress(UkaiError):
            await jobs.fire(intake.db, schedule(connector.file), clock=intake.clock, run=pulling)
    return await standing(intake), findings


def scheduled(intake: ingest.Intake) -> tuple[list[definition.Connector], list[Finding]]:
    """The connectors with a schedule, and what is wrong with the files of all."""
    found: list[definition.Connector] = []
    findings: list[Finding] = []
    for name in intake.names():
        connector, told = intake.connector(name)
        findings += errors(told)
        if connector is not None and connector.file.schedule:
            found.append(connector)
    return found, findings


async def shown(path: Path, *, clock: Clock | None = None) -> list[Planned]:
    """How the connectors with a schedule stand."""
    async with ingest.opened(path, clock=clock) as intake:
        return await standing(intake)


async def standing(intake: ingest.Intake) -> list[Planned]:
    """The same in a workspace that is open."""
    now = intake.clock.now()
    found: list[Planned] = []
    for connector in scheduled(intake)[0]:
        plan = schedule(connector.file)
        last = await jobs.latest(intake.db, plan.name, until=now)
        found.append(Planned(connector=connector.name, next=plan.next(now), last=next(iter(last), None)))
    return found


async def measured(db: store.Database, connectors: Sequence[definition.Connector], *, at: datetime) -> None:
    """Say how they stand at `at`, before the counts are read: pulls by hand, too, bring a source up to date."""
    async with db.snapshot() as tx:
        ages = await rows.ages(tx, [c.name for c in connectors])
    for connector in connectors:
        finished, _ = ages.get(connector.name, (None, None))
        if finished is not None:
            telemetry.METRICS.set(names.PULLED_AT, connector.name, to=finished.timestamp())
        if connector.file.schedule:
            last = await jobs.latest(db, schedule(connector.file).name, limit=COUNTED, until=at)
            failed = sum(f.state == "failed" for f in takewhile(lambda f: f.state != "done", last))
            telemetry.METRICS.set(names.PULL_FAILURES, connector.name, to=failed)


async def _pulled(
    intake: ingest.Intake, connector: definition.Connector, progress: ingest.Progress
) -> Mapping[str, Any]:
    try:
        report = await pull.run(intake.bench(connector, progress), connector)
    except pull.Busy as busy:  # somebody pulls by hand: what is due is being done
        return {"counts": {}, "said": str(busy)}
    if report.is_failed:
        raise NotRead("; ".join(f.message for f in errors(report.findings)))
    return {"counts": dict(report.counts)}


# A server.


@dataclass(kw_only=True)
class Watch:
    """What one server remembers between two looks."""

    intake: ingest.Intake
    spawn: watching.Spawn
    tried: dict[tuple[str, datetime], int] = field(default_factory=dict[tuple[str, datetime], int])
    """Connector and slot -> how often a process of ours came back without having kept anything."""

    async def look(self) -> None:
        """Start a process if a connector is due and neither pulled nor being pulled, and say what came of it."""
        at, waiting = self.intake.clock.now(), list[tuple[jobs.Schedule, datetime]]()
        for connector in scheduled(self.intake)[0]:
            plan = schedule(connector.file)
            slot = plan.due(at)
            if slot is None or self.tried.get((plan.name, slot), 0) >= jobs.TRIES:
                continue
            if await jobs.is_open(self.intake.db, plan, at=at):
                waiting.append((plan, slot))
        if not waiting:
            return
        code = await self.spawn(self.intake.root, DUE)
        for plan, slot in waiting:
            await self._told(plan, slot, code)

    async def _told(self, plan: jobs.Schedule, slot: datetime, code: int) -> None:
        last = next(iter(await jobs.latest(self.intake.db, plan.name, until=slot)), None)
        if last is None or last.slot < slot or last.state == "running":
            if code == 0:
                return  # another server was first, and tells what comes of it
            self.tried[plan.name, slot] = self.tried.get((plan.name, slot), 0) + 1
            _log.warning(
                "%s of %s: its process ended with %d before the end; the next one goes on", plan.name, slot, code
            )
        elif last.state == "failed":
            _log.error("%s of %s failed: %s", plan.name, slot, last.said)


@asynccontextmanager
async def watched(
    opened: engine.Engine,
    *,
    spawn: watching.Spawn = watching.spawned,
    wait: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> AsyncGenerator[None]:
    """While inside, connectors are pulled when they are due."""
    intake = ingest.Intake(
        root=opened.root,
        catalog=opened.catalog,
        db=opened.db,
        is_local=opened.is_local,
        clock=opened.clock,
        environ=opened.environ,
    )
    if not scheduled(intake)[0]:
        yield
        return
    async with watching.kept("connectors", Watch(intake=intake, spawn=spawn).look, wait=wait):
        yield
