"""How many turns one process runs at once, how many wait, and how it ends: what is under way is finished (P2.1)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from ukai.kit.errors import TemporaryError

RETRY_AFTER_S = 5


class Busy(TemporaryError):
    """No place is free: too much is under way, or the process is ending."""

    hint = "ask again in a moment"

    def __init__(self, message: str, *, retry_after_s: int = RETRY_AFTER_S) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class Admission:
    """The door in front of `ask`, one for a process. `async with admission.turn(): ...`"""

    def __init__(self, *, running: int, waiting: int) -> None:
        self.limit, self.queue = running, waiting
        self.running = self.waiting = 0
        self.is_draining = False
        self._places = asyncio.Semaphore(running)
        self._idle = asyncio.Event()
        self._idle.set()

    @asynccontextmanager
    async def turn(self) -> AsyncGenerator[None]:
        """A place among the running ones; waits for one while the queue is not full. Raises Busy."""
        if self.is_draining:
            raise Busy("the server is ending")
        if self._places.locked() and self.waiting >= self.queue:
            raise Busy(f"{self.running} questions are under way and {self.waiting} wait")
        self.waiting += 1
        self._idle.clear()
        try:
            await self._places.acquire()
        finally:
            self.waiting -= 1
            self._settle()
        self.running += 1
        self._idle.clear()
        try:
            yield
        finally:
            self.running -= 1
            self._places.release()
            self._settle()

    async def drain(self, *, within_s: float) -> bool:
        """Take in nothing more and wait for what was taken in; False when some of it is still under way then."""
        self.is_draining = True
        try:
            await asyncio.wait_for(self._idle.wait(), within_s)
        except TimeoutError:
            return False
        return True

    def _settle(self) -> None:
        if not self.running and not self.waiting:
            self._idle.set()
