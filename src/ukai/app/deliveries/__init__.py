"""Replies to a chat, each exactly once, whoever retries and whatever dies (P4.4, X3).

desk = Deliveries(carrier, agents=["deal-coach"])
await desk.receive(question)         # saved and then carried; a question that came before does nothing
await desk.resume()                  # what other processes left
await desk.close()                   # waits for what is under way
"""

from __future__ import annotations

import asyncio
import logging
from datetime import datetime

from ukai import record
from ukai.app.ask import Exchange
from ukai.app.deliveries import rows
from ukai.app.deliveries.carry import LEASE, Carrier
from ukai.app.deliveries.chat import Answer, Ask, Chat, NotThere, Uncertain
from ukai.app.deliveries.value import Delivery, Part, Question
from ukai.runtime.events import Listener
from ukai.store import Database

__all__ = [
    "Answer",
    "Ask",
    "Carrier",
    "Chat",
    "Database",
    "Deliveries",
    "Delivery",
    "Listener",
    "NotThere",
    "Part",
    "Question",
    "Uncertain",
    "earlier",
]

AT_ONCE = 20
"""Deliveries that one look at the table takes over."""
EVERY_S = 15.0
EARLIER = 10
"""Exchanges of a thread that the next question in it is asked with."""

_log = logging.getLogger(__name__)


async def earlier(db: Database, question: Question) -> list[Exchange]:
    """What was asked and answered in the thread before, oldest first.

    Both stand there for everybody who reads it, whoever asked; a run of which a person was removed is not among them.
    """
    sight = record.Sight(principal="", audit=True)
    async with db.transaction() as tx:
        texts = [await record.read(tx, run_id, sight) for run_id in await rows.answered(tx, question, limit=EARLIER)]
    runs = [record.load(text)[0] for text in texts if text is not None]
    return [Exchange(question=run.question, answer=run.answer.markdown) for run in runs if run and run.answer]


class Deliveries:
    """The deliveries of one process, for one agent's chat."""

    def __init__(self, carrier: Carrier, *, agent: str) -> None:
        self._carrier, self._agent = carrier, agent
        self._tasks: set[asyncio.Task[None]] = set()

    async def receive(self, question: Question) -> bool:
        """Save it and begin; False when it came before. Once it is saved, the chat may be told that it arrived."""
        at = self._carrier.clock.now()
        async with self._carrier.db.transaction() as tx:
            is_new = await rows.receive(tx, question, self._agent, holder=self._carrier.holder, at=at, until=at + LEASE)
        if is_new:
            self._begin(Delivery(question=question, agent=self._agent, state="received", attempts=1))
        return is_new

    async def resume(self) -> int:
        """Take over what nobody carries any more; how many."""
        at = self._carrier.clock.now()
        async with self._carrier.db.transaction() as tx:
            left = await rows.take(
                tx, [self._agent], holder=self._carrier.holder, at=at, until=at + LEASE, limit=AT_ONCE
            )
        for delivery in left:
            self._begin(delivery)
        return len(left)

    async def watch(self) -> None:
        """Resume, now and again, until cancelled."""
        while True:
            await self.resume()
            await asyncio.sleep(EVERY_S)

    async def rate(self, run_id: str, principal: str, value: str, *, at: datetime) -> None:
        """`up` or `down`, from somebody who saw the answer. `at` as the chat has it: clicks may overtake each other."""
        async with self._carrier.db.transaction() as tx:
            await rows.rate(tx, run_id, principal, surface=self._carrier.surface, value=value, at=at)

    async def settled(self) -> None:
        """Wait until nothing is under way."""
        while self._tasks:
            await asyncio.gather(*self._tasks, return_exceptions=True)

    async def close(self, *, within_s: float) -> None:
        """Wait for what is under way; what is not done then is left to whoever comes next."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=within_s)
        for task in self._tasks:
            task.cancel()
        await self.settled()

    def _begin(self, delivery: Delivery) -> None:
        task = asyncio.create_task(self._carry(delivery))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _carry(self, delivery: Delivery) -> None:
        try:
            await self._carrier.carry(delivery)
        except Exception:
            # Its lease ends, and it is taken up again; here there is nobody to raise to.
            _log.exception("delivery %s stopped", delivery.id)
