"""`budgets.yaml`: what IT lets a run, a day or a month cost. The smallest that applies wins.

An entry with an error is a limit of nothing: it cannot be known whom it was to hold back, nor how much.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal, cast

from ukai.access import mend
from ukai.access.caller import Caller
from ukai.access.groups import Groups
from ukai.kit import document, glob, shape
from ukai.kit.finding import Finding

Per = Literal["run", "day", "month"]
Unit = Literal["tokens", "usd", "seconds"]
PERIODS: tuple[Per, ...] = ("run", "day", "month")
UNITS: tuple[Unit, ...] = ("tokens", "usd", "seconds")


@dataclass(frozen=True, kw_only=True)
class _Entry:
    __pydantic_config__ = shape.STRICT
    per: Per
    to: tuple[str, ...] | None = None
    agent: str | None = None
    tokens: int | None = None
    usd: int | float | None = None
    seconds: int | float | None = None


@dataclass(frozen=True, kw_only=True)
class Budget:
    """One entry."""

    place: str
    to: frozenset[str] | None
    """None: everybody."""
    agent: glob.Glob | None
    per: Per
    amounts: tuple[tuple[Unit, Decimal], ...]

    def applies(self, caller: Caller, agent: str) -> bool:
        """Whether it holds back this caller with this agent; in doubt it does."""
        reached = self.to is None or caller.hit_by is None or not self.to.isdisjoint(caller.hit_by)
        return reached and (self.agent is None or self.agent.matches(agent))


@dataclass(frozen=True, kw_only=True)
class Limit:
    """The smallest amount that applies, and where it is written."""

    per: Per
    unit: Unit
    amount: Decimal
    place: str


def limits(budgets: Iterable[Budget], caller: Caller, agent: str) -> tuple[Limit, ...]:
    """For every period and unit the smallest amount, if any applies."""
    smallest: dict[tuple[Per, Unit], Limit] = {}
    for budget in budgets:
        if budget.applies(caller, agent):
            for unit, amount in budget.amounts:
                known = smallest.get((budget.per, unit))
                if known is None or amount < known.amount:
                    found = Limit(per=budget.per, unit=unit, amount=amount, place=budget.place)
                    smallest[budget.per, unit] = found
    return tuple(smallest[p, u] for p in PERIODS for u in UNITS if (p, u) in smallest)


def read(
    doc: document.Document | None, groups: Groups, agents: Collection[str] | None
) -> tuple[tuple[Budget, ...], list[Finding]]:
    """The budgets of one file; a file that cannot be read leaves nothing to spend."""
    items, findings = mend.entries(doc, key="budgets", kind=list)
    if doc is None or items is None:
        return _nothing("budgets.yaml:1:1" if doc is None else doc.where()), findings
    budgets: list[Budget] = []
    for i in range(len(cast("list[Any]", items))):
        found, more = _budget(doc, f"/budgets/{i}", groups, agents)
        budgets += found
        findings += more
    return tuple(budgets), findings


def _nothing(place: str) -> tuple[Budget, ...]:
    none: tuple[tuple[Unit, Decimal], ...] = tuple((u, Decimal(0)) for u in UNITS)
    return (Budget(place=place, to=None, agent=None, per="run", amounts=none),)


def _budget(
    doc: document.Document, at: str, groups: Groups, agents: Collection[str] | None
) -> tuple[tuple[Budget, ...], list[Finding]]:
    place = doc.where(at)
    entry, findings = shape.parse(doc, _Entry, at=at)
    if entry is None:
        return _nothing(place), findings
    to: set[str] = set()
    for i, written in enumerate(entry.to or ()):
        name, more = ("*", []) if written == "*" else mend.principal_at(doc, f"{at}/to/{i}", written)
        findings += more
        if name and name.startswith("group:") and not groups.are_known(name):
            findings.append(mend.unknown("unknown_group", doc.where(f"{at}/to/{i}"), "group", name, groups.members))
        to.add(name or "")
    findings += _about(doc, at, entry, agents)
    amounts: list[tuple[Unit, Decimal]] = []
    for unit in UNITS:
        amount: int | float | None = getattr(entry, unit)
        if amount is not None and (not math.isfinite(amount) or amount < 0):
            findings.append(_amount(doc, f"{at}/{unit}", amount))
        elif amount is not None:
            amounts.append((unit, Decimal(str(amount))))
    if mend.broken(findings):
        return _nothing(place), findings
    everybody = entry.to is None or "*" in to
    pattern = None if entry.agent is None else glob.compile(entry.agent)
    budget = Budget(
        place=place, to=None if everybody else frozenset(to), agent=pattern, per=entry.per, amounts=tuple(amounts)
    )
    return (budget,), findings


def _about(doc: document.Document, at: str, entry: _Entry, agents: Collection[str] | None) -> list[Finding]:
    found: list[Finding] = []
    if not entry.to and entry.agent is None:
        message = "the budget does not say whom it holds"
        found.append(mend.names_nothing(doc.where(at), message, 'add `to: ["*"]` or `agent:`'))
    if all(getattr(entry, u) is None for u in UNITS):
        found.append(mend.names_nothing(doc.where(at), "the budget has no amount", f"add {', '.join(UNITS)}"))
    if entry.agent is not None:
        problem = glob.problem(entry.agent)
        if problem:
            where, hint = doc.where(f"{at}/agent"), "write an agent's name, or a pattern with *"
            found.append(Finding(code="invalid_glob", where=where, message=problem, hint=hint))
        elif agents is not None and not any(glob.compile(entry.agent).matches(a) for a in agents):
            found.append(mend.unknown_agent(doc.where(f"{at}/agent"), entry.agent, agents))
    return found


def _amount(doc: document.Document, at: str, received: float) -> Finding:
    return Finding(
        code="invalid_value",
        where=doc.where(at),
        message="a budget is an amount",
        expected="a number from 0",
        received=str(received),
        hint="write a number; 0 allows nothing",
    )
