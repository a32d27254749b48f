"""What was written becomes text with a vector: by whoever brought it, and by a server for all that waits (C45).

said = await following.caught_up(path)          # `ukai ingest` ends with it
async with following.watched(current): ...      # a server: whatever waits, one process of many at a time

A server embeds only as much itself as it would before a question; more is done by a process of the lowest priority, so
that turns do not share their cores, nor the lock of the interpreter, with an import. A server that starts nothing by
itself (`--no-schedules`) says so instead.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from ukai.app import engine, watching
from ukai.kit.errors import UkaiError

ELSEWHERE = "another process embeds what came in"
WAITING = ("ingest", "--waiting", "--quiet")
_log = logging.getLogger(__name__)


async def caught_up(path: Path, progress: engine.Progress = lambda _: None) -> str:
    """Embed all texts that wait; why some still do, or nothing.

    What was brought in stays in: without a vector it is found by its words, and whoever comes next goes on from here.
    """
    try:
        async with engine.opened(path) as opened:
            return "" if await opened.catch_up_alone(progress) else ELSEWHERE
    except UkaiError as failed:
        return f"texts wait for their vectors: {failed}"


class NotEmbedded(UkaiError):
    """What embeds ended before its end; its own words stand before."""


class LeftToOthers(UkaiError):
    """More wait than a server embeds itself, and it starts no process."""


async def left(root: Path, words: Sequence[str]) -> int:
    """In place of a process. Raises LeftToOthers."""
    command = " ".join(("ukai", *words))
    raise LeftToOthers(f"more than {engine.EMBED_NOW}, and this server has no schedules: let a timer run `{command}`")


@dataclass(kw_only=True)
class Watch:
    """What one server remembers between two looks."""

    current: Callable[[], engine.Engine]
    """The workspace as it is now: types that are new since the start are followed too."""
    spawn: watching.Spawn = watching.spawned
    failed: str = ""
    """What stood in the way the last time."""

    async def look(self) -> None:
        """Embed what waits unless another process does. What fails is told once, and tried at each look."""
        opened = self.current()
        try:
            if await opened.waiting(most=engine.EMBED_NOW + 1) <= engine.EMBED_NOW:
                await opened.catch_up_alone()
            elif code := await self.spawn(opened.root, WAITING):
                raise NotEmbedded(f"their process ended with {code}")
        except Exception as failed:  # a model, or the database: whatever it was, the next look tries again
            said = f"{type(failed).__name__}: {failed}"
            if said != self.failed:
                level = logging.WARNING if isinstance(failed, LeftToOthers) else logging.ERROR
                _log.log(level, "texts wait for their vectors: %s", said)
            self.failed = said
        else:
            self.failed = ""


@asynccontextmanager
async def watched(
    current: Callable[[], engine.Engine],
    *,
    spawn: watching.Spawn = watching.spawned,
    wait: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> AsyncGenerator[None]:
    """While inside, texts that wait are embedded."""
    async with watching.kept("vectors", Watch(current=current, spawn=spawn).look, wait=wait):
        yield
