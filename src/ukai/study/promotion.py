"""What people keep asking and what they keep using: the evidence for a skill, and for a skill on a schedule (P5.1).

Prompts are compared by meaning without the names in them, so that the same question about ten accounts is one prompt.
Everything here is a function of what was asked: the same runs give the same suggestions.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from statistics import median
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np

from ukai.kit import words
from ukai.runtime.agent import MAX_NAME

ALIKE = 0.70
"""Cosine of MiniLM from which two prompts are one. Of the wordings of ten intents in tests/study/test_promotion.py it
joins 55 % of the pairs that are one and none that are not; .65 joins 76 % and 1.3 %.
"""
RUNS, PEOPLE, DAYS = 5, 2, 4
"""How often something must recur before it is worth a file: for a skill, by so many people; for a schedule, on so many
days."""
NAMED = 4
"""Words in a drafted name."""
EXAMPLES = 3

Embed = Callable[[Sequence[str]], Any]
"""Texts to rows of unit length."""


@dataclass(frozen=True, kw_only=True)
class Asked:
    """One run, as far as suggestions need it."""

    run_id: str
    agent: str
    principal: str
    at: datetime
    question: str
    bare: str
    """The question without the names in it."""
    skills: tuple[str, ...] = ()
    """Those that it named or used."""
    calls: int = 0


@dataclass(frozen=True, kw_only=True)
class Recurring:
    """A prompt that people repeat, fit to become a skill."""

    agent: str
    name: str
    """A proposal."""
    prompt: str
    """Its most frequent wording, names left out."""
    wordings: tuple[str, ...]
    """Questions as they were asked, one of each wording, most frequent first."""
    runs: tuple[str, ...]
    people: int
    first: datetime
    last: datetime


@dataclass(frozen=True, kw_only=True)
class Used:
    """A skill that runs often, fit to become a report."""

    agent: str
    skill: str
    runs: tuple[str, ...]
    people: int
    days: int
    cron: str
    """When it was asked for most, as a schedule."""
    calls: tuple[int, int, int]
    """Tool calls of a run: least, middle, most. A skill is fit for a schedule only if they stay close (P5.2)."""

    @property
    def is_steady(self) -> bool:
        """Whether runs of it take about the same number of calls."""
        least, _, most = self.calls
        return most <= 2 * max(least, 2)


def recurring(asked: Sequence[Asked], embed: Embed, *, taken: Callable[[str, str], bool]) -> list[Recurring]:
    """Prompts without a skill that recur, the most frequent first. `taken(agent, name)`: a skill has this name."""
    found: list[Recurring] = []
    for agent in sorted({a.agent for a in asked}):
        free = [a for a in asked if a.agent == agent and not a.skills]
        for group in _groups(free, embed):
            people = {a.principal for a in group}
            if len(group) >= RUNS and len(people) >= PEOPLE:
                found.append(_recurring(agent, group, taken))
    return sorted(found, key=lambda r: (-len(r.runs), r.agent, r.name))


def used(asked: Sequence[Asked], zone: ZoneInfo) -> list[Used]:
    """Skills that run often, the most frequent first; days and hours are those of `zone`."""
    by_skill: dict[tuple[str, str], list[Asked]] = {}
    for one in asked:
        for skill in one.skills:
            by_skill.setdefault((one.agent, skill), []).append(one)
    found = [_used(*key, runs, zone) for key, runs in by_skill.items()]
    often = [u for u in found if len(u.runs) >= RUNS and u.days >= DAYS]
    return sorted(often, key=lambda u: (-len(u.runs), u.agent, u.skill))


def _groups(asked: Sequence[Asked], embed: Embed) -> list[list[Asked]]:
    """Around leaders: the most frequent wording first, each further one joins the first that it is like."""
    counts = Counter(a.bare for a in asked)
    texts = sorted(counts, key=lambda t: (-counts[t], t))
    if not texts:
        return []
    vectors = np.asarray(embed(texts))
    leaders: list[int] = []
    joined: dict[str, int] = {}
    for i, text in enumerate(texts):
        near = next((n for n in leaders if float(vectors[n] @ vectors[i]) >= ALIKE), None)
        if near is None:
            leaders.append(i)
        joined[text] = i if near is None else near
    groups: dict[int, list[Asked]] = {}
    for one in sorted(asked, key=lambda a: (a.at, a.run_id)):
        groups.setdefault(joined[one.bare], []).append(one)
    return list(groups.values())


def _recurring(agent: str, group: Sequence[Asked], taken: Callable[[str, str], bool]) -> Recurring:
    counts = Counter(a.bare for a in group)
    wordings = sorted(counts, key=lambda t: (-counts[t], t))
    said = {a.bare: a.question for a in reversed(group)}
    name = _free(agent, _name(wordings[0]), taken)
    return Recurring(
        agent=agent,
        name=name,
        prompt=wordings[0],
        wordings=tuple(said[w] for w in wordings[:EXAMPLES]),
        runs=tuple(a.run_id for a in group),
        people=len({a.principal for a in group}),
        first=group[0].at,
        last=group[-1].at,
    )


def _name(prompt: str) -> str:
    """A valid name out of its first words that mean something."""
    kept = [w for w in words.words(prompt) if words.terms(w)]
    slug = re.sub(r"[^a-z0-9]+", "-", " ".join(kept[:NAMED]).casefold()).strip("-")
    return slug[:MAX_NAME].strip("-") or "repeated-question"


def _free(agent: str, name: str, taken: Callable[[str, str], bool]) -> str:
    if not taken(agent, name):
        return name
    return next(n for i in range(2, 1_000) if not taken(agent, n := f"{name}-{i}"))


def _used(agent: str, skill: str, runs: Sequence[Asked], zone: ZoneInfo) -> Used:
    ordered = sorted(runs, key=lambda a: (a.at, a.run_id))
    local = [a.at.astimezone(zone) for a in ordered]
    calls = sorted(a.calls for a in ordered)
    return Used(
        agent=agent,
        skill=skill,
        runs=tuple(a.run_id for a in ordered),
        people=len({a.principal for a in ordered}),
        days=len({at.date() for at in local}),
        cron=_cron(local),
        calls=(calls[0], round(median(calls)), calls[-1]),
    )


def _cron(local: Sequence[datetime]) -> str:
    """The hour before most of them; every working day, or the day of the week that holds more than half."""
    hour = _most([at.hour for at in local])
    days = Counter(at.isoweekday() for at in local)
    day = _most([at.isoweekday() for at in local])
    when = str(day % 7) if 2 * days[day] > len(local) else "1-5"
    return f"0 {max(hour - 1, 0)} * * {when}"


def _most(values: Sequence[int]) -> int:
    counts = Counter(values)
    return min(counts, key=lambda v: (-counts[v], v))
