"""`GET /runs`, `/runs/{id}`, `/runs/{id}/why`: what was asked, what came of it, and why (X4)."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from ukai.app import run
from ukai.surfaces.http.here import asking, reception
from ukai.surfaces.http.problems import Json

router = APIRouter(default_response_class=Json)


@router.get("/runs", operation_id="runs", summary="Runs that you may read, newest first.")
async def listed(
    request: Request,
    agent: Annotated[str | None, Query(description="Those of one agent.", max_length=64)] = None,
    after: Annotated[str | None, Query(description="The next page: `after` of the last.", max_length=64)] = None,
    limit: Annotated[int, Query(ge=1, le=500)] = 20,
) -> Response:
    """Your own, and with the right `audit` everybody's."""
    who = await asking(request)
    return Json(await run.page(reception(request).engine, who.principal, agent=agent, after=after, limit=limit))


@router.get("/runs/{run_id}", operation_id="run", summary="One run: question, calls, answer, usage.")
async def one(request: Request, run_id: str) -> Response:
    """404 for one that is not yours."""
    who = await asking(request)
    return Json(await run.one(reception(request).engine, who.principal, run_id))


@router.get("/runs/{run_id}/why", operation_id="why", summary="Why the answer is what it is.")
async def why(request: Request, run_id: str) -> Response:
    """Access, calls, compositions, rules, checks and cost."""
    who = await asking(request)
    return Json(await run.why(reception(request).engine, who.principal, run_id))
