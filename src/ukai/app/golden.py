"""`ukai context recall` in a workspace: its own cases, composed from its own store under the rights of whoever asks.

A case names what it requires (`requires: {items: [..]}`). What stands in the document of each budget is counted from
the composer's own account of what it showed.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ukai import context
from ukai.app import budgets as allowances
from ukai.app import engine, loading, rankers
from ukai.app.engine import Progress
from ukai.app.evals import bank
from ukai.app.recall import Report
from ukai.context import levels, making, ranking, reading
from ukai.context.reader import WHEREVER_RIGHTS_REACH
from ukai.context.recall.measured import Held
from ukai.context.rows import views
from ukai.context.scope import CEILING_TOKENS
from ukai.kit import handle
from ukai.kit.errors import PermanentError
from ukai.kit.finding import Finding
from ukai.measure import at_budgets
from ukai.measure.bank import Question
from ukai.runtime.budget import Purse
from ukai.runtime.meter import Meter


class NotRanked(PermanentError):
    """A figure of the scores would stand under the name of a model."""

    hint = "Look at its key, its server and its answers, or measure with --ranker score"


@dataclass(frozen=True, kw_only=True)
class Row:
    """One case of the workspace."""

    id: str
    held: Held
    end_to_end: float
    """Usable in a document as large as any may be."""
    missing: tuple[str, ...]
    ms: float = field(default=0.0, compare=False)
    random: Held = field(default_factory=lambda: Held(recall={}, usable={}))
    """No random order is composed from a store."""

    @property
    def is_even(self) -> bool:
        """Whether the sha256 of its id is even."""
        return int(hashlib.sha256(self.id.encode()).hexdigest(), 16) % 2 == 0

    def as_json(self) -> dict[str, object]:
        """With budgets as text."""
        return {
            "id": self.id,
            "recall": {str(b): round(v, 4) for b, v in self.held.recall.items()},
            "usable": {str(b): round(v, 4) for b, v in self.held.usable.items()},
            "end_to_end": round(self.end_to_end, 4),
            "missing": list(self.missing),
        }


async def recall(
    path: Path,
    *,
    budgets: Sequence[int],
    agent: str | None = None,
    only: str = "*",
    every: int = 1,
    ranker: str | None = None,
    principal: str | None = None,
    progress: Progress = lambda _: None,
) -> Report:
    """Every case of the workspace that requires items, at every budget, in the composer's own tokens.

    `every`: only every so many-th case. `ranker`: one that ukai.yaml lists; None is its own choice. Raises
    UnknownRanker, NotRanked.
    """
    async with engine.opened(path) as opened:
        return await measured(
            opened,
            budgets=budgets,
            agent=agent,
            only=only,
            every=every,
            ranker=ranker,
            principal=principal,
            progress=progress,
        )


async def measured(
    opened: engine.Engine,
    *,
    budgets: Sequence[int],
    agent: str | None = None,
    only: str = "*",
    every: int = 1,
    ranker: str | None = None,
    principal: str | None = None,
    progress: Progress = lambda _: None,
) -> Report:
    """The same in a workspace that is open."""
    rows: list[Row] = []
    await opened.keep_up(progress)
    bank_, findings = bank.of(opened.catalog, agent=agent, only=only)
    bank_, unasked = await bank.addressed(opened, bank_, opened.principal(principal))
    wanted = [q for q in bank_.questions if q.requires.items][::every]
    told: list[Finding] = [*findings, *unasked]
    if not wanted:
        told.append(_nothing_required(opened, agent=agent, only=only))
    elif not await _holds_anything(opened):
        # Nothing would be found, and a row of zeros looks like a measurement.
        told.append(_nothing_indexed(opened))
        wanted = []
    for question in wanted:
        rows.append(await _row(opened, question, budgets, ranker))
        told += await _unknown(opened, question, rows[-1].missing)
        progress(f"cases: {len(rows)} of {len(wanted)}")
    return Report(figures=at_budgets.summary(rows, budgets), per_case=tuple(rows), findings=tuple(told))


async def _holds_anything(opened: engine.Engine) -> bool:
    async with opened.db.snapshot() as tx:
        return await views.count(tx, ("true", []), stop_at=1) > 0


def _nothing_required(opened: engine.Engine, *, agent: str | None, only: str) -> Finding:
    which = f" of {agent}" if agent else ""
    return Finding(
        code="nothing_required",
        where=str(opened.root),
        message=f"no case{which} that matches {only!r} says which items its answer requires: nothing was measured",
        expected='requires: {items: ["Type#key"]}',
        hint="write cases: docs/reference/cases.md",
    )


def _nothing_indexed(opened: engine.Engine) -> Finding:
    names = sorted(loading.connectors(opened.catalog))
    how = f"pull with the connectors ({', '.join(names)}): `ukai ingest --all`" if names else "add a connector"
    return Finding(
        code="nothing_indexed",
        where=opened.db.shown_as,
        message="the store holds no record that could be composed: nothing was measured",
        hint=f"{how}, or propose records; `ukai db status` says which store this is",
    )


async def _unknown(opened: engine.Engine, question: Question, missing: Sequence[str]) -> list[Finding]:
    """What no document could hold: there is no such record, or none for its asker. One answer for both."""
    agent = opened.agent(question.agent or "")
    anywhere = opened.reader(agent, opened.rights(agent, question.asker or "", "cli")).anywhere
    async with opened.db.snapshot() as tx:
        return [
            Finding(
                code="item_unknown",
                severity="warning",
                where=f"/cases/{question.id}",
                message=f"there is no {item} that {question.asker} may read with {agent.name}",
                received=item,
                hint="correct `requires`, bring the record in, or see `ukai access explain`: it counts as not found",
            )
            for item in missing
            if (named := handle.parse(item)) is not None
            and await reading.read(tx, opened.library, anywhere, name=named) is None
        ]


async def _row(opened: engine.Engine, question: Question, budgets: Sequence[int], ranker: str | None) -> Row:
    started = time.perf_counter()
    required = question.requires.items
    shown = {b: await _shown(opened, question, b, ranker) for b in (*budgets, CEILING_TOKENS)}
    ms = (time.perf_counter() - started) * 1e3 / len(shown)

    def share(budget: int, at_least: str) -> float:
        return sum(_holds(shown[budget], key, at_least) for key in required) / len(required)

    return Row(
        id=question.id,
        held=Held(
            recall={b: share(b, levels.IDENTITY) for b in budgets}, usable={b: share(b, levels.FULL) for b in budgets}
        ),
        end_to_end=share(CEILING_TOKENS, levels.FULL),
        missing=tuple(key for key in required if not _holds(shown[CEILING_TOKENS], key, levels.FULL)),
        ms=ms,
    )


async def _shown(opened: engine.Engine, question: Question, budget: int, ranker: str | None) -> Mapping[str, str]:
    """Item -> the level at which it stands; nothing for who may not use the agent."""
    agent = opened.agent(question.agent or "")
    rights = opened.rights(agent, question.asker or "", "cli")
    if not rights.invoke.allowed:
        return {}
    reader = opened.reader(agent, rights)
    request = context.Request(question=question.ask, scope=agent.scope or WHEREVER_RIGHTS_REACH, budget_tokens=budget)
    # Asked in the name of others: it spends nothing of their day.
    meter = Meter(purse=Purse(allowance=allowances.allowance(opened, agent, question.asker or "")))
    name, ordering = rankers.named(opened, ranker, meter)
    made = await making.made_of(
        opened.db,
        request,
        library=opened.library,
        reader=reader,
        settings=opened.catalog.settings.context.thresholds,
        ranker=ordering,
    )
    failed = next((e for e in made.report.events if e.startswith(ranking.FAILED)), None)
    if failed is not None:
        raise NotRanked(f"the ranker {name!r} did not rank {question.id!r}: {failed}")
    shown = {item: level for item, (_, level) in made.report.shown.items()}
    for row in made.report.ranking:
        elements = [i for i in row.items if i not in shown]
        if elements and row.level not in (levels.NONE, levels.IDENTITY):
            # What consists of others is of use with all their names (docs/reference/recall.md).
            shown |= {i: levels.FULL for i in row.items if i in shown} | dict.fromkeys(elements, row.level)
    return shown


def _holds(shown: Mapping[str, str], key: str, at_least: str) -> bool:
    """A part that is an item of its own stands for itself; a field's text (`Note#x/body`) stands in its record."""
    whole, _, part = key.partition("/")
    level = shown.get(key) or (shown.get(whole) if "/" not in part else None)
    return level is not None and levels.at_least(level, at_least)
