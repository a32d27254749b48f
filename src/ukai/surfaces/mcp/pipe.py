"""Standard input, line by line, for the library: what does not mean one thing is answered here and not handed on."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, TextIO, cast

import anyio
import mcp_types as types
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage

from ukai.surfaces import wire
from ukai.surfaces.mcp.door import BAD_JSON

Send = Callable[[SessionMessage], Awaitable[None]]


@asynccontextmanager
async def opened() -> AsyncGenerator[tuple[Any, Any]]:
    """The streams to serve. As with the library's own input, whatever this process starts finds an empty one."""
    wire_in = os.dup(0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    # A thread may still wait for a line when this ends: the number of a closed one would be given to somebody else.
    lines = _Lines(os.fdopen(wire_in, encoding="utf-8", errors="replace", closefd=False))
    async with stdio_server(stdin=cast("anyio.AsyncFile[str]", lines)) as (reading, writing):
        lines.send = writing.send
        yield reading, writing


class _Lines:
    """What `stdio_server` asks of an input. The library takes the last of two equal keys, another reader the first."""

    def __init__(self, file: TextIO) -> None:
        self.file = anyio.wrap_file(file)
        self.send: Send | None = None

    async def __aiter__(self) -> AsyncIterator[str]:
        async for line in self.file:
            wrong = wire.refusal(line.encode()) if line.strip() else None
            if wrong is None or self.send is None:
                yield line
                continue
            error = types.ErrorData(code=BAD_JSON, message=str(wrong), data=wrong.as_json())
            await self.send(SessionMessage(types.JSONRPCError(jsonrpc="2.0", id=_id(line), error=error)))


def _id(line: str) -> str | int | None:
    """Whose answer it is, so that nobody waits for one; None where that cannot be known."""
    if not line.lstrip().startswith("{"):
        return None
    try:
        pairs: list[tuple[str, Any]] = json.loads(line, object_pairs_hook=list)
    except (ValueError, RecursionError):
        return None
    found = [v for k, v in pairs if k == "id"]
    return found[0] if len(found) == 1 and isinstance(found[0], str | int) else None
