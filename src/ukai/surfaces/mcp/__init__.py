"""The MCP surface: streamable HTTP below `/mcp`, and stdio for one person at one machine (P4.4)."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any

from mcp.server.context import ServerRequestContext
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.types import ASGIApp

from ukai.app import identity
from ukai.app.reception import Reception
from ukai.surfaces import wire
from ukai.surfaces.mcp import door, pipe, server

METADATA = door.METADATA
metadata = door.metadata


@asynccontextmanager
async def mounted(reception: Callable[[], Reception]) -> AsyncGenerator[ASGIApp]:
    """The application to mount; inside, it answers. Nothing is kept between two requests."""
    manager = StreamableHTTPSessionManager(
        server.made(reception, door.caller_of), stateless=True, max_request_body_size=wire.MAX_BYTES
    )
    failure: Exception | None = None
    async with manager.run():
        try:
            yield door.Door(app=manager.asgi_app, reception=reception)
        except Exception as error:
            failure = error  # raised as it is, and not as a group: inside is a server that others look at
    if failure is not None:
        raise failure


async def stdio(reception: Reception) -> None:
    """Serve whoever started this process, until its input ends. A pipe shows nobody's name: it is the local one's."""
    who = identity.local(reception.engine.catalog.settings.local_principal)

    def caller(_: ServerRequestContext[Any, Any]) -> identity.Caller:
        return who

    made = server.made(lambda: reception, caller)
    async with pipe.opened() as (reading, writing):
        await made.run(reading, writing, made.create_initialization_options())
