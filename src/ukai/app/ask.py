"""One question to one agent, for every surface: `ask` (P4). How a run is shown to people.

    outcome = await ask(opened, "deal-coach", "...", caller=caller, surface="slack", place=place, progress=listen)

`progress` gets events, never words of an answer that has not passed its rules.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, cast

from ukai import record
from ukai.access import Decision, decision
from ukai.app import budgets, engine, identity, rules, telemetry, tooling, wording
from ukai.context import reading, told
from ukai.context.reader import Reader
from ukai.kit import canonical, handle, ids
from ukai.llm.known import EXTRACTIVE
from ukai.runtime import events, skills, turn
from ukai.runtime.agent import CHANNELS, Agent, Output, Skill
from ukai.runtime.bench import is_extractive
from ukai.runtime.loop import COMPOSED, CONNECT
from ukai.runtime.tools import Bound, Document, ToolSpec

EXCERPT = 200
NOT_COMPOSED = (
    "No document was composed: the model without a key searches by itself; ukai context compose shows what others read."
)
lines = events.lines
"""A listener for surfaces that show one line at a time."""


@dataclass(frozen=True, kw_only=True)
class Exchange:
    """A question and its answer from earlier in the same conversation."""

    question: str
    answer: str


@dataclass(frozen=True, kw_only=True)
class Source:
    """A cited item."""

    key: str
    """Its handle, as the answer cites it."""
    text: str
    """Its words."""
    as_of: datetime | None = None
    """How old its word is (P4.7)."""

    @property
    def line(self) -> str:
        """For a list of sources: its handle, the day it is of where that is known, and its words."""
        day = f"{self.as_of.date().isoformat()}: " if self.as_of else ""
        return f"[{self.key}] {day}{' '.join(self.text.split())}".rstrip()


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What came of a question."""

    run: record.Run
    text: str
    """What is shown: the answer, or why there is none."""
    sources: tuple[Source, ...] = ()
    """In the order of the answer."""

    @property
    def status(self) -> str:
        """`answered`, `blocked`, `refused`, `budget`, `cancelled` or `error`."""
        return self.run.status

    @property
    def connect(self) -> tuple[str, ...]:
        """Tools that would have been asked if whoever asks had connected them (P3.4)."""
        return tuple(dict.fromkeys(c.tool for c in self.run.calls if c.error_code == CONNECT))

    @property
    def stale(self) -> tuple[str, ...]:
        """What the answer says of sources that stopped updating (P4.7)."""
        return tuple(i.text for c in self.run.calls if c.tool == turn.SOURCE_AGE for i in c.items if i.text)

    @property
    def is_for_the_asker_alone(self) -> bool:
        """Whether `text` says why there is no answer, which concerns nobody else in the place."""
        return self.run.status != "answered"

    def as_json(self) -> dict[str, Any]:
        """The document of the run, as the one who asked may have it."""
        return record.for_its_reader(record.as_json(self.run))


async def ask(
    opened: engine.Engine,
    agent: str,
    question: str,
    *,
    caller: identity.Caller,
    surface: str = "cli",
    place: identity.Place | None = None,
    skill: str | None = None,
    conversation: str | None = None,
    earlier: Sequence[Exchange] = (),
    progress: events.Listener = events.nobody,
    cancel: asyncio.Event | None = None,
    case_id: str | None = None,
    rep: int | None = None,
    as_of: datetime | None = None,
) -> Outcome:
    """One turn, sealed. `cancel`, once it is set, ends it with what was done until then.

    `place`: where the answer goes; None is the caller's own screen. `earlier`: what was said before in the
    conversation, oldest first, as far as everybody in the place may read it. The documents of earlier turns are not
    among it, so only what this turn was given is not given again. Raises UnknownAgent, NotServed, UnknownSkill,
    NothingAsked.
    """
    clock = opened.clock
    served = opened.agent(agent)
    wanted = skills.wanted(wording.asked(question), served.skills, named=skill)
    run_id = str(ids.time_ordered(clock.now()))

    def tell(kind: events.Kind, **data: Any) -> None:
        progress(events.Event(kind=kind, at=clock.now(), data=data))

    tell("started", run_id=run_id, agent=served.name)
    # Who may ask is a matter of the caller alone; what may be read, of everybody who reads the answer.
    invoke = _invoke(opened, served, caller.principal, surface)
    reader = opened.reader(served, opened.rights(served, caller.principal, surface, place), wanted.skill)
    if invoke.allowed:
        await opened.keep_up(lambda text: tell("status", text=text))
    hand = tooling.Hand(
        principal=caller.principal,
        run_id=run_id,
        reader=reader,
        meter=budgets.meter(opened, served, caller.principal, wanted.skill and wanted.skill.budget),
        skill=wanted.skill,
    )
    prepared = replace(
        _prepared(opened, served, hand, wanted, invoke, surface, is_case=case_id is not None),
        told=await _told(opened, wanted.question, reader) if invoke.allowed else (),
        ages=partial(_ages, opened, reader, as_of or clock.now()) if opened.connectors else None,
        earlier=[(e.question, e.answer) for e in earlier],
        case_id=case_id,
        rep=rep,
        as_of=as_of,
    )
    run = await turn.turn(prepared, db=opened.db, clock=clock, listen=progress, cancel=cancel)
    telemetry.observed(run, conversation=conversation)
    outcome = outcome_of(run)
    tell("answer" if run.answer else "refused", text=outcome.text)
    tell("ended", run_id=run_id, status=run.status, reason=run.reason)
    return outcome


def outcome_of(run: record.Run) -> Outcome:
    """What came of a saved run."""
    return Outcome(run=run, text=run.answer.markdown if run.answer else run.reason, sources=sources(run))


def _prepared(
    opened: engine.Engine,
    agent: Agent,
    hand: tooling.Hand,
    wanted: skills.Wanted,
    invoke: Decision,
    surface: str,
    *,
    is_case: bool,
) -> turn.Ask:
    """Everything that is decided before the turn begins."""
    model = opened.model(agent.model)
    return turn.Ask(
        agent=agent.name,
        prompt=_prompt(agent, wanted.skill),
        question=wanted.question,
        principal=hand.principal,
        audience=tuple(c.id for c in hand.reader.rights.audience.callers),
        surface=surface,
        invoke=invoke,
        model=model,
        tools=_tools(opened, agent, hand, model),
        document=_document(opened, agent, hand, model, wanted.question),
        attached=_attached(agent, wanted.skill),
        run_id=hand.run_id,
        allowance=hand.meter.purse.allowance,
        shared=hand.meter.purse.shared,
        meter=hand.meter,
        rules=rules.rules_for(opened, agent, exhaustive=is_case),
        hosts=opened.catalog.settings.links,
        config=config(opened, agent, wanted.skill),
        build=opened.stamp,
    )


async def at(
    path: Path, agent: str, question: str, *, principal: str | None, progress: events.Listener = events.nobody
) -> Outcome:
    """`ukai ask` in the workspace at `path`."""
    async with engine.opened(path) as opened:
        caller = identity.local(opened.principal(principal))
        return await ask(opened, agent, question, caller=caller, progress=progress)


async def _told(opened: engine.Engine, question: str, reader: Reader) -> list[told.Told]:
    async with opened.db.snapshot() as tx:
        return await told.told(tx, question, reader=reader, types=opened.library.types)


async def _ages(opened: engine.Engine, reader: Reader, at: datetime, cited: Sequence[str]) -> list[turn.Age]:
    """Of the sources behind cited records that the reader may see: those that stopped updating (P4.7)."""
    from ukai.connect import freshness  # with connectors alone: reading their sources takes imports of its own

    named = [found for name in cited if (found := handle.parse(name)) is not None]
    async with opened.db.snapshot() as tx:
        seen = await reading.may_be_seen(tx, reader, named)
        late = await freshness.stale(tx, opened.connectors, seen, at=at)
    return [turn.Age(type=s.type, since=s.since, said=s.said(at)) for s in late]


def _invoke(opened: engine.Engine, agent: Agent, principal: str, surface: str) -> Decision:
    """Whether the caller may use the agent here: by policy, and because the agent is served on this surface at all."""
    if surface in CHANNELS and surface not in agent.channels:
        reason = f"{agent.name} is served on {', '.join(agent.channels)}, not on {surface}"
        return Decision(allowed=False, reason=reason, refusal=decision.refusal("invoke"), denied_by=("channels",))
    return opened.rights(agent, principal, surface).invoke


def _tools(opened: engine.Engine, agent: Agent, hand: tooling.Hand, model: Any) -> list[Bound]:
    """The model that only quotes searches by rules of its own; a composed document would lose it the handles, and a
    reference into one looks to it like a record to read.
    """
    found = tooling.bound(opened, agent, hand)
    of_documents = (COMPOSED, tooling.FETCHED) if is_extractive(model) else ()
    return [t for t in found if t.spec.name not in of_documents]


def _document(
    opened: engine.Engine, agent: Agent, hand: tooling.Hand, model: Any, question: str
) -> Callable[[], Awaitable[Document]] | None:
    """What is composed beforehand: where the agent or the skill declares a scope, and the agent may compose."""
    scope = agent.scope or (hand.skill and hand.skill.scope)
    if scope is None or COMPOSED not in agent.tools or is_extractive(model):
        return None
    return partial(tooling.composed, opened, hand, question=question)


def _prompt(agent: Agent, skill: Skill | None) -> str:
    return agent.prompt if skill is None else f"{agent.prompt}\n\n{skills.prose(skill)}"


def _attached(agent: Agent, skill: Skill | None) -> list[turn.Attachment]:
    """What hangs on the turn: the skills that it may still use. Memory attaches here too."""
    others = {name: s for name, s in agent.skills.items() if skill is None or name != skill.name}
    offered = skills.offered(others)
    return [] if offered is None else [offered]


def config(opened: engine.Engine, agent: Agent, skill: Skill | None = None) -> record.Config:
    """What may differ between two runs that are compared: every soft part by its hash."""
    catalog = opened.catalog
    prose = {f"agents/{agent.name}/SKILL.md": _sha(agent.prose)}
    prose |= {f"families/{f}/FAMILY.md": _sha(catalog.families[f].prose) for f in agent.families}
    prose |= {f"agents/{agent.name}/skills/{name}/SKILL.md": _sha(s.prose) for name, s in agent.skills.items()}
    specs = {name: tool.spec for name, tool in catalog.tools.items()} | dict(agent.own_tools)
    prose |= {f"tool:{name}": _described(specs[name]) for name in agent.tools if name in specs}
    found = {i: g for i in agent.guardrails if (g := catalog.guardrails.get(i)) is not None}
    return record.Config(
        model=agent.model_use or agent.model,
        prose=prose,
        guardrails={i: f"{g.version} {g.sha256}" for i, g in found.items()},
        skill=skill.name if skill is not None else None,
        lead=agent.output.lead if agent.output != Output() else None,
    )


def _described(spec: ToolSpec) -> str:
    return canonical.sha256({"description": spec.description, "input_schema": spec.input_schema})


def _sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def sources(run: record.Run) -> tuple[Source, ...]:
    """What the answer cites, each once and in its order."""
    said: dict[str, Source] = {}
    for call in run.calls:
        for item in call.items:
            fields = _fields(item.value)
            text = item.text or ", ".join(f"{k}: {v}" for k, v in fields.items())
            said.setdefault(item.item_key, Source(key=item.item_key, text=text, as_of=item.as_of))
            for name, value in fields.items():
                key = f"{item.item_key}/{name}"
                said.setdefault(key, Source(key=key, text=f"{name}: {value}", as_of=item.as_of))
    cited = dict.fromkeys(c.item_key for c in run.citations)
    found = [said.get(key) or said.get(key.rpartition("/")[0]) or Source(key=key, text="") for key in cited]
    # Once words were rewritten, a source must not show them in their place.
    fired = any(f.verdict != "pass" for f in run.firings)
    return tuple(replace(s, text="") for s in found) if fired else tuple(found)


def shown(outcome: Outcome, *, again: bool = False) -> str:
    """An outcome as a person reads it: answer, sources with their words, what was considered.

    `again`: it is shown by the verb that shows saved runs, which then does not send people to itself."""
    run = outcome.run
    lines = [outcome.text if run.answer else f"{run.status}: {run.reason}"]
    if run.status == "refused":
        lines.append(
            f"`ukai access explain {run.principal} {run.agent} --channel {run.surface}` tells what is missing."
        )
    if outcome.sources:
        lines += ["", "Sources"]
        lines += [f"  {_excerpt(s.line)}" for s in outcome.sources]
    lines += ["", "Considered"]
    # What the model put into its calls, names of tools that are not there included, may be words that a rule held back.
    fired = any(f.verdict != "pass" for f in run.firings)
    for call in sorted(run.calls, key=_number):
        if not fired or call.error_code != "NotCalled":
            arguments = "" if fired else f" {call.args_canonical}"
            lines.append(f"  {call.tool}{arguments} -> {call.label}, {len(call.items)} items")
    if not run.calls:
        lines.append("  nothing")
    elif run.config.model == EXTRACTIVE:
        lines.append(f"  {NOT_COMPOSED}")
    whole = "--json" if again else f"ukai run show {run.run_id}"
    lines += ["", f"Run {run.run_id} ({run.status}); {whole} tells all of it."]
    return "\n".join(lines)


def _excerpt(text: str) -> str:
    return text if len(text) <= EXCERPT else text[: EXCERPT - 1] + "…"


def _number(call: record.Call) -> int:
    """The order in which calls were made; the record lists them as they ended."""
    return int(call.call_id.rpartition("-")[2])


def _fields(value: Any) -> Mapping[str, Any]:
    """The fields of an item's value; a value without any is one field of its own."""
    if value is None:
        return {}
    fields: Any = cast("dict[str, Any]", value).get("fields") if isinstance(value, dict) else None
    return cast("dict[str, Any]", fields) if isinstance(fields, dict) else {"value": canonical.dumps(value)}
