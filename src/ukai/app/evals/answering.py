"""Who asks in an evaluation: one question, one turn, models and tools from a cassette where there is one.

An evaluation writes nothing: proposals are asked dry, and other tools that write are refused.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any
from uuid import UUID

from pydantic_core import to_jsonable_python

from ukai import record
from ukai.app import ask, engine, identity
from ukai.context.rows import compositions
from ukai.kit import canonical, document, shape
from ukai.kit.errors import ToolFailed, ToolRetry
from ukai.kit.finding import Finding
from ukai.llm.cassette import Cassette, CassetteMiss, Request, Taped
from ukai.measure import composition
from ukai.measure.bank import Question
from ukai.measure.evaluation import Answered, Parts
from ukai.runtime.tools import Bound, Document
from ukai.runtime.verdicts import Forgetful

DRY = "propose_delta"
"""The tool that writes and can be asked what it would do."""
_FAILURES: Mapping[str, type[Exception]] = {"ToolRetry": ToolRetry, "ToolFailed": ToolFailed}


@dataclass(frozen=True, kw_only=True)
class Asking:
    """Asks questions of a workspace that is open."""

    opened: engine.Engine
    parts: Parts
    cassette: Cassette | None = None
    is_live: bool = False
    """Tools are called even where the cassette knows their reply: for changes of tools and records."""

    @property
    def state(self) -> str:
        """Of everything that a tool's reply depends on beside its arguments; saved in each run as the tree that ran."""
        return canonical.sha256({name: dict(self.parts.get(name, {})) for name in ("code", "corpus")})

    def taped(self, tape: Tape) -> engine.Engine:
        """The engine behind a tape, without its memory of verdicts: a rule that flips by itself is seen to."""
        stamp = replace(self.opened.stamp, tree=self.state)
        return replace(self.opened, tape=tape, stamp=stamp, verdicts=Forgetful(db=self.opened.db))

    async def __call__(self, question: Question, rep: int, /) -> Answered:
        """One turn. What the cassette lacks comes back as findings, and the run does not count."""
        tape = Tape(asking=self, rep=rep)
        opened = self.taped(tape)
        assert question.agent is not None
        try:
            outcome = await ask.ask(
                opened,
                question.agent,
                question.ask,
                caller=identity.local(question.asker),
                case_id=question.id,
                rep=rep,
            )
        except CassetteMiss as miss:
            # The first one says what is another: what came after it was asked because of it.
            return Answered(findings=(_missed(question, rep, tape.misses[0] if tape.misses else miss),))
        if tape.misses:
            return Answered(findings=(_missed(question, rep, tape.misses[0]),))
        return Answered(run=outcome.run, compositions=await _compositions(self.opened, outcome.run))


@dataclass(frozen=True, kw_only=True)
class Tape:
    """Between one turn and its models and tools."""

    asking: Asking
    rep: int
    misses: list[CassetteMiss] = field(default_factory=list[CassetteMiss])
    """Of this turn: a rule or a loop may have swallowed what was raised."""

    def model(self, use: str, build: Callable[[], Any]) -> Any:
        """What plays its replies, or builds it when it is asked."""
        return Taped(use, build, self.asking.cassette, self.rep, missed=self.misses.append)

    def tool(self, agent: str, principal: str, bound: Bound) -> Bound:
        """The tool, kept from writing, its replies kept or played."""
        call = bound.call if bound.spec.reads else partial(_unwritten, bound)
        if self.asking.cassette is None or self.asking.is_live:
            return replace(bound, call=call)
        head = {"tool": bound.spec.name, "agent": agent, "principal": principal, "state": self.asking.state}
        return replace(bound, call=partial(self._played, head, call))

    async def _played(self, head: Mapping[str, str], call: Callable[..., Any], **arguments: Any) -> Any:
        cassette = self.asking.cassette
        assert cassette is not None
        asked = Request(what=str(head["tool"]), parts=(dict(head), to_jsonable_python(arguments)))
        kept = cassette.find(asked, self.rep)
        if kept is None:
            if not cassette.is_recording:
                miss = cassette.missing(asked)
                self.misses.append(miss)
                raise miss
            kept = await _kept(call, arguments)
            cassette.add(asked, self.rep, kept)
        if "failed" in kept:
            raise _FAILURES.get(kept["failed"], RuntimeError)(kept["text"])
        return kept["result"] if "document" not in kept else _document(kept["document"])


async def _kept(call: Callable[..., Any], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """What a tool gives, as it is kept: a result, or which failure with which words for the model."""
    try:
        result = await call(**arguments)
    except (ToolRetry, ToolFailed) as told:
        return {"failed": type(told).__name__, "text": str(told)}
    if isinstance(result, Document):
        return {"document": {"id": result.id, "shown": result.shown, "items": record.as_json(tuple(result.items))}}
    return {"result": to_jsonable_python(result, fallback=str)}


def _document(kept: Mapping[str, Any]) -> Document:
    """What was composed when the cassette was recorded."""
    items = [shape.parse(document.Document(name="item", data=one), record.Item)[0] for one in kept["items"]]
    return Document(id=kept["id"], shown=kept["shown"], items=[one for one in items if one is not None])


async def _unwritten(bound: Bound, **arguments: Any) -> Any:
    if bound.spec.name == DRY:
        return await bound.call(**{**arguments, "dry_run": True})
    raise ToolFailed("this is an evaluation: tools that write are not called")


async def _compositions(opened: engine.Engine, run: record.Run) -> tuple[composition.Saved, ...]:
    """What was put before the model, section by section."""
    async with opened.db.snapshot() as tx:
        found = [await compositions.saved(tx, UUID(id)) for id in run.compositions]
    made: list[composition.Saved] = []
    for one in found:
        if one is not None:
            report = json.dumps({"id": str(one.id), **json.loads(one.report)})
            read, _ = composition.read(report, name=str(one.id))
            made += [read] if read is not None else []
    return tuple(made)


def _missed(question: Question, rep: int, miss: CassetteMiss) -> Finding:
    return Finding(
        code="cassette_miss",
        where=f"/cases/{question.id}/{rep}",
        message=str(miss).partition(". ")[0],
        received=miss.diff,
        hint="record it with --record, or take the change back that makes the request another",
    )


def usage_of(run: record.Run) -> tuple[int, float | None]:
    """Tokens and dollars of a run; None where a price is not known."""
    usd = [u.usd for u in run.usage]
    cost = sum(float(u) for u in usd if u is not None) if all(u is not None for u in usd) else None
    return sum(u.input + u.output for u in run.usage), cost
