"""What is read back: types, the history of a record, the feed of changes."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from ukai.app import history, schema
from ukai.kit import suggest
from ukai.surfaces.http.here import desk
from ukai.surfaces.http.problems import Json, problem

router = APIRouter(default_response_class=Json)
Limit = Annotated[int, Query(ge=1, le=history.MAX_LIMIT)]


@router.get("/schema/types", operation_id="types", summary="The types that you may read or write.")
async def types(request: Request) -> Any:
    """Their names."""
    return Json({"types": await schema.type_names(await desk(request))})


@router.get("/schema/types/{type}", operation_id="describe_type", summary="Everything needed to write one type.")
async def describe(request: Request, type: str) -> Response:
    """Fields, kinds, values, states, edges, rules and an example, as far as you may read or write them."""
    here = await desk(request)
    found = await schema.type_(here, type)
    if found is not None:
        return Json(found)
    known = await schema.type_names(here)
    return problem(404, "unknown_type", f"there is no type {type!r} here", hint=suggest.hint_for(type, known))


@router.get("/changes", operation_id="changes", summary="What changed after a cursor, oldest first.")
async def changes(
    request: Request,
    after: Annotated[str, Query(description="The cursor of the last page; none begins at the oldest change.")] = "",
    limit: Limit = 100,
) -> Response:
    """410 when the changes after the cursor are no longer all there: read the current state and begin anew."""
    return Json(await history.feed(await desk(request), after, limit=limit))


@router.get("/nodes/{handle:path}/history", operation_id="history", summary="The timeline of a record, or its past.")
async def of_record(
    request: Request,
    handle: str,
    as_of: Annotated[str | None, Query(description="The record as it stood then: 2026-01-31T09:00:00Z.")] = None,
    before: Annotated[int | None, Query(description="The next page: `before` of the last.", ge=0, lt=1 << 62)] = None,
    limit: Limit = 100,
) -> Response:
    """Newest first, as far as you may read it. In the path `#` is written `%23`."""
    here = await desk(request)
    if as_of is None:
        return Json(await history.of_record(here, handle, limit=limit, before=before))
    try:
        at = history.instant(as_of)
    except ValueError as error:
        return problem(422, "invalid_parameter", str(error), hint="write ISO 8601", where="?as_of")
    return Json(await history.as_of(here, handle, at))
