"""One delivery from the question to its one reply, from whatever state it is found in.

    received -> asked -> held -> posted -> done

Every state is saved before the next step acts on the world. A process that dies leaves its lease, and another one goes
on: a run that was sealed is not run again, and before anything is posted a second time the chat is asked what is there.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

from ukai import record, store
from ukai.app import audit, identity
from ukai.app.admission import Busy
from ukai.app.deliveries import rows
from ukai.app.deliveries.chat import Answer, Ask, Chat, NotThere, Uncertain
from ukai.app.deliveries.value import Delivery, State
from ukai.kit.clock import Clock
from ukai.kit.errors import UkaiError
from ukai.runtime.events import Event

LEASE = timedelta(seconds=60)
"""How long a process that is silent keeps a delivery; it says every third of it that it lives."""
ATTEMPTS = 5
"""How often a delivery is begun before the asker is told that it failed."""
FADES_S = 90.0
"""Slack takes a status away after two minutes."""
TRIES = 6
"""How often one part is posted within one attempt."""

UNKNOWN_PERSON = "unknown_person"
UNKNOWN = (
    "I do not know who you are in our directory, so I cannot look anything up for you. "
    "Your profile needs the confirmed mail address that IT knows you by."
)
FAILED = "Your question could not be answered: something failed on our side, several times. Please ask again later."

_log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Carrier:
    """Everything that carrying needs."""

    db: store.Database
    clock: Clock
    holder: UUID
    """This process."""
    chat: Chat
    ask: Ask
    surface: str = "slack"
    pause: Callable[[float], Awaitable[object]] = asyncio.sleep

    async def carry(self, delivery: Delivery) -> None:
        """Until it is done, or another process has it, or it has to wait."""
        async with self._kept(delivery.id):
            now: Delivery | None = delivery
            while now is not None and now.state != "done":
                now = await self._try(now)

    async def _try(self, now: Delivery) -> Delivery | None:
        try:
            return await self._step(now)
        except Uncertain as away:
            return await self._wait(now, away.retry_after_s or LEASE.total_seconds())
        except NotThere as gone:
            _log.warning("delivery %s is dropped: %s", now.id, gone)
            return await self._moved(replace(now, outcome="dropped"), "posted", outcome="dropped")

    async def _step(self, now: Delivery) -> Delivery | None:
        match now.state:
            case "received":
                return await self._identify(now)
            case "asked":
                return await self._answer(now)
            case "held":
                return await self._post(now)
            case _:
                return await self._finish(now)

    async def _identify(self, now: Delivery) -> Delivery | None:
        if now.attempts > ATTEMPTS:
            return await self._hold(now, FAILED, outcome="error")
        who = await self.chat.principal(now.question)
        if who is None:
            await audit.refused(
                self.db,
                audit.Refusal(
                    at=self.clock.now(),
                    surface=self.surface,
                    who=f"{self.surface}:{now.question.team}/{now.question.user}",
                    code=UNKNOWN_PERSON,
                    about=now.agent,
                ),
            )
            return await self._hold(now, UNKNOWN, outcome="unknown")
        return await self._moved(replace(now, principal=who), "asked", principal=who)

    async def _answer(self, now: Delivery) -> Delivery | None:
        assert now.principal is not None
        answer = await self._sealed(now)
        if answer is None:
            if now.attempts > ATTEMPTS:
                return await self._hold(now, FAILED, outcome="error")
            place = await self.chat.place(now.question)
            try:
                answer = await self._asked(now, now.principal, place)
            except Busy as busy:
                return await self._wait(now, busy.retry_after_s, is_attempt=False)
            except UkaiError as failed:
                _log.warning("delivery %s: %s", now.id, failed)
                return await self._hold(now, FAILED, outcome="error")
        parts = [[answer.text]] if answer.is_private else self.chat.parts(answer.text)
        fields = {"outcome": answer.outcome, "run_id": answer.run_id, "parts": parts, "is_private": answer.is_private}
        return await self._moved(replace(now, **fields), "held", **fields)

    async def _asked(self, now: Delivery, principal: str, place: identity.Place) -> Answer:
        """Ask, while the place shows what is being done and the run's id is saved as soon as there is one."""
        told: asyncio.Queue[Event | None] = asyncio.Queue()
        told.put_nowait(Event(kind="status", at=self.clock.now(), data={"text": "reading your question"}))

        async def tell() -> None:
            line = ""
            while (event := await _next(told)) is not None:
                if event.kind == "started":
                    await self._moved(now, "asked", run_id=str(event.data["run_id"]))
                if event is _FADED or event.line not in ("", line):
                    line = event.line or line
                    await self.chat.status(now.question, line)

        telling = asyncio.create_task(tell())
        try:
            return await self.ask(now, principal, place, told.put_nowait)
        finally:
            told.put_nowait(None)
            await telling

    async def _sealed(self, now: Delivery) -> Answer | None:
        """What an earlier attempt came to, if its run was sealed before the process died."""
        if now.run_id is None:
            return None
        async with self.db.transaction() as tx:
            raw = await record.read(tx, now.run_id, record.Sight(principal=now.principal or ""))
        run = record.load(raw)[0] if raw else None
        if run is None or run.status == "cancelled" or run.reason.startswith("abandoned"):
            return None
        text = run.answer.markdown if run.answer else run.reason
        return Answer(text=text, outcome=run.status, run_id=run.run_id, is_private=run.status != "answered")

    async def _post(self, now: Delivery) -> Delivery | None:
        if now.is_private:
            await self._tell(now)
        else:
            now = replace(now, posted=await self._parts(now))
        return await self._moved(now, "posted")

    async def _parts(self, now: Delivery) -> Mapping[int, str]:
        """Every part is there once; what is not known for certain is looked up before it is posted again."""
        posted = dict(now.posted)
        if now.attempts > 1:
            posted |= await self.chat.found(now.question)
        if not posted and not await self.chat.is_there(now.question):
            raise NotThere("the message it answers was deleted")
        for number in range(len(now.parts)):
            if number not in posted:
                posted |= await self._one(now, number)
            await self._mark(now, posted)
        return posted

    async def _one(self, now: Delivery, number: int) -> Mapping[int, str]:
        for attempt in range(1, TRIES + 1):
            try:
                return {number: await self.chat.post(now, number)}
            except Uncertain as away:
                if attempt == TRIES:
                    raise
                await self.pause(away.retry_after_s or min(2.0**attempt, 30.0))
                found = await self.chat.found(now.question)
                if number in found:
                    return found
        raise AssertionError("unreachable")

    async def _tell(self, now: Delivery) -> None:
        """To the asker alone. Nothing tells later whether it came, so a process that dies here says it twice."""
        for part in now.parts:
            await self.chat.whisper(now.question, "\n\n".join(part))

    async def _finish(self, now: Delivery) -> Delivery | None:
        await self.chat.status(now.question, "")
        async with self.db.transaction() as tx:
            await rows.finish(tx, now.id, holder=self.holder, at=self.clock.now())
        return None

    async def _hold(self, now: Delivery, text: str, *, outcome: str) -> Delivery | None:
        held = replace(now, outcome=outcome, parts=[[text]], is_private=True)
        return await self._moved(held, "held", outcome=outcome, parts=held.parts, is_private=True)

    async def _wait(self, now: Delivery, seconds: float, *, is_attempt: bool = True) -> None:
        """Leave it for later; that too much was under way is no attempt."""
        attempts = now.attempts if is_attempt else now.attempts - 1
        until = self.clock.now() + timedelta(seconds=seconds)
        async with self.db.transaction() as tx:
            await rows.release(tx, now.id, holder=self.holder, at=until, attempts=attempts)

    async def _mark(self, now: Delivery, posted: Mapping[int, str]) -> None:
        async with self.db.transaction() as tx:
            await rows.mark(tx, now.id, posted, at=self.clock.now())

    async def _moved(self, now: Delivery, state: State, **fields: object) -> Delivery | None:
        """The delivery in its next state; None when another process has it."""
        async with self.db.transaction() as tx:
            mine = await rows.move(tx, now.id, state, holder=self.holder, at=self.clock.now(), **fields)  # pyright: ignore[reportArgumentType]
        return replace(now, state=state) if mine else None

    @asynccontextmanager
    async def _kept(self, id: str) -> AsyncGenerator[None]:
        """While the block runs, the lease is renewed."""

        async def renew() -> None:
            while True:
                await asyncio.sleep(LEASE.total_seconds() / 3)
                async with self.db.transaction() as tx:
                    await rows.keep(tx, id, holder=self.holder, until=self.clock.now() + LEASE)

        beat = asyncio.create_task(renew())
        try:
            yield
        finally:
            beat.cancel()
            await asyncio.gather(beat, return_exceptions=True)


_FADED = Event(kind="status", at=datetime.min.replace(tzinfo=UTC))
"""Nothing new: what was shown has to be shown again."""


async def _next(told: asyncio.Queue[Event | None]) -> Event | None:
    """The next event; `_FADED` after a while without any."""
    try:
        async with asyncio.timeout(FADES_S):
            return await told.get()
    except TimeoutError:
        return _FADED
