"""Documents over HTTP: composed, explained, composed once more, and the long values behind them (C46, X4)."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from ukai.app import agents, context, replies, wording
from ukai.surfaces.http import body
from ukai.surfaces.http.here import CHANNEL, asking, reception
from ukai.surfaces.http.problems import Json

router = APIRouter(default_response_class=Json)


class Wanted(BaseModel):
    """A document about a question."""

    model_config = ConfigDict(extra="forbid", strict=True)
    agent: Annotated[str, Field(max_length=64)]
    question: wording.Question
    skill: str | None = None
    budget_tokens: Annotated[int | None, Field(ge=1, le=50_000)] = None
    conversation: Annotated[str | None, Field(max_length=200)] = None
    """What was given in it before is not given again, whether it arrived or not."""
    holds: Annotated[str | None, Field(max_length=64)] = None
    """In its place: the id of the last composition that arrived. What was composed since counts as lost."""
    ranker: Annotated[str | None, Field(max_length=200)] = None
    """One that ukai.yaml lists; the deployment's own choice by default."""
    report: bool = True
    """False leaves it out of the answer, of which it is most; `explain` tells it."""


@router.post("/context/compose", operation_id="compose", summary="What an agent would read about a question.")
async def compose(request: Request) -> Response:
    """The document, and the report of how it came about; without it `budget`, `used` and `ceiling_hit` alone."""
    who, here = await asking(request), reception(request)
    wanted = await body.parsed(request, Wanted)
    agents.need(here.engine, who, CHANNEL, wanted.agent)
    here.pace.take(who.principal)
    made = await context.composed(
        here.engine,
        wanted.agent,
        wanted.question,
        principal=who.principal,
        surface=CHANNEL,
        skill=wanted.skill,
        budget_tokens=wanted.budget_tokens,
        conversation=wanted.conversation,
        holds=wanted.holds,
        ranker=wanted.ranker,
        report=wanted.report,
    )
    return Json(made)


@router.post("/context/compositions/{id}/explain", operation_id="explain", summary="Why something is in a document.")
async def explain(
    request: Request,
    id: str,
    handle: Annotated[
        str | None, Query(description="A record, Type#key; without one the report.", max_length=600)
    ] = None,
) -> Response:
    """Why the record is or is not in it; 404 for a composition that was not made for you."""
    who, here = await asking(request), reception(request)
    found = await context.explained(here.engine, id, handle, principal=who.principal, surface=CHANNEL)
    return Json(found)


@router.post("/context/compositions/{id}/replay", operation_id="replay_composition", summary="The same once more.")
async def replay(request: Request, id: str) -> Response:
    """The same bytes, or the inputs that changed; 404 for a composition that was not made for you."""
    who, here = await asking(request), reception(request)
    return Json(await context.replayed(here.engine, id, principal=who.principal, surface=CHANNEL))


@router.get("/context/offloaded/{ref}", operation_id="offloaded", summary="A value that was put aside.")
async def offloaded(
    request: Request,
    ref: str,
    agent: Annotated[str, Query(description="For which the document was composed.", max_length=64)],
    after: Annotated[int, Query(ge=0, le=2**31, description="The `next` of the page before.")] = 0,
) -> Response:
    """As it is now, under your rights of now, page by page; 404 for what was put aside for others."""
    who, here = await asking(request), reception(request)
    agents.need(here.engine, who, CHANNEL, agent)
    found = await context.fetched(here.engine, agent, ref, principal=who.principal, surface=CHANNEL)
    if found is None:
        raise context.NothingPutAside(ref)
    page = replies.page(found.text, after=after, fits=lambda _: True)
    return Json({"ref": ref, "handle": found.handle, "field": found.field, "text": page.text, **page.as_json()})
