"""Everything that is not fine, as `application/problem+json` (RFC 9457)."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, cast

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from ukai.app import access, admission, agents, context, engine, history, identity, live, run, undo, wording
from ukai.kit import canonical, errors
from ukai.surfaces import wire

MEDIA = "application/problem+json"
RETRY_AFTER_S = 1
_log = logging.getLogger(__name__)


class Json(Response):
    """JSON in UTF-8; what is no character (half of a surrogate pair in an echoed value) becomes `?`."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        document = json.dumps(content, ensure_ascii=False, allow_nan=False, default=canonical.shown)
        return document.encode("utf-8", "replace")


class Problem(Json):
    """The body is the problem and has its status."""

    media_type = MEDIA

    def __init__(self, body: Mapping[str, Any], *, retry_after_s: int | None = None) -> None:
        headers = {} if retry_after_s is None else {"Retry-After": str(retry_after_s)}
        super().__init__(dict(body), status_code=body["status"], headers=headers)


class Refused(Exception):
    """A request that is not even read: thrown by what looks at its head."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.status_code)
        self.problem = problem


def problem(
    status: int, name: str, detail: str, *, hint: str = "", where: str = "", retry_after_s: int | None = None
) -> Problem:
    """A problem of the door itself: `type` is `urn:ukai:problem:<name>`. `where`: a pointer, `?name` or a header."""
    error = {"code": name, "where": where, "message": detail, "hint": hint}
    if where.startswith("/"):
        error["pointer"] = f"#{where}"
    body = {
        "type": f"urn:ukai:problem:{name}",
        "title": name.replace("_", " "),
        "status": status,
        "detail": detail,
        "errors": [error],
    }
    return Problem(body, retry_after_s=retry_after_s)


def install(app: FastAPI) -> None:
    """Make the application answer so, whatever happens."""
    app.add_exception_handler(Refused, _refused)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(errors.UkaiError, _ours)
    app.add_exception_handler(Exception, _fault)


async def _refused(request: Request, error: Exception) -> Response:
    return cast("Refused", error).problem


async def _invalid(request: Request, error: Exception) -> Response:
    found = [_parameter(e) for e in cast("RequestValidationError", error).errors()]
    body = {
        "type": "urn:ukai:problem:invalid_parameter",
        "title": "invalid parameter",
        "status": 422,
        "detail": "; ".join(f"{e['where']}: {e['message']}" for e in found),
        "errors": found,
    }
    return Problem(body)


def _parameter(error: Mapping[str, Any]) -> dict[str, str]:
    place = [str(part) for part in error["loc"]]
    where = f"?{place[-1]}" if place[0] == "query" else place[-1]
    return {"code": "invalid_parameter", "where": where, "message": str(error["msg"]), "hint": f"correct {where}"}


async def _http(request: Request, error: Exception) -> Response:
    raised = cast("HTTPException", error)
    status = HTTPStatus(raised.status_code)
    found = problem(status.value, status.phrase.lower().replace(" ", "_"), f"{request.method} {request.url.path}")
    found.headers.update(raised.headers or {})
    return found


async def _ours(request: Request, error: Exception) -> Response:
    raised = cast("errors.UkaiError", error)
    detail = Exception.__str__(raised)
    match raised:
        case history.Gone():
            return problem(410, "gone", detail, hint=raised.hint, where="?after")
        case (
            history.NoRecord()
            | agents.NoAgent()
            | run.NoSuchRun()
            | context.NoSuchComposition()
            | context.NothingPutAside()
        ):
            return problem(404, "not_found", detail, hint=raised.hint)
        case access.NoRecord() | engine.UnknownAgent():
            return problem(404, "not_found", detail, hint=raised.hint)
        case identity.NotKnown():
            return _unknown(request, raised)
        case admission.Busy():
            return problem(429, "too_many", detail, hint=raised.hint, retry_after_s=raised.retry_after_s)
        case engine.NotServed():
            return problem(
                503, "not_served", "this agent is not served now", hint="whoever keeps it finds out with lint"
            )
        case context.UnknownSkill() | context.UnknownRanker() | live.UnknownSkill() | undo.NotNamed():
            return problem(422, "not_named", detail, hint=raised.hint)
        case context.TwoMemories():
            return problem(422, "invalid_body", detail, hint=raised.hint, where="/holds")
        case wording.NothingAsked():
            return problem(422, "nothing_asked", detail, hint=raised.hint, where="/question")
        case context.NotInvoked():
            return problem(403, "forbidden", "you may not use this agent here", hint=raised.hint)
        case identity.NoRight():
            return problem(403, "forbidden", detail, hint=raised.hint)
        case errors.TemporaryError():
            _log.warning("%s %s: %s", request.method, request.url.path, raised)
            return problem(
                503, "unavailable", "it cannot be answered now", hint=raised.hint, retry_after_s=RETRY_AFTER_S
            )
        case _:
            return await _fault(request, error)


def _unknown(request: Request, error: identity.NotKnown) -> Problem:
    status, name = (403, "insufficient_scope") if error.lacks_scope else (401, "unauthorized")
    found = problem(status, name, Exception.__str__(error), hint=error.hint)
    found.headers["WWW-Authenticate"] = wire.challenge(request.app.state.reception, error)
    return found


async def _fault(request: Request, error: Exception) -> Response:
    """What it was stands in the log and not in the answer: it may hold anything."""
    _log.error("%s %s", request.method, request.url.path, exc_info=error)
    return problem(500, "internal", "something went wrong on this side", hint="the log of the server says what")
