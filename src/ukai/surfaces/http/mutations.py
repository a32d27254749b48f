"""`POST /mutations`: one delta, committed whole or refused with every reason (W3, W9, W11)."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Header, Query, Request, Response

from ukai.app import propose
from ukai.surfaces.http import body
from ukai.surfaces.http.here import desk
from ukai.surfaces.http.problems import Json, Problem

router = APIRouter()


@router.post(
    "/mutations",
    operation_id="propose",
    summary="Propose a delta.",
    response_class=Json,
    responses={200: {"description": "Committed; of a dry run: it would have been."}},
)
async def mutate(
    request: Request,
    dry_run: Annotated[bool, Query(description="Judge it and write nothing; the status is the same.")] = False,
    idempotency_key: Annotated[
        str | None, Header(description="The same key with the same delta has one effect, however often it comes.")
    ] = None,
) -> Response:
    """It lands whole, or nothing is written and `errors` says everything that is wrong, with pointers into the body."""
    standing = await desk(request)
    key = body.key(request)
    raw = await body.read(request)
    outcome = await propose.submit(standing, propose.Given(value=raw), key=key, dry_run=dry_run)
    if outcome.is_refused:
        return Problem(outcome.problem(), retry_after_s=outcome.retry_after_s)
    return Json(outcome.as_json())
