"""A pull in a process of its own that stands still, at a point of its choice, until it is killed."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

from tests.connect import world
from ukai import store
from ukai.connect import pull, rows


def standing_still(point: str, at: int) -> Any:
    """A progress that waits for ever when the batch is done, or a write that does so inside its transaction."""
    seen = 0

    def wait() -> None:
        nonlocal seen
        seen += 1
        if seen == at:
            sys.stdout.write("now\n")
            sys.stdout.flush()
            sys.stdin.read()

    if point == "done":
        return lambda _: wait()
    write = rows.move

    async def move(*args: Any, **more: Any) -> None:
        await write(*args, **more)
        wait()

    rows.move = move
    return lambda _: None


async def main(url: str, folder: str, point: str, at: int) -> None:
    async with store.connect(url, max_size=3) as db:
        bench = world.bench(db, Path(folder))
        progress = standing_still(point, at)
        await pull.run(
            pull.Bench(db=db, rights=bench.rights, clock=bench.clock, site=bench.site, progress=progress),
            world.connector(),
        )


if __name__ == "__main__":
    url, folder, point, at = sys.argv[1:]
    asyncio.run(main(url, folder, point, int(at)))
