"""`GET /access/explain`: who may do what with an agent, or at all, and why (P3.3, X4)."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from ukai.app import access, deciding
from ukai.surfaces.http.here import desk, reception
from ukai.surfaces.http.problems import Json

router = APIRouter(default_response_class=Json)
Text = Annotated[str, Query(max_length=320)]


@router.get("/access/explain", operation_id="explain_access", summary="Why somebody may or may not.")
async def explain(
    request: Request,
    principal: Text,
    agent: Annotated[str | None, Query(description="Without one, all that they may do.", max_length=64)] = None,
    record: Annotated[str | None, Query(description="Type#key, or Type#key/field.", max_length=600)] = None,
    audience: Annotated[list[str] | None, Query(description="Who else reads the answer.", max_length=20)] = None,
    channel: Annotated[str, Query(max_length=64)] = "rest",
) -> Response:
    """The decision with every policy that was considered. Needs the right `audit`."""
    if agent is None:
        return Json(deciding.overall(reception(request).engine, await desk(request), principal))
    asked = access.Asked(principal=principal, agent=agent, record=record, audience=audience or (), channel=channel)
    return Json(await deciding.explained(reception(request).engine, await desk(request), asked))
