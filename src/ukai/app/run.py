"""`ukai run show | list`, and a run's why: saved runs, read by whoever asked them or holds `audit`."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ukai import measure, record
from ukai.app import engine
from ukai.kit import unicode
from ukai.kit.errors import PermanentError
from ukai.measure import batch

if TYPE_CHECKING:
    from ukai.app import ask

QUOTE_WHAT_WAS_HELD = frozenset({"rewrite"})


class NoSuchRun(PermanentError):
    """There is no such run, or none that the caller may read."""

    hint = "`ukai run list` shows those that may be read"


async def show(path: Path, run_id: str, *, principal: str | None) -> ask.Outcome:
    """One run. Raises NoSuchRun."""
    async with engine.opened(path) as opened:
        _, run = await _read(opened, opened.principal(principal), run_id)
    return _outcome(run)


async def listed(path: Path, *, principal: str | None, after: str | None, limit: int) -> dict[str, Any]:
    """A page of runs, newest first."""
    async with engine.opened(path) as opened:
        return await page(opened, opened.principal(principal), after=after, limit=limit)


async def one(opened: engine.Engine, who: str, run_id: str) -> dict[str, Any]:
    """The document of one run: whole for whoever holds `audit`, else as the one who asked may have it.

    Raises NoSuchRun.
    """
    _, run = await _read(opened, who, run_id)
    return record.as_json(run) if _sight(opened, who).audit else _outcome(run).as_json()


async def page(
    opened: engine.Engine, who: str, *, agent: str | None = None, after: str | None = None, limit: int = 20
) -> dict[str, Any]:
    """`{"runs": [..], "after"}`, newest first."""
    agent = None if agent is None else unicode.storable(agent)
    async with opened.db.transaction() as tx:
        found = await record.page(tx, _sight(opened, who), agent=agent, after=after, limit=limit)
    return {"runs": [record.as_json(r) for r in found.runs], "after": found.after}


async def why(opened: engine.Engine, who: str, run_id: str) -> dict[str, Any]:
    """One run with why its answer is what it is: access, calls, rules, checks, cost (X4). Raises NoSuchRun."""
    raw, run = await _read(opened, who, run_id)
    told = _outcome(run)
    whole = _sight(opened, who).audit
    calls = (record.as_json(run) if whole else told.as_json())["calls"]
    return {
        "run_id": run.run_id,
        "agent": run.agent,
        "question": run.question,
        "started_at": run.started_at,
        "ended_at": run.ended_at,
        "status": run.status,
        "reason": run.reason,
        "answer": run.answer.markdown if run.answer else None,
        "sources": [{"key": s.key, "text": s.text, "as_of": s.as_of} for s in told.sources],
        "access": _access(opened, who, run),
        "calls": [_call(c) for c in calls],
        "compositions": list(run.compositions),
        "rules": [{"stage": f.stage, "rule": f.rule, "verdict": f.verdict, "failed": f.failed} for f in run.firings],
        "checks": _checks(raw, whole=whole, fired=any(f.verdict != "pass" for f in run.firings)),
        "cost": _cost(run),
        "config": record.as_json(run.config),
        "build": record.as_json(run.build),
    }


def _access(opened: engine.Engine, who: str, run: record.Run) -> dict[str, Any]:
    """Who asked and for whose eyes; by which policies only for whoever holds `audit`: they are IT's own words."""
    access = opened.catalog.access
    agent = opened.catalog.agents.get(run.agent)
    policies = agent.field_policies if agent else ()
    rights = access.rights(access.caller(run.principal), run.agent, policies, channel=run.surface)
    said: dict[str, Any] = {
        "principal": run.principal,
        "audience": list(run.audience),
        "surface": run.surface,
        "may_ask_now": rights.invoke.allowed,
        "field_policies": list(policies),
    }
    return said | {"reason": rights.invoke.reason if _sight(opened, who).audit else ""}


def _call(call: dict[str, Any]) -> dict[str, Any]:
    return {
        "tool": call["tool"],
        "arguments": call.get("args_canonical", ""),
        "label": call["label"],
        "error": call.get("error_code"),
        "items": [{"key": i["item_key"], "as_of": i.get("as_of")} for i in call.get("items", [])],
    }


def _checks(raw: str, *, whole: bool, fired: bool) -> list[dict[str, Any]]:
    """What code says about the run. Where a rule fired, quotes are for whoever audits: they are of what was held."""
    names = [name for name, kind in measure.CHECKS.items() if isinstance(kind(), measure.RunCheck)]
    names = [name for name in names if whole or name not in QUOTE_WHAT_WAS_HELD]
    rows = batch.weighed([raw], names, name="run").rows
    found = [score.as_json() for row in rows for score in row.scores]
    if whole or not fired:
        return found
    return [{**score, "flags": [{**flag, **_NO_WORDS} for flag in score["flags"]]} for score in found]


_NO_WORDS: dict[str, Any] = {"words": "", "note": "", "sentence": "", "looked": []}


def _cost(run: record.Run) -> dict[str, Any]:
    priced = [u.usd for u in run.usage if u.usd is not None]
    return {
        "requests": len(run.usage),
        "input": sum(u.input for u in run.usage),
        "output": sum(u.output for u in run.usage),
        "usd": str(sum(priced, start=Decimal())) if priced else None,
    }


async def _read(opened: engine.Engine, who: str, run_id: str) -> tuple[str, record.Run]:
    async with opened.db.transaction() as tx:
        raw = await record.read(tx, run_id, _sight(opened, who))
    if raw is None:
        raise NoSuchRun(f"no run {run_id!r} that may be read")
    run, findings = record.load(raw)
    if run is None:
        raise record.BrokenEntry(findings)
    return raw, run


def _outcome(run: record.Run) -> ask.Outcome:
    from ukai.app import ask  # with models and their library: a list of runs does without

    return ask.Outcome(run=run, text=run.answer.markdown if run.answer else run.reason, sources=ask.sources(run))


def _sight(opened: engine.Engine, who: str) -> record.Sight:
    may_audit = opened.catalog.access.holds(opened.catalog.access.caller(who), "audit").allowed
    return record.Sight(principal=who, audit=may_audit)
