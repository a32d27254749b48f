"""`POST /undo`: take back a commit, a run, or what somebody wrote in a time, by a delta of its own (W11)."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from ukai.app import undo as undoing
from ukai.surfaces.http import body
from ukai.surfaces.http.here import desk
from ukai.surfaces.http.problems import Json, Problem

_PRINTED = r"^[^\x00-\x1f\x7f]+$"
router = APIRouter(default_response_class=Json)


class Named(BaseModel):
    """Exactly one of a commit, a run and an author."""

    model_config = ConfigDict(extra="forbid")
    commit: Annotated[str | None, Field(max_length=64)] = None
    run: Annotated[str | None, Field(max_length=64, pattern=_PRINTED)] = None
    author: Annotated[str | None, Field(max_length=320, pattern=_PRINTED)] = None
    """With `since`, and `until` where it is not now."""
    since: AwareDatetime | None = None
    until: AwareDatetime | None = None


@router.post("/undo", operation_id="undo", summary="Take back what was written.")
async def undo(
    request: Request, dry_run: Annotated[bool, Query(description="Say what would change, and write nothing.")] = False
) -> Response:
    """As whoever asks, with their rights and in their name; answered like a delta."""
    standing = await desk(request)
    named = await body.parsed(request, Named)
    since: datetime | None = named.since
    done = await undoing.undo(
        standing, named.commit, run=named.run, author=named.author, since=since, until=named.until, dry_run=dry_run
    )
    if done.is_refused:
        return Problem(done.outcome.problem(), retry_after_s=done.outcome.retry_after_s)
    return Json(done.as_json())
