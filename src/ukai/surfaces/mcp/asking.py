"""Tools around a question: `list_agents`, `ask`, `list_runs`, `get_run`."""

from __future__ import annotations

import json
from contextlib import aclosing
from typing import Annotated, Any

from pydantic import Field

from ukai.app import agents, live, run, wording
from ukai.kit import canonical
from ukai.surfaces.mcp.call import CHANNEL, Call, Given, Result, Tool


class Nothing(Given):
    """No arguments."""


class Asked(Given):
    """A question."""

    agent: Annotated[str, Field(description="As list_agents names it.", max_length=64)]
    question: wording.Question
    skill: Annotated[str | None, Field(description="One of the agent's skills, by name.")] = None
    conversation: Annotated[
        str | None, Field(description="The same text in several calls keeps them together.", max_length=200)
    ] = None


class Listing(Given):
    """A page of runs."""

    agent: Annotated[str | None, Field(description="Only runs of this agent.", max_length=64)] = None
    after: Annotated[str | None, Field(description="The next page: `after` of the last.", max_length=64)] = None
    limit: Annotated[int, Field(ge=1, le=100)] = 20


class Named(Given):
    """One run."""

    run_id: Annotated[str, Field(description="As ask and list_runs give it.", max_length=64)]


async def list_agents(call: Call, given: Nothing) -> Result:
    """The agents of this caller."""
    found = agents.listed(call.reception.engine, call.caller, CHANNEL)
    text = "\n".join(f"{a.name}: {a.description}" for a in found) or agents.NONE
    return Result(text=text, data={"agents": [{"name": a.name, "description": a.description} for a in found]})


async def ask(call: Call, given: Asked) -> Result:
    """The answer once every rule has passed it; before that, only what is being done."""
    question = live.Question(
        agent=given.agent,
        text=given.question,
        caller=call.caller,
        surface=CHANNEL,
        skill=given.skill,
        conversation=given.conversation,
    )
    async with live.asked(call.reception, question) as stream, aclosing(stream):
        async for told in stream:
            if isinstance(told, live.Outcome):
                return _answered(told)
            if told.line:
                await call.told(told.line)
    raise AssertionError("a turn ends with its outcome")


async def list_runs(call: Call, given: Listing) -> Result:
    """Those that the caller may read."""
    opened, who = call.reception.engine, call.caller.principal
    page = await run.page(opened, who, agent=given.agent, after=given.after, limit=given.limit)
    rows = [f"{r['run_id']} {r['started_at']} {r['agent']} {r.get('status') or 'running'}" for r in page["runs"]]
    return Result(text="\n".join(rows) or "no runs", data=page)


async def get_run(call: Call, given: Named) -> Result:
    """Answer and why, without the words of every item: a whole record may be larger than a client takes."""
    found = await run.why(call.reception.engine, call.caller.principal, given.run_id)
    return Result(text=json.dumps(found, ensure_ascii=False, default=canonical.shown), data=found)


def _answered(outcome: live.Outcome) -> Result:
    sources = [{"key": s.key, "text": s.text, "as_of": s.as_of} for s in outcome.sources]
    lines = [outcome.text]
    if sources:
        lines += ["", "Sources:", *(s.line for s in outcome.sources)]
    lines += ["", f"(run {outcome.run.run_id}, {outcome.status}; get_run tells why)"]
    data: dict[str, Any] = {
        "run_id": outcome.run.run_id,
        "status": outcome.status,
        "text": outcome.text,
        "sources": sources,
    }
    return Result(text="\n".join(lines), data=data, is_error=outcome.status != "answered")


TOOLS = (
    Tool(
        name="list_agents",
        title="List agents",
        description="The agents that you may ask, with what each is for.",
        given=Nothing,
        call=list_agents,
    ),
    Tool(
        name="ask",
        title="Ask an agent",
        description="Ask one of the company's agents. It answers from records that you may read and names its sources.",
        given=Asked,
        call=ask,
        reads=False,
    ),
    Tool(
        name="list_runs",
        title="List runs",
        description="Questions asked before, newest first, as far as you may read them.",
        given=Listing,
        call=list_runs,
    ),
    Tool(
        name="get_run",
        title="Why an answer is what it is",
        description="One run: answer, calls, rules, checks, cost.",
        given=Named,
        call=get_run,
    ),
)
