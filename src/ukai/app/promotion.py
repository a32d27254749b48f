"""`ukai skill suggest`: what people repeat, and what could be drafted from it (P5.1)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from ukai import record
from ukai.app import engine, files
from ukai.catalog import writing
from ukai.llm.extractive import names
from ukai.study import promotion


@dataclass(frozen=True, kw_only=True)
class Draft:
    """A file that could be."""

    path: str
    text: str


@dataclass(frozen=True, kw_only=True)
class Suggested:
    """The evidence, and a draft for each piece of it."""

    days: int
    asked: int
    """Runs that were looked at: all with the right `audit`, else one's own."""
    skills: tuple[tuple[promotion.Recurring, Draft], ...]
    reports: tuple[tuple[promotion.Used, Draft], ...]
    written: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """The document of the verb."""
        return {
            "days": self.days,
            "asked": self.asked,
            "skills": [_shown(r, d) for r, d in self.skills],
            "reports": [_shown(u, d) | {"is_steady": u.is_steady} for u, d in self.reports],
            "written": list(self.written),
        }


async def suggest(
    path: Path, *, principal: str | None, agent: str | None, days: int, zone: str = "UTC", write: bool = False
) -> Suggested:
    """What recurred in the last `days`; with `write`, the drafts as files, none over an existing one."""
    async with engine.opened(path) as opened:
        who = opened.principal(principal)
        access = opened.catalog.access
        sight = record.Sight(principal=who, audit=access.holds(access.caller(who), "audit").allowed)
        async with opened.db.snapshot() as tx:
            found = await record.asked(tx, sight, since=opened.clock.now() - timedelta(days=days))
        runs = [_asked(a) for a in found if agent is None or a.agent == agent]
        agents = opened.catalog.agents

        def taken(agent: str, name: str) -> bool:
            return (opened.root / _skill(agent, name)).exists()

        recurring = await asyncio.to_thread(promotion.recurring, runs, opened.embedder.embed, taken=taken)
        used = promotion.used(runs, ZoneInfo(zone))
        skills = tuple((r, _skill_draft(r)) for r in recurring)
        reports = tuple((u, _report_draft(u, agents, zone)) for u in used)
        fresh = [d for _, d in (*skills, *reports) if not (opened.root / d.path).exists()]
        for draft in fresh if write else []:
            files.write(opened.root / draft.path, draft.text)
    return Suggested(
        days=days,
        asked=len(runs),
        skills=skills,
        reports=reports,
        written=tuple(d.path for d in fresh) if write else (),
    )


def text(suggested: Suggested) -> str:
    """As a person reads it."""
    lines = [f"{suggested.asked} runs of the last {suggested.days} days."]
    for r, draft in suggested.skills:
        lines += [
            "",
            f"{len(r.runs)} times by {r.people} people, of {r.agent}: {r.prompt}",
            *(f"  {w}" for w in r.wordings),
            f"  -> a skill: {draft.path}",
        ]
    for u, draft in suggested.reports:
        steady = "steady" if u.is_steady else "not steady yet"
        lines += [
            "",
            f"/{u.skill} of {u.agent}: {len(u.runs)} runs on {u.days} days by {u.people} people",
            f"  tool calls {u.calls[0]} to {u.calls[2]}, {u.calls[1]} in the middle: {steady}",
            f"  -> a report at {u.cron}: {draft.path}",
        ]
    if not suggested.skills and not suggested.reports:
        lines.append("Nothing recurs often enough yet.")
    lines += ["", *(f"made {path}" for path in suggested.written)]
    return "\n".join(lines).rstrip()


def _asked(one: record.Asked) -> promotion.Asked:
    bare = names.without(one.question, names.names(one.question))
    return promotion.Asked(
        run_id=one.run_id,
        agent=one.agent,
        principal=one.principal,
        at=one.at,
        question=one.question,
        bare=bare,
        skills=one.skills,
        calls=one.calls,
    )


def _skill(agent: str, name: str) -> str:
    return f"agents/{agent}/skills/{name}/SKILL.md"


def _skill_draft(r: promotion.Recurring) -> Draft:
    described = f"Use when somebody asks: {r.prompt}"
    examples = "\n".join(f"- {w}" for w in r.wordings)
    body = f"""\
---
name: {r.name}
description: {writing.scalar(described)}
---

{r.prompt}

Asked {len(r.runs)} times by {r.people} people between {r.first:%Y-%m-%d} and {r.last:%Y-%m-%d}, for example:

{examples}

Write here how the answer is found, step by step, and what it has to look like.
"""
    return Draft(path=_skill(r.agent, r.name), text=body)


def _report_draft(u: promotion.Used, agents: Mapping[str, Any], zone: str) -> Draft:
    skill = agents[u.agent].skills.get(u.skill) if u.agent in agents else None
    described = skill.description if skill is not None else u.skill
    body = f"""\
---
name: {u.skill}
description: {writing.scalar(described)}
cron: "{u.cron}"
timezone: {zone}
run_as: owner
skip_if_empty: true
outputs:
  - {{type: file, path: "reports/{u.skill}.md"}}
---

/{u.skill}
"""
    return Draft(path=f"agents/{u.agent}/reports/{u.skill}.md", text=body)


def _shown(evidence: Any, draft: Draft) -> dict[str, Any]:
    found = record.as_json(evidence)
    return {**found, "runs": len(evidence.runs), "examples": list(evidence.runs[:5]), "draft": record.as_json(draft)}
