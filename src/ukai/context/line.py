"""The line in front of the database: a composition computes while it holds a connection, so few of them do at once.

A process has eight connections. Whoever composes stands in line, first come, first served, so that what is short (who
asks, what is saved) finds one; behind a line that is too long nobody stands for longer than they would wait.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from ukai.kit.errors import TemporaryError

AT_ONCE = 4
"""Half of the connections. More at once end no sooner: what they wait for is this process."""
LONGEST = 200
"""Turns that run and wait by default, and as many documents: about ten seconds."""


class Full(TemporaryError):
    """Too many wait already."""

    hint = "ask again in a moment"


class Line:
    """One for a pool of connections. `async with line.place(): ...`"""

    def __init__(self, *, at_once: int = AT_ONCE, longest: int = LONGEST) -> None:
        self._places, self._longest = asyncio.Semaphore(at_once), longest
        self.waiting = 0

    @asynccontextmanager
    async def place(self) -> AsyncGenerator[None]:
        """Waits until it is one's turn. Raises Full."""
        if self._places.locked() and self.waiting >= self._longest:
            raise Full(f"{self.waiting} documents wait to be composed")
        self.waiting += 1
        try:
            await self._places.acquire()
        finally:
            self.waiting -= 1
        try:
            yield
        finally:
            self._places.release()
