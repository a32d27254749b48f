"""How a server keeps looking whether something is due, and starts it as a process that gives way to everything else."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from ukai.kit.errors import UkaiError

EVERY_S = 60.0
"""How often a server asks whether something is due."""
LOWEST = 19
Spawn = Callable[[Path, Sequence[str]], Awaitable[int]]
_log = logging.getLogger(__name__)


async def spawned(root: Path, words: Sequence[str]) -> int:
    """`ukai WORDS` as a process of the lowest priority; its exit code."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "ukai", *words, "--workspace", str(root)),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
    )
    with suppress(ProcessLookupError):
        os.setpriority(os.PRIO_PROCESS, process.pid, LOWEST)
    try:
        return await process.wait()
    except asyncio.CancelledError:
        # What it began stays open, and the next server takes it over.
        with suppress(ProcessLookupError):
            process.terminate()
        await process.wait()
        raise


@asynccontextmanager
async def kept(
    name: str, look: Callable[[], Awaitable[None]], *, wait: Callable[[float], Awaitable[None]] = asyncio.sleep
) -> AsyncGenerator[None]:
    """While inside, `look` is called again and again, whatever comes of it."""
    ending = asyncio.Event()

    async def looking() -> None:
        while not ending.is_set():
            try:
                await look()
            except UkaiError as failed:  # the database is away: the next look finds it again
                _log.warning("%s: %s", name, failed)
            except Exception:  # whatever it was, the next look tries again
                _log.exception("%s", name)
            if not ending.is_set():
                await wait(EVERY_S)

    task = asyncio.create_task(looking())
    try:
        yield
    finally:
        ending.set()
        task.cancel()
        await asyncio.wait({task})
        if not task.cancelled() and (failed := task.exception()) is not None:
            _log.error("%s", name, exc_info=failed)
