"""The web surface: one page to ask, to watch what is being done, to open the sources and to see why (P4.4, X4)."""

from __future__ import annotations

import os
import secrets
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import AsyncExitStack
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.sessions import SessionMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from ukai.app import admission, agents, context, live, reception, run, wording
from ukai.app.identity import Caller, NotKnown
from ukai.kit.errors import TemporaryError, UkaiError
from ukai.surfaces import wire
from ukai.surfaces.web import login, views

CHANNEL = "web"
SHOWN = 5
"""Compositions whose report the page of a run shows."""


class Exchange(BaseModel):
    """What was said before on this page."""

    model_config = ConfigDict(extra="forbid", strict=True)
    question: str
    answer: str


class Asked(BaseModel):
    """A question of the page."""

    model_config = ConfigDict(extra="forbid", strict=True)
    agent: Annotated[str, Field(max_length=64)]
    question: wording.Question
    earlier: Annotated[list[Exchange], Field(max_length=live.MAX_EARLIER)] = []


def made(here: reception.Reception, *, environ: Mapping[str, str] = os.environ) -> Starlette:
    """The application below `/page`. Raises NotSet."""
    page = here.login.page if here.login else None
    # Without a login nothing is kept in a session; a key of this process alone is then enough.
    key = reception.variable(environ, page.sessions, "login.page.sessions") if page else secrets.token_urlsafe(32)
    sessions = Middleware(
        SessionMiddleware,
        secret_key=key,
        session_cookie="ukai",
        max_age=page.hours * 3600 if page else None,
        path=views.BASE,
        same_site="lax",
        https_only=here.url.startswith("https:"),
    )
    app = Starlette(
        routes=[
            Route("/", start),
            Route("/page.css", styles),
            Route("/page.js", script),
            Route("/ask", ask, methods=["POST"]),
            Route("/runs/{run_id}", why),
            Route("/login", login.begin),
            Route("/callback", login.callback),
            Route("/logout", login.leave, methods=["POST"]),
        ],
        middleware=[sessions],
        exception_handlers={NotKnown: _unknown, UkaiError: _problem, wire.TooLarge: _problem},
    )
    app.state.reception = here
    app.state.provider = login.client(here, environ)
    return app


async def start(request: Request) -> Response:
    """The page."""
    here, who = await _asking(request)
    opened = here.engine
    known = agents.listed(opened, who, CHANNEL)
    before = await run.page(opened, who.principal, limit=10)
    return views.page(request, "ask", who=who.principal, agents=known, runs=before["runs"])


async def styles(request: Request) -> Response:
    """Its sheet."""
    return views.asset("page.css", "text/css")


async def script(request: Request) -> Response:
    """Its script."""
    return views.asset("page.js", "text/javascript")


async def why(request: Request) -> Response:
    """One run and everything that explains it."""
    here, who = await _asking(request)
    opened = here.engine
    found = await run.why(opened, who.principal, request.path_params["run_id"])
    reports: list[dict[str, Any]] = []
    for id in found["compositions"][:SHOWN]:
        try:
            reports.append(await context.explained(opened, id, None, principal=who.principal, surface=CHANNEL))
        except context.NoSuchComposition:
            continue  # it was kept for a shorter time than the run, or was made for others too
    return views.run_page(request, found, reports, who=who.principal)


async def ask(request: Request) -> Response:
    """What is being done, as events; then the answer as markup that was cleaned."""
    here, who = await _asking(request)
    raw = await wire.body(request)
    if wrong := wire.refusal(raw):
        return _said(422, wrong.message, wrong.hint)
    try:
        asked = Asked.model_validate_json(raw)
    except ValidationError as error:
        return _said(422, str(error.errors(include_url=False, include_input=False)[0]["msg"]), "ask again")
    question = live.Question(
        agent=asked.agent,
        text=asked.question,
        caller=who,
        surface=CHANNEL,
        earlier=[live.Exchange(question=e.question, answer=e.answer) for e in asked.earlier],
    )
    async with AsyncExitStack() as stack:
        stream = await stack.enter_async_context(live.asked(here, question))
        return wire.Stream(_events(stream), stack.pop_all(), views.HEADERS)
    raise AssertionError("a stack passes on what happens inside")


async def _events(stream: AsyncGenerator[live.Told]) -> AsyncIterator[bytes]:
    try:
        async for told in stream:
            if isinstance(told, live.Outcome):
                yield wire.event({"html": views.answer(told), "text": told.text, "status": told.status}, "done")
            elif told.line:
                yield wire.event({"text": told.line}, "status")
    except UkaiError as failure:
        yield wire.event({"text": str(failure)}, "problem")


async def _asking(request: Request) -> tuple[reception.Reception, Caller]:
    here: reception.Reception = request.app.state.reception
    page = here.login.page if here.login else None
    session = login.who(request, hours=page.hours) if page else ""
    return here, await wire.caller(here, request.scope, CHANNEL, session=session)


async def _unknown(request: Request, error: Exception) -> Response:
    can_log_in = request.app.state.provider is not None
    if request.method == "GET" and can_log_in:
        return RedirectResponse(f"{views.BASE}/login", status_code=303)
    if request.method == "GET":
        return views.page(request, "closed", code=401, reason=str(error), can_log_in=can_log_in)
    return _said(401, Exception.__str__(error), "reload the page and log in")


async def _problem(request: Request, error: Exception) -> Response:
    status, headers = 500, dict[str, str]()
    match error:
        case agents.NoAgent() | run.NoSuchRun():
            status = 404
        case admission.Busy():
            status, headers = 429, {"Retry-After": str(error.retry_after_s)}
        case wire.TooLarge():
            status = 413
        case wording.NothingAsked():
            status = 422
        case TemporaryError():
            status = 503
        case _:
            pass
    if request.method == "GET":
        return views.page(request, "closed", code=status, reason=str(error), can_log_in=False)
    return _said(status, Exception.__str__(error), getattr(error, "hint", ""), headers)


def _said(status: int, detail: str, hint: str, headers: Mapping[str, str] | None = None) -> Response:
    body: dict[str, Any] = {"status": status, "detail": detail, "errors": [{"message": detail, "hint": hint}]}
    return JSONResponse(body, status_code=status, headers={**views.HEADERS, **(headers or {})})
