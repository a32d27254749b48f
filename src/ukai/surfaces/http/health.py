"""`GET /healthz`: whether process and database answer. `GET /readyz`: whether questions are taken now (P2.1)."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from ukai.surfaces.http.here import reception
from ukai.surfaces.http.problems import Json, problem

router = APIRouter(default_response_class=Json)


@router.get("/healthz", operation_id="health", summary="Whether the database answers.")
async def health(request: Request) -> Response:
    """503 when it does not."""
    return Json({"ok": await reception(request).is_alive()})


@router.get("/readyz", operation_id="ready", summary="Whether questions are taken now.")
async def ready(request: Request) -> Response:
    """503 while the server ends, while the database is away, or when no agent is served."""
    here = reception(request)
    await here.is_alive()
    if waiting := here.not_ready():
        return problem(503, "not_ready", waiting, hint="ask again in a moment", retry_after_s=1)
    return Json({"ok": True, "agents": here.served()})
