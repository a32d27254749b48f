"""Tools around the gate: `propose` and `describe_type` (W4, W5)."""

from __future__ import annotations

import json
from typing import Annotated, Any

from pydantic import Field

from ukai.app import propose as proposing
from ukai.app import schema
from ukai.kit import canonical, suggest
from ukai.surfaces.mcp.call import Call, Given, Result, Tool


class Proposed(Given):
    """A delta."""

    delta: Annotated[
        dict[str, Any],
        Field(description='{"domain": .., "key": .., "ops": [..]}; describe_type shows an example that is accepted.'),
    ]
    dry_run: Annotated[bool, Field(description="Judge it and write nothing.")] = False


class OfType(Given):
    """A type."""

    type: Annotated[str, Field(max_length=200)]


async def propose(call: Call, given: Proposed) -> Result:
    """It lands whole, or nothing is written and everything that is wrong comes back."""
    outcome = await proposing.submit(call.desk, proposing.Given(value=given.delta), dry_run=given.dry_run)
    return Result(text=outcome.text(), data=outcome.as_json(), is_error=outcome.is_refused)


async def describe_type(call: Call, given: OfType) -> Result:
    """Fields, kinds, states, edges, rules and an example, as far as the caller may read or write them."""
    found = await schema.type_(call.desk, given.type)
    if found is None:
        known = await schema.type_names(call.desk)
        text = f"There is no type {given.type!r} here: {suggest.hint_for(given.type, known)}"
        return Result(text=text, data={"types": known}, is_error=True)
    return Result(text=json.dumps(found, ensure_ascii=False, default=canonical.shown), data=found)


TOOLS = (
    Tool(
        name="propose",
        title="Propose a change",
        description=(
            "Propose a change set to the write gate. It is stored whole, or refused with everything that is wrong "
            "and how to repair it: repair all of it and propose again."
        ),
        given=Proposed,
        call=propose,
        reads=False,
    ),
    Tool(
        name="describe_type",
        title="Describe a type",
        description="Everything needed to read or write records of one type.",
        given=OfType,
        call=describe_type,
    ),
)
