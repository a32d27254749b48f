"""`POST /v1/chat/completions`: the last message is the question, those before it are the conversation.

Of a stream, the text comes as one piece after every rule has passed it (P4.5); before that come the role, so that a
client sees that it was heard, and comments that keep the connection open.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AsyncExitStack
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, ValidationError
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from ukai.app import live, wording
from ukai.app.identity import Caller
from ukai.kit import canonical
from ukai.kit.errors import UkaiError
from ukai.surfaces import wire
from ukai.surfaces.openai import failures, models

FINISHED = {"answered": "stop", "blocked": "content_filter", "refused": "content_filter", "budget": "length"}
DONE = b"data: [DONE]\n\n"


class Part(BaseModel):
    """A piece of a message."""

    type: str
    text: str = ""


class Message(BaseModel):
    """One message."""

    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: str | list[Part] | None = None

    @property
    def text(self) -> str:
        """Its words."""
        if isinstance(self.content, list):
            return "\n".join(part.text for part in self.content)
        return self.content or ""


class StreamOptions(BaseModel):
    """What a stream carries."""

    include_usage: bool = False


class Asked(BaseModel):
    """A request. Knobs of sampling are the agent's own and are not read."""

    model: str
    messages: Annotated[list[Message], Field(min_length=1)]
    stream: bool = False
    stream_options: StreamOptions | None = None
    n: int | None = None
    tools: list[Any] | None = None


async def complete(request: Request) -> Response:
    """Answer. Raises Refused, and what asking raises."""
    here, who = await models.asking(request)
    asked = _read(await wire.body(request))
    question = _question(asked, who)
    created = int(time.time())
    if not asked.stream:
        outcome = await wire.while_here(request, live.outcome(here, question))
        return JSONResponse(None) if outcome is None else _whole(outcome, asked.model, created)
    async with AsyncExitStack() as stack:
        stream = await stack.enter_async_context(live.asked(here, question))
        return wire.Stream(_chunks(stream, asked, created), stack.pop_all())
    raise AssertionError("a stack passes on what happens inside")


def _read(raw: bytes) -> Asked:
    if wrong := wire.refusal(raw):
        where = wrong.where.strip("/").replace("/", ".")
        raise failures.Refused(400, f"{where}: {wrong.message}", kind="invalid_request", param=where)
    try:
        asked = Asked.model_validate_json(raw)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise failures.Refused(400, f"{where}: {first['msg']}", kind="invalid_request", param=where) from None
    if asked.n not in (None, 1):
        raise failures.Refused(400, "one answer is given, so `n` is 1", kind="unsupported_parameter", param="n")
    if asked.tools:
        message = "an agent has its own tools, and takes none from a client"
        raise failures.Refused(400, message, kind="unsupported_parameter", param="tools")
    for index, message in enumerate(asked.messages):
        if isinstance(message.content, list) and any(part.type != "text" for part in message.content):
            where = f"messages.{index}.content"
            raise failures.Refused(400, "only text can be asked", kind="unsupported_content", param=where)
    return asked


def _question(asked: Asked, who: Caller) -> live.Question:
    """What a client says as `system` is not read: an agent's prompt belongs to the team that owns it."""
    spoken = [m for m in asked.messages if m.role in ("user", "assistant")]
    if not spoken or spoken[-1].role != "user" or not spoken[-1].text.strip():
        raise failures.Refused(400, "the last message is no question", kind="invalid_request", param="messages")
    text = spoken.pop().text
    if len(text) > wording.MOST:
        message = f"a question has at most {wording.MOST} characters"
        raise failures.Refused(400, message, kind="string_above_max_length", param="messages")
    earlier: list[live.Exchange] = []
    said = ""
    for message in spoken:
        if message.role == "user":
            said = f"{said}\n\n{message.text}".strip()
        else:
            earlier.append(live.Exchange(question=said, answer=message.text))
            said = ""
    text = f"{said}\n\n{text}".strip()
    return live.Question(agent=asked.model, text=text, caller=who, surface=models.CHANNEL, earlier=earlier)


def _whole(outcome: live.Outcome, model: str, created: int) -> Response:
    if outcome.status not in FINISHED:
        body = failures.error(outcome.text, kind="run_failed", type="server_error")
        return JSONResponse(body, status_code=500, headers={"x-should-retry": "false"})
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": outcome.text, "refusal": None},
        "finish_reason": FINISHED[outcome.status],
        "logprobs": None,
    }
    head = _head(outcome.run.run_id, model, created, "chat.completion")
    return JSONResponse({**head, "choices": [choice], "usage": _usage(outcome), "ukai": _ours(outcome)})


async def _chunks(stream: AsyncGenerator[live.Told], asked: Asked, created: int) -> AsyncIterator[bytes]:
    head: dict[str, Any] = {}
    try:
        async for told in stream:
            if not isinstance(told, live.Outcome):
                if told.kind == "started":
                    head = _head(str(told.data["run_id"]), asked.model, created, "chat.completion.chunk")
                    yield _chunk(head, {"role": "assistant", "content": ""})
                continue
            for part in _last(told, head, asked):
                yield part
    except UkaiError as failure:
        yield wire.event(failures.of(failure)[1])
    yield DONE


def _last(outcome: live.Outcome, head: dict[str, Any], asked: Asked) -> list[bytes]:
    if outcome.status not in FINISHED:
        return [wire.event(failures.error(outcome.text, kind="run_failed", type="server_error"))]
    parts = [
        _chunk(head, {"content": outcome.text}),
        _chunk({**head, "ukai": _ours(outcome)}, {}, finish=FINISHED[outcome.status]),
    ]
    if asked.stream_options is not None and asked.stream_options.include_usage:
        parts.append(wire.event({**head, "choices": [], "usage": _usage(outcome)}))
    return parts


def _chunk(head: dict[str, Any], delta: dict[str, Any], *, finish: str | None = None) -> bytes:
    return wire.event({**head, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})


def _head(run_id: str, model: str, created: int, object: str) -> dict[str, Any]:
    return {"id": f"chatcmpl-{run_id}", "object": object, "created": created, "model": model}


def _usage(outcome: live.Outcome) -> dict[str, Any]:
    """Everything that the run used, rules and rewrites included."""
    used = outcome.run.usage
    asked, said = sum(u.input for u in used), sum(u.output for u in used)
    return {
        "prompt_tokens": asked,
        "completion_tokens": said,
        "total_tokens": asked + said,
        "prompt_tokens_details": {"cached_tokens": sum(u.cached for u in used)},
    }


def _ours(outcome: live.Outcome) -> dict[str, Any]:
    sources = [{"key": s.key, "text": s.text, "as_of": s.as_of and canonical.shown(s.as_of)} for s in outcome.sources]
    return {
        "run_id": outcome.run.run_id,
        "status": outcome.status,
        "sources": sources,
    }
