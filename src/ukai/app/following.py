"""What was written becomes text with a vector: by whoever brought it, and by a server for all that waits (C45).

said = await following.caught_up(path)          # `ukai ingest` ends with it
async with following.watched(current): ...      # a server: whatever waits, in batches, one process of many at a time
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from ukai.app import engine, watching
from ukai.kit.errors import UkaiError

ELSEWHERE = "another process embeds what came in"
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


@dataclass(kw_only=True)
class Watch:
    """What one server remembers between two looks."""

    current: Callable[[], engine.Engine]
    """The workspace as it is now: types that are new since the start are followed too."""
    failed: str = ""
    """What stood in the way the last time."""

    async def look(self) -> None:
        """Embed what waits unless another process does. What fails is told once, and tried at each look."""
        try:
            await self.current().catch_up_alone()
        except Exception as failed:  # a model, or the database: whatever it was, the next look tries again
            said = f"{type(failed).__name__}: {failed}"
            if said != self.failed:
                _log.error("texts wait for their vectors: %s", said)
            self.failed = said
        else:
            self.failed = ""


@asynccontextmanager
async def watched(
    current: Callable[[], engine.Engine], *, wait: Callable[[float], Awaitable[None]] = asyncio.sleep
) -> AsyncGenerator[None]:
    """While inside, texts that wait are embedded."""
    async with watching.kept("vectors", Watch(current=current).look, wait=wait):
        yield
