"""Tools around the composer: `compose_context`, `fetch_offloaded`, `explain_composition` (C46, context E8)."""

from __future__ import annotations

import json
from typing import Annotated

from pydantic import Field

from ukai.app import agents, context, replies, wording
from ukai.kit import canonical
from ukai.surfaces.mcp.call import CHANNEL, Call, Given, Result, Tool

Agent = Annotated[str, Field(description="As list_agents names it.", max_length=64)]


class Wanted(Given):
    """A document about a question."""

    agent: Agent
    question: wording.Question
    skill: Annotated[str | None, Field(description="One of the agent's skills, by name.")] = None
    budget_tokens: Annotated[int | None, Field(ge=1, le=50_000, description="How long it may be.")] = None
    conversation: Annotated[
        str | None, Field(description="What was given in it before is not given again.", max_length=200)
    ] = None
    holds: Annotated[
        str | None,
        Field(
            description="In place of conversation: the id of the last composition that you received. What was composed "
            "since counts as lost.",
            max_length=64,
        ),
    ] = None
    ranker: Annotated[
        str | None,
        Field(
            description="Who orders: score, or one that the deployment lists; by default its choice.", max_length=200
        ),
    ] = None


class PutAside(Given):
    """A value that was too large for a document."""

    agent: Agent
    ref: Annotated[str, Field(description="As the document names it.", max_length=200)]
    after: Annotated[int, Field(ge=0, description="The `next` of the page before.")] = 0


class About(Given):
    """A composition, and a record."""

    id: Annotated[str, Field(description="As compose_context gives it.", max_length=64)]
    handle: Annotated[str | None, Field(description="Type#key; without one, the whole report.", max_length=600)] = None


async def compose_context(call: Call, given: Wanted) -> Result:
    """The document; its report is told by explain_composition, so that it does not count against the client's limit."""
    opened, who = call.reception.engine, call.caller.principal
    agents.need(opened, call.caller, CHANNEL, given.agent)
    call.reception.pace.take(who)
    made = await context.composed(
        opened,
        given.agent,
        given.question,
        principal=who,
        surface=CHANNEL,
        skill=given.skill,
        budget_tokens=given.budget_tokens,
        ceiling_tokens=call.most_tokens,
        conversation=given.conversation,
        holds=given.holds,
        ranker=given.ranker,
        report=False,
    )
    return Result(text=made.pop("text"), data={**made, "ceiling_tokens": call.most_tokens})


async def fetch_offloaded(call: Call, given: PutAside) -> Result:
    """The value as it is now, under the caller's rights of now, in pages that the client takes whole."""
    agents.need(call.reception.engine, call.caller, CHANNEL, given.agent)
    found = await context.fetched(
        call.reception.engine, given.agent, given.ref, principal=call.caller.principal, surface=CHANNEL
    )
    if found is None:
        raise context.NothingPutAside(given.ref)
    page = replies.page(found.text, after=given.after, fits=replies.within(call.most_tokens))
    return Result(text=page.text, data={"ref": given.ref, "handle": found.handle, **page.as_json()})


async def explain_composition(call: Call, given: About) -> Result:
    """Why a record is or is not in a document, or the report of the whole."""
    opened, who = call.reception.engine, call.caller.principal
    found = await context.explained(opened, given.id, given.handle, principal=who, surface=CHANNEL)
    found = replies.fitting(found, fits=replies.within(call.most_tokens))
    return Result(text=json.dumps(found, ensure_ascii=False, default=canonical.shown), data=found)


TOOLS = (
    Tool(
        name="compose_context",
        title="Compose a document",
        description=(
            "Compose a document about a question from the records that you may read: ranked, cut to a budget, every "
            "line with the handle of its record."
        ),
        given=Wanted,
        call=compose_context,
    ),
    Tool(
        name="fetch_offloaded",
        title="Fetch what was put aside",
        description="A value that a composed document only names by a ref, because it is long; page by page.",
        given=PutAside,
        call=fetch_offloaded,
    ),
    Tool(
        name="explain_composition",
        title="Why something is in a document",
        description="Why a record is or is not in a composed document; without a record, how the document came about.",
        given=About,
        call=explain_composition,
    ),
)
