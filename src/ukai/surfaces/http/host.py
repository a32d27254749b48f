"""Only what asks for this machine by its own name is answered.

A page of another site can make a browser call us under a name of that site which points here (DNS rebinding): the
browser then takes us for that site and reads the answers to it. Such a request names that site as its host.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from ukai.surfaces.http.problems import problem

_HERE = re.compile(r"(?:127(?:\.[0-9]{1,3}){3}|localhost|\[::1\])(?::[0-9]{1,5})?\Z", re.IGNORECASE)


@dataclass(frozen=True)
class OnlyHere:
    """Stands before the application."""

    app: ASGIApp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on what is meant for us."""
        if scope["type"] == "http" and not _HERE.match(Headers(scope=scope).get("host", "")):
            refused = problem(421, "misdirected", "this is not the host that was asked for", hint="call 127.0.0.1")
            await refused(scope, receive, send)
            return
        await self.app(scope, receive, send)
