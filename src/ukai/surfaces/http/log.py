"""One line in the log for each request: what came, what it was answered with, how long it took, what was made for it.

    POST /agents/{name}/ask 200 1834 ms run=0190… composition=0190…

A path stands as its route spells it. No question, answer, name, address or key is in a line: the ids lead to the run
and the composition, and who may read those is decided there.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ukai.app import telemetry

NO_ROUTE = "(no route)"
WATCHED = frozenset({"/healthz", "/readyz", "/metrics"})
"""Asked every few seconds by machines: told only where something is wrong, or to whoever wants DEBUG."""
_log = logging.getLogger("ukai.requests")


@dataclass(frozen=True)
class Logged:
    """Stands before everything else."""

    app: ASGIApp
    seconds: Callable[[], float] = time.monotonic

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass everything on, and tell what came of it: of a stream, when it ended."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began, status = self.seconds(), 500  # what fails before it is answered is answered so above us

        async def answered(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        with telemetry.making() as made:
            try:
                await self.app(scope, receive, answered)
            finally:
                route = _route(scope)
                level = logging.DEBUG if route in WATCHED and status < 400 else logging.INFO
                ms = (self.seconds() - began) * 1000
                _log.log(level, "%s", " ".join((scope["method"], route, str(status), f"{ms:.0f} ms", *made)))


def _route(scope: Scope) -> str:
    """The path with names in the place of values; of what no route takes, nothing that somebody wrote."""
    if "endpoint" not in scope:
        return NO_ROUTE
    below: str = scope.get("root_path", "")
    path: str | None = getattr(scope.get("route"), "path", None)
    if path is None and not below:  # only the framework's own routes say how they are spelt
        names = {str(value): f"{{{name}}}" for name, value in scope.get("path_params", {}).items()}
        path = "/".join(names.get(part, part) for part in str(scope["path"]).split("/"))
    return f"{below}{path or ''}"
