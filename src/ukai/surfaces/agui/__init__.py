"""The AG-UI surface: one endpoint for each agent, whose stream of events is the turn's own (P4.4, P4.5).

RUN_STARTED, steps and tool calls come while it works; the text comes once, after every rule has read it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from ukai.app import live, wording
from ukai.app.reception import Reception
from ukai.kit.errors import UkaiError
from ukai.surfaces import wire
from ukai.surfaces.agui.events import Script

CHANNEL = "rest"
"""It is HTTP for programs; an agent that is served there is served here."""


class Message(BaseModel):
    """One message of the thread; others than user and assistant are not read."""

    id: str = ""
    role: str
    content: str | list[dict[str, Any]] | None = None

    @property
    def text(self) -> str:
        """Its words."""
        if isinstance(self.content, list):
            return "\n".join(str(part.get("text", "")) for part in self.content)
        return self.content or ""


class Input(BaseModel):
    """`RunAgentInput`, as far as it is used: an agent takes no state and no tools from a client."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)
    thread_id: Annotated[str, Field(min_length=1, max_length=200)]
    run_id: Annotated[str, Field(min_length=1, max_length=200)]
    messages: Annotated[list[Message], Field(min_length=1)]


def routes() -> list[Route]:
    """What is added to an application that has a reception."""
    return [Route("/agui/{agent}", _run, methods=["POST"])]


async def _run(request: Request) -> Response:
    """One run. Raises NotKnown, and what asking raises."""
    here: Reception = request.app.state.reception
    who = await wire.caller(here, request.scope, CHANNEL)
    raw = await wire.body(request)
    if wrong := wire.refusal(raw):
        return JSONResponse({"error": f"{wrong.where.strip('/')}: {wrong.message}"}, status_code=422)
    try:
        given = Input.model_validate_json(raw)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = "/".join(str(part) for part in first["loc"])
        return JSONResponse({"error": f"{where}: {first['msg']}"}, status_code=422)
    spoken = [m for m in given.messages if m.role in ("user", "assistant")]
    if not spoken or spoken[-1].role != "user" or not 0 < len(spoken[-1].text.strip()) <= wording.MOST:
        return JSONResponse({"error": "the last message is no question of the user"}, status_code=422)
    question = live.Question(
        agent=request.path_params["agent"],
        text=spoken[-1].text.strip(),
        caller=who,
        surface=CHANNEL,
        earlier=_earlier(spoken[:-1]),
        conversation=given.thread_id,
    )
    async with AsyncExitStack() as stack:
        stream = await stack.enter_async_context(live.asked(here, question))
        return wire.Stream(_events(Script(thread=given.thread_id, run=given.run_id), stream), stack.pop_all())
    raise AssertionError("a stack passes on what happens inside")


async def _events(script: Script, stream: Any) -> AsyncIterator[bytes]:
    try:
        async for told in stream:
            for event in script.told(told):
                yield wire.event(event)
    except Exception as fault:
        # A client that saw a run begin waits for its end; what failed is for our own log.
        text = str(fault) if isinstance(fault, UkaiError) else "something failed on our side"
        yield wire.event({"type": "RUN_ERROR", "message": text, "code": "fault"})
        raise


def _earlier(spoken: Sequence[Message]) -> list[live.Exchange]:
    """Questions with their answers; what was asked twice before an answer counts as one question."""
    found: list[live.Exchange] = []
    said = ""
    for message in spoken:
        if message.role == "user":
            said = f"{said}\n\n{message.text}".strip()
        else:
            found.append(live.Exchange(question=said, answer=message.text))
            said = ""
    return found
