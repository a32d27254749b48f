"""Who may come in: a resource server (RFC 9728) that checks tokens and makes none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

from mcp.server.context import ServerRequestContext
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ukai.app.identity import Caller, NotKnown
from ukai.app.reception import Reception
from ukai.kit.errors import TemporaryError
from ukai.surfaces import wire
from ukai.surfaces.mcp.call import CHANNEL

METADATA = "/.well-known/oauth-protected-resource/mcp"
BAD_JSON, BAD_REQUEST = -32700, -32600
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
        if scope["method"] == "POST":
            await self._read(scope, receive, send)
        else:
            await self.app(scope, receive, send)

    async def _read(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on a body that means one thing: the library would take the last of two equal keys."""
        try:
            raw = await wire.body(Request(scope, receive))
        except wire.TooLarge as large:
            most = f"the body is too large: at most {wire.MAX_BYTES} bytes, received {large.size}"
            await _refused(413, BAD_REQUEST, most)(scope, receive, send)
            return
        except ClientDisconnect:
            return
        if wrong := wire.refusal(raw):
            await _refused(400, BAD_JSON, str(wrong), data=wrong.as_json())(scope, receive, send)
            return
        await self.app(scope, _again(raw, receive), send)


def _again(raw: bytes, receive: Receive) -> Receive:
    """A body that was read already, and then whatever comes after it."""
    pending: list[Message] = [{"type": "http.request", "body": raw, "more_body": False}]

    async def replay() -> Message:
        return pending.pop() if pending else await receive()

    return replay


def _refused(status: int, code: int, message: str, **more: Any) -> Response:
    """An error of JSON-RPC; what cannot be read has no id that could be answered to."""
    said = {"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": message, **more}}
    return JSONResponse(said, status_code=status)


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
