"""What every surface over HTTP does alike: who asks, how much may come in, streams that end with their client."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from typing import Any, TypeVar

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from ukai.app import live, reception
from ukai.app.identity import Caller, NotKnown
from ukai.kit import canonical, strict_json
from ukai.kit.finding import Finding

T = TypeVar("T")
MAX_BYTES = 1 << 20
"""Of a body: a question with the conversation before it."""
QUIET_S = 15.0
"""After so long without a word a stream says that it is alive; proxies end connections that are silent for a minute."""
ALIVE = b": alive\n\n"


class TooLarge(Exception):
    """A body above the limit."""

    def __init__(self, size: str) -> None:
        super().__init__(size)
        self.size = size


def shown(scope: Scope, *, session: str = "") -> reception.Shown:
    """What a request shows of who sends it."""
    headers = {k.decode("latin-1").lower(): v.decode("latin-1") for k, v in scope["headers"]}
    client = scope.get("client")
    return reception.Shown(
        authorization=headers.get("authorization", ""),
        session=session,
        peer=client[0] if client else "",
        headers=headers,
    )


async def caller(here: reception.Reception, scope: Scope, surface: str, *, session: str = "") -> Caller:
    """Who asks; a refusal is kept. Raises NotKnown."""
    given = shown(scope, session=session)
    try:
        return await here.caller(given)
    except NotKnown as refusal:
        await live.refused(here, surface, refusal, who=f"peer:{given.peer}", about=scope["path"])
        raise


def challenge(here: reception.Reception, error: NotKnown) -> str:
    """The header `WWW-Authenticate` of a refusal (RFC 6750, RFC 9728)."""
    parts = ['realm="ukai"']
    if here.url and here.login is not None:
        parts.append(f'resource_metadata="{here.url}/.well-known/oauth-protected-resource/mcp"')
    scope = error.lacks_scope or (here.login.scope if here.login else "")
    if scope:
        parts.append(f'scope="{scope}"')
    if error.lacks_scope:
        parts.insert(0, 'error="insufficient_scope"')
    return "Bearer " + ", ".join(parts)


async def body(request: Request, *, most: int = MAX_BYTES) -> bytes:
    """The body, read no further than it may be long. Raises TooLarge."""
    length = request.headers.get("content-length", "")
    if length.isdecimal() and int(length[:20]) > most:
        raise TooLarge(length[:30])
    found = bytearray()
    async for part in request.stream():
        found += part
        if len(found) > most:
            raise TooLarge(f"more than {len(found)}")
    return bytes(found)


def refusal(raw: bytes) -> Finding | None:
    """Why a body is no JSON that means one thing: a key twice, half a character, nesting without end; None where it is.

    What reads it into a form is more lenient: of a key that stands twice it would take the last, and a proxy that looks
    in before may have taken the first.
    """
    _, findings = strict_json.loads(raw, strict_json.Limits(bytes=len(raw)))
    return findings[0] if findings else None


def event(data: Any, kind: str = "") -> bytes:
    """One server-sent event; JSON has no line breaks of its own."""
    head = f"event: {kind}\n" if kind else ""
    return f"{head}data: {json.dumps(data, ensure_ascii=False, default=canonical.shown)}\n\n".encode("utf-8", "replace")


async def while_here(request: Request, work: Awaitable[T]) -> T | None:
    """What comes of `work`; None when the client went away before, and then the work is ended."""
    task = asyncio.ensure_future(work)
    gone = asyncio.ensure_future(_gone(request.receive))
    try:
        await asyncio.wait({task, gone}, return_when=asyncio.FIRST_COMPLETED)
        return await task if task.done() else None
    finally:
        await _ended(task, gone)


class Stream(Response):
    """Events as they come. What holds them open is closed with the stream, and that ends the turn."""

    def __init__(self, parts: AsyncIterator[bytes], holding: AsyncExitStack, headers: Mapping[str, str] = {}) -> None:
        # Proxies would hold the events back until there are enough of them.
        own = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        super().__init__(media_type="text/event-stream; charset=utf-8", headers={**own, **headers})
        del self.headers["content-length"]
        self.parts, self.holding = parts, holding

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send until the end or until nobody listens."""
        sending = asyncio.ensure_future(self._send(send))
        gone = asyncio.ensure_future(_gone(receive))
        try:
            await asyncio.wait({sending, gone}, return_when=asyncio.FIRST_COMPLETED)
            if sending.done():
                await sending
        finally:
            await _ended(sending, gone)
            await self.holding.aclose()

    async def _send(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        async for part in _lively(self.parts):
            await send({"type": "http.response.body", "body": part, "more_body": True})
        await send({"type": "http.response.body", "body": b""})


async def _lively(parts: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    waiting: asyncio.Task[bytes] | None = None
    try:
        while True:
            waiting = waiting or asyncio.ensure_future(_next(parts))
            done, _ = await asyncio.wait({waiting}, timeout=QUIET_S)
            if not done:
                yield ALIVE
                continue
            part, waiting = await waiting, None
            if not part:
                return
            yield part
    finally:
        if waiting is not None:
            await _ended(waiting)


async def _next(parts: AsyncIterator[bytes]) -> bytes:
    """The next part; nothing at the end. (A task may not raise StopAsyncIteration.)"""
    return await anext(parts, b"")


async def _gone(receive: Callable[[], Awaitable[Message]]) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _ended(*tasks: asyncio.Future[Any]) -> None:
    for task in tasks:
        task.cancel()
    done, _ = await asyncio.wait(tasks)
    for task in done:
        if not task.cancelled():
            task.exception()  # whoever wanted it has had it
