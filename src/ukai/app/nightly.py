"""The recall of a workspace, measured every night by whoever serves it, and held against pinned figures (C45).

await nightly.run(path)                       # `ukai context nightly --run`: once a night, whoever asks
async with nightly.watched(engine): ...       # a server: starts that as a process of its own when it is due
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from ukai import jobs
from ukai.app import engine, golden, nights, watching
from ukai.app import recall as recalling
from ukai.app.engine import Progress
from ukai.app.nights import Night
from ukai.catalog.composing import Recall
from ukai.kit.clock import Clock
from ukai.kit.errors import PermanentError

_log = logging.getLogger(__name__)


class NoNightly(PermanentError):
    """Nothing says when."""

    hint = 'write `context: {recall: {nightly: "03:00", baseline: recall-baseline.json}}` into ukai.yaml'


class NoBaseline(PermanentError):
    """There is nothing to hold the figures against."""

    hint = "pin figures: `ukai context recall --set NAME --baseline FILE --pin`"


async def run(path: Path, *, clock: Clock | None = None, progress: Progress = lambda _: None) -> Night | jobs.Skipped:
    """Measure if it is due and nobody else did or does. Raises NoNightly, and what measuring raises."""
    async with engine.opened(path, clock=clock) as opened:
        return await fired(opened, progress=progress)


async def fired(opened: engine.Engine, *, progress: Progress = lambda _: None) -> Night | jobs.Skipped:
    """The same in a workspace that is open."""
    recall = _wanted(opened)
    run = partial(_measured, opened, recall, progress)
    came = await jobs.fire(opened.db, nights.schedule(recall), clock=opened.clock, run=run)
    return came if isinstance(came, jobs.Skipped) else (await nights.last(opened.db, limit=1, until=came.slot))[0]


async def _measured(opened: engine.Engine, recall: Recall, progress: Progress) -> Mapping[str, Any]:
    found = opened.loaded.catalog
    settings = replace(found.settings, local_principal=recall.run_as or found.settings.local_principal)
    acting = replace(opened, loaded=replace(opened.loaded, catalog=replace(found, settings=settings)))
    baseline = opened.root / recall.baseline
    if not baseline.is_file():
        raise NoBaseline(f"there is no file {recall.baseline!r}")
    report = await golden.measured(acting, budgets=recalling.BUDGETS, progress=progress)
    held, _ = recalling.against(report, baseline, recall.name)
    return {
        "name": recall.name,
        "figures": held.figures,
        "findings": [f.as_json() for f in held.findings],
        "cases": {case["id"]: case["usable"] for case in held.as_json()["per_case"]},
    }


async def shown(path: Path, *, last: int) -> tuple[list[Night], datetime | None]:
    """The last runs, the newest first, and when the next one is due."""
    async with engine.opened(path) as opened:
        recall = opened.catalog.settings.context.recall
        now = opened.clock.now()
        found = await nights.last(opened.db, limit=last, until=now)
        return found, None if recall is None else nights.schedule(recall).next(now)


def _wanted(opened: engine.Engine) -> Recall:
    recall = opened.catalog.settings.context.recall
    if recall is None:
        raise NoNightly("ukai.yaml says nothing of a nightly recall")
    return recall


# A server.

Spawn = Callable[[Path], Awaitable[int]]


async def spawned(root: Path) -> int:
    """`ukai context nightly --run` as a process of its own; its exit code."""
    return await watching.spawned(root, ("context", "nightly", "--run", "--quiet"))


@dataclass(kw_only=True)
class Watch:
    """What one server remembers between two looks."""

    opened: engine.Engine
    spawn: Spawn = spawned
    tried: dict[datetime, int] = field(default_factory=dict[datetime, int])
    """Slot -> how often a process of ours came back without having kept anything."""

    async def look(self) -> None:
        """Start a process if the recall is due and neither done nor under way, and say what came of it."""
        plan = nights.schedule(_wanted(self.opened))
        at = self.opened.clock.now()
        slot = plan.due(at)
        if slot is None or self.tried.get(slot, 0) >= jobs.TRIES:
            return
        if not await jobs.is_open(self.opened.db, plan, at=at):
            return
        code = await self.spawn(self.opened.root)
        night = next(iter(await nights.last(self.opened.db, limit=1, until=slot)), None)
        if night is None or night.slot < slot or night.state == "running":
            if code == 0:
                return  # another server was first, and tells what comes of it
            self.tried[slot] = self.tried.get(slot, 0) + 1
            _log.error("nightly recall of %s: its process ended with %d and kept nothing", slot, code)
        else:
            _log.log(logging.ERROR if night.alerts else logging.INFO, "%s", night)


@asynccontextmanager
async def watched(
    opened: engine.Engine, *, spawn: Spawn = spawned, wait: Callable[[float], Awaitable[None]] = asyncio.sleep
) -> AsyncGenerator[None]:
    """While inside, the nightly recall runs where ukai.yaml wants one."""
    if opened.catalog.settings.context.recall is None:
        yield
        return
    async with watching.kept("nightly recall", Watch(opened=opened, spawn=spawn).look, wait=wait):
        yield
