"""`ukai context compose | explain | replay`: what an agent would read, why something is not in it, and once more."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID

from ukai import context
from ukai.access.decision import KEEPERS
from ukai.app import budgets, composing, engine, rankers, wording
from ukai.context import cut, explaining, ranking, rereading
from ukai.context.given import Given
from ukai.context.reader import WHEREVER_RIGHTS_REACH, Reader
from ukai.context.report import WITHOUT_VECTOR
from ukai.context.rows import compositions
from ukai.kit import suggest, unicode
from ukai.kit.errors import PermanentError
from ukai.runtime.agent import Agent, Skill

Progress = Callable[[str], None]
SHOWN_IN, SHOWN_OUT = 20, 10
"""So many sections that stand in the document, so many that were left out and so many events are shown to a person who
does not ask for all; the JSON document has all.
"""
WITHOUT_A_MODEL = (
    "a model that was to leave out failed: nothing was left out of what it was asked about",
    "the model that was to rank failed: the scores ordered instead",
)
"""For each of `ranking.FAILED`."""
IN_SHORT = ("budget", "used", "ceiling_hit")
"""Of a report, what whoever reads the document alone needs of it."""
ORDER = "what stands together is ranked together, with the best of it or where a model put it; a score is its own"
"""Why the scores below each other go up and down."""
EMPTY = "  the scopes of agent and skill cover nothing that you may read: see their globs and ids, and your rights"


class NoSuchComposition(PermanentError):
    """There is no such composition, or none that the caller may ask about."""

    hint = "Compositions are explained to whoever they were made for, and to holders of `audit`"


class NoCompositionOfYours(NoSuchComposition):
    """There is none that was made for the caller: only they may have its document."""

    hint = (
        "A document is made once more for whoever it was made for; `ukai context explain` tells holders of `audit` too"
    )


class NothingPutAside(PermanentError):
    """There is no such reference, or it was given to others."""

    hint = "References are read by whoever the document was composed for, with the same agent"

    def __init__(self, ref: str) -> None:
        super().__init__(f"there is nothing under {ref[:64]!r} for you")


class TwoMemories(PermanentError):
    """`holds` says what arrived, `conversation` takes it that everything did."""

    hint = "send `holds` where a reply may be lost, else `conversation`"


UnknownRanker = rankers.UnknownRanker


class UnknownSkill(PermanentError):
    """The agent has no skill of this name."""


class NotInvoked(PermanentError):
    """They may not use the agent, so nothing is composed for them."""


async def compose(
    path: Path,
    agent: str,
    question: str,
    *,
    principal: str | None,
    skill: str | None = None,
    budget_tokens: int | None = None,
    conversation: str | None = None,
    holds: str | None = None,
    ranker: str | None = None,
    progress: Progress = lambda _: None,
) -> dict[str, Any]:
    """The document with its report. Raises NothingAsked, UnknownAgent, UnknownSkill, UnknownRanker, NotInvoked."""
    async with engine.opened(path) as opened:
        who = opened.principal(principal)
        return await composed(
            opened,
            agent,
            question,
            principal=who,
            skill=skill,
            budget_tokens=budget_tokens,
            conversation=conversation,
            holds=holds,
            ranker=ranker,
            progress=progress,
        )


async def composed(
    opened: engine.Engine,
    agent: str,
    question: str,
    *,
    principal: str,
    surface: str = "cli",
    skill: str | None = None,
    budget_tokens: int | None = None,
    ceiling_tokens: int | None = None,
    conversation: str | None = None,
    holds: str | None = None,
    ranker: str | None = None,
    report: bool = True,
    progress: Progress = lambda _: None,
) -> dict[str, Any]:
    """The same in a workspace that is open; `ceiling_tokens` is what whoever reads can take at most.

    `report`: False gives what the document came to (`IN_SHORT`) in its place, which `explained` tells afterwards.

    `ranker`: one that ukai.yaml lists; None is its own choice. What a model uses counts against the caller's limits.
    `holds`: the last composition that reached whoever asks, in place of `conversation`: what was given with it and
    before it is not given again, and what was composed since is. Raises NoSuchComposition, NothingAsked, TwoMemories.
    """
    if holds is not None and conversation is not None:
        raise TwoMemories("`holds` stands in place of `conversation`, and both are named")
    served = opened.agent(agent)
    named = _skill(served, skill)
    reader = _reader(opened, served, principal, named, surface)
    meter = budgets.meter(opened, served, principal, named and named.budget)
    name, ordering = rankers.named(opened, ranker, meter)
    request = context.Request(
        question=wording.asked(question),
        scope=(named.scope if named else None) or served.scope or WHEREVER_RIGHTS_REACH,
        skill=skill or "",
        budget_tokens=budget_tokens,
        conversation=None if conversation is None else unicode.storable(conversation),
        ranker=name,
    )
    if ceiling_tokens is not None:
        request = replace(request, ceiling_tokens=min(ceiling_tokens, request.ceiling_tokens))
    await opened.keep_up(progress)
    if holds is None:
        made = await composing.compose(opened, request, reader, ordering)
    else:
        made = await composing.compose(
            opened, request.alone, reader, ordering, given=await _held(opened, holds, reader)
        )
    document = {"id": str(made.id), "text": made.text}
    if not report:
        return document | {name: getattr(made.report, name) for name in IN_SHORT}
    async with opened.db.snapshot() as tx:
        told = await rereading.titled(tx, made.report.as_json(), library=opened.library, reader=reader)
    return document | {"report": shown(told, made.ms if _may_audit(opened, principal) else None)}


async def _held(opened: engine.Engine, id: str, reader: Reader) -> Given:
    """What whoever received the composition `id` holds."""
    try:
        saved = await explaining.own(opened.db, UUID(id), reader)
    except ValueError:
        saved = None
    if saved is None:
        raise NoSuchComposition(f"there is no composition {id} that was made for you with this agent")
    return explaining.held(saved)


async def fetched(
    opened: engine.Engine, agent: str, ref: str, *, principal: str, surface: str = "cli"
) -> explaining.PutAside | None:
    """What was put aside under `ref`, read anew under their rights. None: there is none, or none for them.

    Raises UnknownAgent, NotInvoked.
    """
    reader = _reader(opened, opened.agent(agent), principal, None, surface)
    return await explaining.put_aside(opened.db, unicode.storable(ref), library=opened.library, reader=reader)


async def fetch(path: Path, agent: str, ref: str, *, principal: str | None) -> dict[str, Any]:
    """What was put aside under `ref`. Raises NothingPutAside, UnknownAgent, NotInvoked."""
    async with engine.opened(path) as opened:
        found = await fetched(opened, agent, ref, principal=opened.principal(principal))
    if found is None:
        raise NothingPutAside(ref)
    return {"ref": ref, "handle": found.handle, "field": found.field, "text": found.text}


async def explain(path: Path, id: str, name: str | None, *, principal: str | None) -> dict[str, Any]:
    """The report of a composition, or why the record `name` is or is not in it. Raises NoSuchComposition."""
    async with engine.opened(path) as opened:
        return await explained(opened, id, name, principal=opened.principal(principal))


async def explained(
    opened: engine.Engine, id: str, name: str | None, *, principal: str, surface: str = "cli"
) -> dict[str, Any]:
    """The same in a workspace that is open. Raises NoSuchComposition.

    Whoever it was made for sees of its report what their rights still reach; whoever holds `audit` sees all of it, and
    of a record what the report says: they need no right to use the agent, and none of its reader's is lent to them.
    """
    saved = await _saved(opened, id)
    may_audit = _may_audit(opened, principal)
    is_theirs = saved is not None and saved.principals == (principal,) and _still_may(opened, saved, surface)
    if saved is None or not (may_audit or is_theirs):
        raise NoSuchComposition(f"there is no composition {id} that you may ask about")
    if name is None:
        asked, report = json.loads(saved.request), json.loads(saved.report)
        if not may_audit:
            served = opened.agent(saved.agent)
            rights = opened.rights(served, principal, surface)
            reader = opened.reader(served, rights, served.skills.get(saved.skill))
            async with opened.db.snapshot() as tx:
                report = await rereading.reread(tx, report, library=opened.library, reader=reader)
        return {
            "id": str(saved.id),
            "at": saved.at.isoformat(),
            "agent": saved.agent,
            "question": asked["question"],
            "report": shown(report, json.loads(saved.timing) if may_audit else None),
        }
    if not is_theirs:
        return {
            "id": str(saved.id),
            **explaining.reported(saved, unicode.storable(name), opened.library.types).as_json(),
        }
    served = opened.agent(saved.agent)
    reader = _reader(opened, served, principal, served.skills.get(saved.skill), surface)
    found = await explaining.explained(
        opened.db,
        saved,
        unicode.storable(name),
        library=opened.library,
        reader=reader,
        settings=opened.catalog.settings.context.thresholds,
    )
    return {"id": str(saved.id), **found.as_json()}


def _may_audit(opened: engine.Engine, principal: str) -> bool:
    access = opened.catalog.access
    return access.holds(access.caller(principal), "audit").allowed


def _still_may(opened: engine.Engine, saved: compositions.Saved, surface: str) -> bool:
    """Whether they may still use the agent that composed, somewhere: it may have been asked on another surface."""
    served = opened.catalog.agents.get(saved.agent)
    if served is None or opened.loaded.blocking(saved.agent):
        return False
    (principal,) = saved.principals
    return any(opened.rights(served, principal, channel).invoke.allowed for channel in (surface, *served.channels))


async def replay(path: Path, id: str, *, principal: str | None) -> dict[str, Any]:
    """The composition once more, of what is there now: `{"id", "same", "changed", "text"}`.

    Raises NoCompositionOfYours.
    """
    async with engine.opened(path) as opened:
        return await replayed(opened, id, principal=opened.principal(principal))


async def replayed(opened: engine.Engine, id: str, *, principal: str, surface: str = "cli") -> dict[str, Any]:
    """The same in a workspace that is open, for whoever it was made for alone: it is theirs to read.

    Raises NoCompositionOfYours.
    """
    saved = await _saved(opened, id)
    if saved is None or saved.principals != (principal,):
        raise NoCompositionOfYours(f"there is no composition {id} that was made for you")
    served = opened.agent(saved.agent)
    reader = _reader(opened, served, principal, served.skills.get(saved.skill), surface)
    made = await context.replay(
        opened.db,
        saved.id,
        library=opened.library,
        reader=reader,
        settings=opened.catalog.settings.context.thresholds,
        ranker=_ranked_by(opened, served, principal, saved),
    )
    if made is None:
        raise NoCompositionOfYours(f"there is no composition {id} that was made for you")
    return {"id": str(saved.id), "same": made.same, "changed": list(made.changed), "text": made.text}


def shown(report: dict[str, Any], ms: Mapping[str, float] | None) -> dict[str, Any]:
    """A report as the document of formats §11, with the time that each strategy took for whoever may know that.

    What was found before takes no time, so that times tell whether anything was written since, by anybody: they are for
    holders of `audit`.
    """
    if ms is None:
        return report
    graph = [{**step, "ms": ms.get(step["strategy"], 0.0)} for step in report["graph"]]
    parts = {k: v for k, v in ms.items() if k not in {s["strategy"] for s in graph}}
    return {**report, "graph": graph, "ms": parts}


def lines(report: dict[str, Any], *, whole: bool = False) -> Iterator[str]:
    """A report as a person reads it: what ran, then the ranking, `whole` or its beginning, with what became of each."""
    yield f"{report['scope']['matched']} items in scope; {report['used']} of {report['budget']} tokens used"
    for step in report["graph"]:
        if step["fired"] or step.get("way"):
            marks = [step.get("way", ""), *(m for m in ("capped", "timed_out") if step[m]), step.get("failed", "")]
            said = " ".join(filter(None, marks))
            took = f"  {step['ms']:>7.1f} ms" if "ms" in step else ""
            yield f"  {step['strategy']:<11} {step['candidates']:>5} found{took}  {said}".rstrip()
    yield from _without_a_model(report["events"])
    yield from _events(report["events"], whole=whole)
    yield from _without_vector(report["events"])
    if not report["scope"]["matched"]:
        yield EMPTY
        return
    yield ""
    yield ORDER
    yield f"{'rank':>4}  {'score':>6}  {'tokens':>6}  {'level':<9} section"
    yield from _ranked(report["ranking"], whole=whole)
    if any(cut.FIRST in row["reason"] for row in report["ranking"]):
        yield f"      {cut.TURNS}"
    left = len(report["dropped"]) - sum(r["level"] == "none" for r in report["ranking"])
    if left > 0:
        yield f"      and {left} more that rank too far behind to be read"


def _ranked(ranking: Sequence[dict[str, Any]], *, whole: bool) -> Iterator[str]:
    stand = out = 0
    for place, row in enumerate(ranking, 1):
        is_out = row["level"] == "none"
        out, stand = out + is_out, stand + (not is_out)
        if not whole and (out > SHOWN_OUT if is_out else stand > SHOWN_IN):
            continue
        title = f"  {row['title']}" if row.get("title") else ""
        title += f"  with {row['best']}" if row.get("best") else ""
        rank = row.get("rank", place)
        yield f"{rank:>4}  {row['score']:>6.2f}  {row['tokens_full']:>6}  {row['level']:<9} {row['section']}{title}"
        if not row["reason"].endswith(" in full"):
            yield f"{'':>33}{row['reason']}"
    more = {"in the document": stand - SHOWN_IN, "left out": out - SHOWN_OUT}
    if not whole and (said := [f"{n} more {what}" for what, n in more.items() if n > 0]):
        yield f"      and {', '.join(said)}: --all shows them"


def _without_a_model(events: Sequence[str]) -> Iterator[str]:
    """What a model that failed did not do, and what was done in its place."""
    for begins, said in zip(ranking.FAILED, WITHOUT_A_MODEL, strict=True):
        kinds = dict.fromkeys(e.removeprefix(begins).strip() for e in events if e.startswith(begins))
        if kinds:
            yield f"  {said} ({', '.join(kinds)})"


def _events(events: Sequence[str], *, whole: bool) -> Iterator[str]:
    """What else happened, as alerts count it."""
    other = [e for e in events if not e.startswith((*ranking.FAILED, WITHOUT_VECTOR))]
    kept = other if whole else other[:SHOWN_OUT]
    yield from (f"  event: {e}" for e in kept)
    if len(other) > len(kept):
        yield f"  and {len(other) - len(kept)} more events: --all shows them"


def _without_vector(events: Sequence[str]) -> Iterator[str]:
    for event in events:
        if event.startswith(WITHOUT_VECTOR):
            count = event.removeprefix(WITHOUT_VECTOR).strip()
            yield f"  {count} items have texts without a vector yet, which only their words find: ask again later"


def _ranked_by(opened: engine.Engine, agent: Agent, principal: str, saved: compositions.Saved) -> ranking.Ranker | None:
    """What the ranker of that name is now. A replay asks it nothing; None where the deployment has none any more."""
    try:
        return rankers.named(opened, json.loads(saved.request)["ranker"], budgets.meter(opened, agent, principal))[1]
    except rankers.UnknownRanker:
        return None


def _skill(agent: Agent, name: str | None) -> Skill | None:
    if name is None:
        return None
    found = agent.skills.get(name)
    if found is None:
        raise UnknownSkill(
            f"{agent.name!r} has no skill named {name!r}", hint=suggest.hint_for(name, agent.skills).capitalize()
        )
    return found


def _reader(opened: engine.Engine, agent: Agent, principal: str, skill: Skill | None, surface: str) -> Reader:
    rights = opened.rights(agent, principal, surface)
    if not rights.invoke.allowed:
        told = f"{KEEPERS} can grant it: `ukai access explain {principal} {agent.name}` tells them what is missing"
        raise NotInvoked(f"{principal} may not use {agent.name!r} here", hint=told)
    return opened.reader(agent, rights, skill)


async def _saved(opened: engine.Engine, id: str) -> compositions.Saved | None:
    try:
        wanted = UUID(id)
    except ValueError:
        return None
    async with opened.db.transaction() as tx:
        return await compositions.saved(tx, wanted)
