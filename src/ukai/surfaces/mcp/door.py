"""Who may come in: a resource server (RFC 9728) that checks tokens and makes none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

from mcp.server.context import ServerRequestContext
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from ukai.app.identity import Caller, NotKnown
from ukai.app.reception import Reception
from ukai.kit.errors import TemporaryError
from ukai.surfaces import wire
from ukai.surfaces.mcp.call import CHANNEL

METADATA = "/.well-known/oauth-protected-resource/mcp"
_KEY = "ukai.caller"


@dataclass(frozen=True, kw_only=True)
class Door:
    """Stands before the MCP application."""

    app: ASGIApp
    reception: Callable[[], Reception]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on who is known."""
        if scope["type"] != "http":
            return
        here = self.reception()
        try:
            scope[_KEY] = await wire.caller(here, scope, CHANNEL)
        except NotKnown as refusal:
            status = 403 if refusal.lacks_scope else 401
            said = {"error": Exception.__str__(refusal), "hint": refusal.hint}
            headers = {"WWW-Authenticate": wire.challenge(here, refusal)}
            await JSONResponse(said, status_code=status, headers=headers)(scope, receive, send)
            return
        except TemporaryError as away:
            said = {"error": "it cannot be answered now", "hint": away.hint}
            await JSONResponse(said, status_code=503, headers={"Retry-After": "1"})(scope, receive, send)
            return
        await self.app(scope, receive, send)


def caller_of(context: ServerRequestContext[Any, Any]) -> Caller:
    """Whom the door let in with this request."""
    return cast("Request", context.request).scope[_KEY]


async def metadata(request: Request) -> Response:
    """Where a client gets a token for this resource; 404 where there is no login."""
    here: Reception = request.app.state.reception
    if here.login is None or not here.url:
        return JSONResponse({"error": "no login is configured"}, status_code=404)
    found: dict[str, Any] = {
        "resource": f"{here.url}/mcp",
        "resource_name": "Ukai",
        "authorization_servers": [here.login.issuer],
        "bearer_methods_supported": ["header"],
    }
    if here.login.scope:
        found["scopes_supported"] = [here.login.scope]
    return JSONResponse(found)
