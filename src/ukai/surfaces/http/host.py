"""Only what is meant for this server is answered.

Without a login whoever reaches the server is the local principal, so two things are looked at that a browser cannot be
made to hide. A page of another site can make a browser call us under a name of that site which points here (DNS
rebinding): such a request names that site as its host. And it can make a browser send us something: that names the
site as its origin, whatever login there is.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from ukai.app.reception import Reception
from ukai.surfaces.http.problems import problem

_HERE = re.compile(r"(?:127(?:\.[0-9]{1,3}){3}|localhost|\[::1\])(?::[0-9]{1,5})?\Z", re.IGNORECASE)


@dataclass(frozen=True)
class OnlyMeant:
    """Stands before everything that is served."""

    app: ASGIApp
    reception: Reception

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on what is meant for us."""
        if scope["type"] == "http":
            headers = Headers(scope=scope)
            host = headers.get("host", "")
            if self.reception.login is None and not _HERE.match(host):
                refused = problem(421, "misdirected", "this is not the host that was asked for", hint="call 127.0.0.1")
                await refused(scope, receive, send)
                return
            if not self._is_own(headers.get("origin"), host):
                refused = problem(403, "foreign_origin", "a page of another site sent this", hint="call from a program")
                await refused(scope, receive, send)
                return
        await self.app(scope, receive, send)

    def _is_own(self, origin: str | None, host: str) -> bool:
        if origin is None:
            return True
        netloc = urlsplit(origin).netloc.lower() if origin != "null" else ""
        return bool(netloc) and netloc in (host.lower(), urlsplit(self.reception.url).netloc.lower())
