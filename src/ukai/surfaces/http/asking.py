"""`GET /agents`, `POST /agents/{name}/ask`: a question, answered as one document or as a stream (P4.4, P4.5)."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AsyncExitStack
from typing import Annotated, Any

from fastapi import APIRouter, Path, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from ukai.app import agents, live, wording
from ukai.app.identity import Caller
from ukai.surfaces import wire
from ukai.surfaces.http import body as bodies
from ukai.surfaces.http.here import CHANNEL, asking, reception
from ukai.surfaces.http.problems import Json

router = APIRouter(default_response_class=Json)
STREAM = "text/event-stream"


class Exchange(BaseModel):
    """A question and its answer from earlier in the conversation."""

    model_config = ConfigDict(extra="forbid", strict=True)
    question: str
    answer: str


class Asked(BaseModel):
    """A question."""

    model_config = ConfigDict(extra="forbid", strict=True)
    question: wording.Question
    skill: str | None = None
    """One of the agent's skills, by name."""
    conversation: Annotated[str | None, Field(max_length=200)] = None
    """What keeps several questions together."""
    earlier: Annotated[list[Exchange], Field(max_length=live.MAX_EARLIER)] = []
    """What was said before, oldest first."""


@router.get("/agents", operation_id="agents", summary="The agents that you may ask here.")
async def listed(request: Request) -> Response:
    """By name; none of them with a `hint` why."""
    who = await asking(request)
    found = agents.listed(reception(request).engine, who, CHANNEL)
    document = {"agents": [{"name": a.name, "description": a.description} for a in found]}
    return Json(document if found else {**document, "hint": agents.NONE})


@router.post("/agents/{name}/ask", operation_id="ask", summary="Ask an agent.", response_class=Json)
async def ask(request: Request, name: Annotated[str, Path(max_length=64)]) -> Response:
    """With `Accept: text/event-stream` what is being done comes as events; words of the answer come only once every
    rule has passed it, in the event `answer`. A client that goes away ends the turn.
    """
    who = await asking(request)
    question = _question(name, await bodies.parsed(request, Asked), who)
    here = reception(request)
    if STREAM not in request.headers.get("accept", ""):
        done = await wire.while_here(request, live.outcome(here, question))
        return Json(None) if done is None else answered(done)
    async with AsyncExitStack() as stack:
        stream = await stack.enter_async_context(live.asked(here, question))
        return wire.Stream(_events(stream), stack.pop_all())
    raise AssertionError("a stack passes on what happens inside")


def answered(outcome: live.Outcome) -> Json:
    """What came of it. That there is no answer is a state of the run and no error of HTTP."""
    return Json(document(outcome))


def document(outcome: live.Outcome) -> dict[str, Any]:
    """Answer, sources, status, and the run that tells all of it."""
    return {
        "run_id": outcome.run.run_id,
        "status": outcome.status,
        "text": outcome.text,
        "sources": [{"key": s.key, "text": s.text, "as_of": s.as_of} for s in outcome.sources],
    }


async def _events(stream: AsyncGenerator[live.Told]) -> AsyncIterator[bytes]:
    async for told in stream:
        if isinstance(told, live.Outcome):
            yield wire.event(document(told), "done")
        else:
            yield wire.event({"at": told.at, **told.data}, told.kind)


def _question(name: str, body: Asked, who: Caller) -> live.Question:
    return live.Question(
        agent=name,
        text=body.question,
        caller=who,
        surface=CHANNEL,
        earlier=[live.Exchange(question=e.question, answer=e.answer) for e in body.earlier],
        conversation=body.conversation,
        skill=body.skill,
    )
