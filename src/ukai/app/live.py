"""A question as a stream: what is being done, then what came of it. Whoever stops listening ends the turn.

Every surface over HTTP asks through here, so that places, paces and refusals are the same everywhere.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import dataclass, replace

from ukai.app import agents, audit, identity
from ukai.app import ask as asking
from ukai.app.admission import Busy
from ukai.app.ask import Exchange, Outcome
from ukai.app.reception import Reception
from ukai.kit import unicode
from ukai.kit.errors import UkaiError
from ukai.runtime.events import Event
from ukai.runtime.skills import UnknownSkill

__all__ = ["Event", "Exchange", "Outcome", "Question", "Told", "UnknownSkill", "asked", "outcome", "refused"]

Told = Event | Outcome
MAX_EARLIER = 50
"""Exchanges of a conversation that are handed on, the newest."""


@dataclass(frozen=True, kw_only=True)
class Question:
    """What is asked, by whom and from where."""

    agent: str
    text: str
    caller: identity.Caller
    surface: str
    place: identity.Place | None = None
    """Where the answer goes; None is the caller's own screen."""
    earlier: Sequence[Exchange] = ()
    conversation: str | None = None
    skill: str | None = None


@asynccontextmanager
async def asked(reception: Reception, question: Question) -> AsyncGenerator[AsyncGenerator[Told]]:
    """The stream of one turn, its last part the Outcome. Inside, the turn has begun; leaving early cancels it.

    Raises NoAgent, Busy, and what `ask` raises before it begins: so that a surface can refuse before it answers.
    """
    opened = reception.engine
    question = _storable(question)
    try:
        agents.need(opened, question.caller, question.surface, question.agent)
        reception.pace.take(question.caller.principal)
    except (agents.NoAgent, Busy) as refusal:
        await refused(reception, question.surface, refusal, who=question.caller.principal, about=question.agent)
        raise
    told: asyncio.Queue[Told | UkaiError | None] = asyncio.Queue()

    async def turn() -> None:
        try:
            async with reception.admission.turn():
                outcome = await asking.ask(
                    opened,
                    question.agent,
                    question.text,
                    caller=question.caller,
                    surface=question.surface,
                    place=question.place,
                    earlier=question.earlier[-MAX_EARLIER:],
                    conversation=question.conversation,
                    skill=question.skill,
                    progress=told.put_nowait,
                )
            told.put_nowait(outcome)
        except UkaiError as error:
            told.put_nowait(error)
        finally:
            told.put_nowait(None)

    task = asyncio.create_task(turn())
    try:
        first = await told.get()
        if isinstance(first, Busy):
            await refused(reception, question.surface, first, who=question.caller.principal, about=question.agent)
        if isinstance(first, UkaiError):
            raise first
        if first is None:
            await task  # a fault of ours, which is raised here
        else:
            async with aclosing(_rest(first, told, task)) as stream:
                yield stream
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def outcome(reception: Reception, question: Question) -> Outcome:
    """The same for whoever only wants the end."""
    async with asked(reception, question) as stream:
        async for told in stream:
            if isinstance(told, Outcome):
                return told
    raise AssertionError("a turn ends with its outcome")


def _storable(question: Question) -> Question:
    return replace(
        question,
        conversation=None if question.conversation is None else unicode.storable(question.conversation),
        earlier=[
            Exchange(question=unicode.storable(e.question), answer=unicode.storable(e.answer)) for e in question.earlier
        ],
    )


CODES = {"NotKnown": "not_known", "NoAgent": "no_agent", "TooOften": "too_often", "Busy": "busy"}


async def refused(reception: Reception, surface: str, refusal: UkaiError, *, who: str, about: str = "") -> None:
    """Keep that somebody was refused before there was a run; of a flood only so many in a minute."""
    try:
        reception.noted.take("")
    except Busy:
        return
    code = CODES.get(type(refusal).__name__, "refused")
    kept = audit.Refusal(
        at=reception.engine.clock.now(),
        surface=surface,
        who=who,
        code=code,
        about=about,
        detail=Exception.__str__(refusal),
    )
    await audit.refused(reception.engine.db, kept)


async def _rest(
    first: Told, told: asyncio.Queue[Told | UkaiError | None], task: asyncio.Task[None]
) -> AsyncGenerator[Told]:
    one: Told | UkaiError | None = first
    while one is not None:
        if isinstance(one, UkaiError):
            raise one
        yield one
        one = await told.get()
    await task
