"""What is refused, in the shape that OpenAI's clients read: `{"error": {"message", "type", "param", "code"}}`."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, cast

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from ukai.app import admission, agents, engine, identity
from ukai.kit.errors import TemporaryError, UkaiError
from ukai.surfaces import wire

_log = logging.getLogger(__name__)


class Refused(Exception):
    """A request that is not taken."""

    def __init__(self, status: int, message: str, *, kind: str, param: str | None = None) -> None:
        super().__init__(message)
        self.status, self.kind, self.param = status, kind, param


def error(message: str, *, kind: str, type: str = "invalid_request_error", param: str | None = None) -> dict[str, Any]:
    """The body."""
    return {"error": {"message": message, "type": type, "param": param, "code": kind}}


def of(failure: Exception) -> tuple[int, dict[str, Any], Mapping[str, str]]:
    """Status, body and headers of what was raised."""
    said = f"{Exception.__str__(failure)}. {getattr(failure, 'hint', '')}".strip(". ") if failure.args else ""
    match failure:
        case Refused():
            return failure.status, error(str(failure), kind=failure.kind, param=failure.param), {}
        case identity.NotKnown():
            status = 403 if failure.lacks_scope else 401
            return status, error(said, kind="insufficient_scope" if failure.lacks_scope else "invalid_api_key"), {}
        case agents.NoAgent():
            return 404, error(said, kind="model_not_found", param="model"), {}
        case admission.Busy():
            headers = {"Retry-After": str(failure.retry_after_s)}
            return 429, error(said, kind="rate_limit_exceeded", type="rate_limit_error"), headers
        case wire.TooLarge():
            return 413, error(f"the body is larger than {wire.MAX_BYTES} bytes", kind="request_too_large"), {}
        case engine.NotServed():
            return 503, error("this agent is not served now", kind="not_served", type="server_error"), _FINAL
        case TemporaryError():
            said = "it cannot be answered now"
            return 503, error(said, kind="unavailable", type="server_error"), {"Retry-After": "1"}
        case _:
            _log.error("openai surface", exc_info=failure)
            said = "something went wrong on this side; the log of the server says what"
            return 500, error(said, kind="internal", type="server_error"), _FINAL


_FINAL: Mapping[str, str] = {"x-should-retry": "false"}  # their clients would ask again, and pay again


async def _shown(request: Request, failure: Exception) -> Response:
    status, body, headers = of(failure)
    if isinstance(failure, identity.NotKnown):
        headers = {**headers, "WWW-Authenticate": wire.challenge(request.app.state.reception, failure)}
    return JSONResponse(body, status_code=status, headers=dict(headers))


async def _http(request: Request, failure: Exception) -> Response:
    raised = cast("HTTPException", failure)
    body = error(f"{request.method} {request.url.path}: {raised.detail}", kind="not_found")
    return JSONResponse(body, status_code=raised.status_code, headers=raised.headers)


HANDLERS: dict[Any, Any] = {
    Refused: _shown,
    UkaiError: _shown,
    wire.TooLarge: _shown,
    HTTPException: _http,
    Exception: _shown,
}
