"""The writing tools of an agent: `propose_delta` goes to the gate, `describe_type` says how a type is written (W3, W5).

A rejection is raised as ToolFailed, whose text the model reads as an error and answers with its next attempt. ToolRetry
would be counted by the model library, against its own number and for each call alike; here the gate's `Tally` counts:
attempts are what the gate refused, two equal refusals end it early, and what only has to be sent again costs nothing.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ukai import gate, store
from ukai.gate import delta_schema, describe, domains, loop, render, review
from ukai.gate.author import Author
from ukai.gate.contract import Contract
from ukai.gate.rights import Rights
from ukai.graph.catalogue import Catalogue
from ukai.kit import canonical, suggest
from ukai.kit.clock import Clock
from ukai.kit.errors import ToolFailed, ToolRetry
from ukai.runtime.tools import Bound, ToolSpec

RETRIES = 3
"""Attempts after the first one, for each change that an agent wants to make; formats §5 has the same default."""
RESENDS = 3
"""How often one proposal is sent again because the store was busy."""

Pause = Callable[[int], Awaitable[None]]


@dataclass(kw_only=True)
class Pen:
    """What one agent writes with in one turn: its author names the agent and the run."""

    db: store.Database
    author: Author
    rights: Rights
    sight: describe.Sight
    """Usually the same object as `rights`."""
    clock: Clock
    contract: Contract | None = None
    """Of the step, when a workflow runs the agent."""
    context: Mapping[str, str] = field(default_factory=dict[str, str])
    retries: int = RETRIES
    pause: Pause | None = None
    """Called before the n-th resending: the place to wait."""
    reviewers: tuple[str, ...] = ()
    """Principals before whom it is put what was given up; nobody: it stays in `escalated` alone."""
    tally: loop.Tally = field(init=False)
    escalated: list[loop.Escalated] = field(default_factory=list[loop.Escalated])
    """What ended without being accepted: for a human, each with every attempt."""

    def __post_init__(self) -> None:
        self.tally = loop.Tally(retries=self.retries)


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What the gate said, and how often the agent may still try."""

    answer: gate.Committed | gate.Rejected
    attempts_left: int | None
    """None: a dry run, which is no attempt."""
    catalogue: Catalogue
    escalated: loop.Escalated | None = None

    @property
    def is_refused(self) -> bool:
        return isinstance(self.answer, gate.Rejected)

    def as_json(self) -> dict[str, Any]:
        """The document of formats §4."""
        if isinstance(self.answer, gate.Rejected):
            return render.rejected(self.answer.rejections, attempts_left=self.attempts_left)
        return self.answer.as_json()

    def text(self) -> str:
        """For a model, complete by itself."""
        if not isinstance(self.answer, gate.Rejected):
            return canonical.dumps(self.answer.as_json())
        text = render.tool_text(self.answer.rejections, attempts_left=self.attempts_left, catalogue=self.catalogue)
        return text if self.escalated is None else f"{text}\n{_ended(self.escalated)}"


def writing_tools(pen: Pen, specs: Mapping[str, ToolSpec]) -> dict[str, Bound]:
    """The tools of this module among `specs`, bound to one agent's pen."""
    calls = _Calls(pen)
    handlers = {"propose_delta": calls.propose, "describe_type": calls.describe}
    found = {name: Bound(spec=specs[name], call=call) for name, call in handlers.items() if name in specs}
    if (writes := found.get("propose_delta")) is not None:
        # Here with every operation spelt out; whoever only lists tools does not load the gate for it.
        found["propose_delta"] = replace(writes, spec=replace(writes.spec, input_schema=INPUT_SCHEMA))
    return found


async def proposed(pen: Pen, delta: Any, *, dry_run: bool = False) -> Verdict:
    """Propose with `pen`. Raises ToolFailed when its attempts are over."""
    if not dry_run and pen.escalated:
        raise ToolFailed(f"nothing was written. {_ended(pen.escalated[-1])}")
    answer = await _submitted(pen, delta, dry_run)
    catalogue = await domains.known(pen.db)
    if dry_run:
        return Verdict(answer=answer, attempts_left=None, catalogue=catalogue)
    refused = answer.rejections if isinstance(answer, gate.Rejected) else ()
    escalated = pen.tally.add(delta, refused)
    left = 0 if escalated is not None else pen.tally.left
    if escalated is not None:
        pen.escalated.append(escalated)
        if pen.reviewers:
            await review.hold_escalated(
                pen.db,
                escalated,
                reviewers=pen.reviewers,
                author=pen.author,
                clock=pen.clock,
                context=pen.context,
            )
    if not refused:
        pen.tally = loop.Tally(retries=pen.retries)  # the next change is another one
    return Verdict(answer=answer, attempts_left=left, catalogue=catalogue, escalated=escalated)


def mcp_result(verdict: Verdict) -> dict[str, Any]:
    """The verdict as MCP's `tools/call` gives it back; the tool declares `OUTPUT_SCHEMA`."""
    return {
        "isError": verdict.is_refused,
        "content": [{"type": "text", "text": verdict.text()}],
        "structuredContent": verdict.as_json(),
    }


INPUT_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "required": ["delta"],
    "properties": {
        "delta": {k: v for k, v in delta_schema.schema().items() if k != "$defs"},
        "dry_run": {"type": "boolean", "description": "Judge it and write nothing; costs no attempt."},
    },
    "$defs": delta_schema.definitions(),
}
"""Of `propose_delta`, with the operations spelt out."""
OUTPUT_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "oneOf": [
        {
            "properties": {"status": {"enum": ["committed", "valid"]}, "nodes": {"type": "object"}},
            "required": ["nodes"],
        },
        {
            "properties": {"status": {"const": "rejected"}, "findings": {"type": "array", "items": {"type": "object"}}},
            "required": ["findings"],
        },
    ],
    "required": ["status"],
}
"""Of `propose_delta`: what `structuredContent` is."""


@dataclass(frozen=True)
class _Calls:
    pen: Pen

    async def propose(self, *, delta: Any, dry_run: bool = False) -> dict[str, Any]:
        verdict = await proposed(self.pen, delta, dry_run=dry_run)
        if verdict.is_refused:
            raise ToolFailed(verdict.text())
        return verdict.as_json()

    async def describe(self, *, type: str) -> str:
        catalogue = await domains.known(self.pen.db, fresh=True)
        found = describe.of(catalogue, type, self.pen.sight)
        if found is None:
            known = describe.names(catalogue, self.pen.sight)
            raise ToolRetry(f"no type is named {type!r} here: {suggest.hint_for(type, known)}")
        return found.text()


async def _submitted(pen: Pen, delta: Any, dry_run: bool) -> gate.Committed | gate.Rejected:
    """The gate's answer, asked again while all that is wrong passes by itself."""
    for n in range(RESENDS + 1):
        answer = await gate.submit(
            pen.db,
            delta,
            author=pen.author,
            rights=pen.rights,
            clock=pen.clock,
            contract=pen.contract,
            context=pen.context,
            dry_run=dry_run,
        )
        passes = isinstance(answer, gate.Rejected) and all(
            r.repair == "resend" for r in render.errors_of(answer.rejections)
        )
        if not passes or n == RESENDS:
            return answer
        if pen.pause is not None:
            await pen.pause(n + 1)
    raise AssertionError("the last answer is given back")


def _ended(escalated: loop.Escalated) -> str:
    return (
        f"This change is given up ({escalated.reason}: {escalated.rejection.message}); a human will look at it. "
        "Propose nothing more; say what could not be written and why."
    )
