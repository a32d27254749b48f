"""What one turn may use: the smallest of what the agent, IT and the two-minute rule set (P1.1, P4.1)."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from ukai.app.engine import Engine
from ukai.runtime.agent import Agent, Budget
from ukai.runtime.budget import DEFAULT_SECONDS, Allowance, Purse, smallest
from ukai.runtime.ledger import Ledger, Pool
from ukai.runtime.meter import Meter


def meter(opened: Engine, agent: Agent, principal: str, skill: Budget | None = None) -> Meter:
    """What one run, or one composition by itself, is paid from."""
    # An evaluation asks in the name of others: it spends nothing of their day.
    shared = None if opened.tape else ledger(opened, agent, principal)
    return Meter(purse=Purse(allowance=allowance(opened, agent, principal, skill), shared=shared))


def allowance(opened: Engine, agent: Agent, principal: str, skill: Budget | None = None) -> Allowance:
    """The limits of one run of `agent` for `principal`, with the budget of a skill if one is asked for by name."""
    access = opened.catalog.access
    limits = access.budget(access.caller(principal), agent.name)
    run = {limit.unit: limit.amount for limit in limits if limit.per == "run"}
    written = [agent.budget, skill or Budget()]
    tokens = smallest([*(b.tokens for b in written), _number(run.get("tokens"))])
    usd = smallest([*(b.usd for b in written), _number(run.get("usd"))])
    seconds = smallest([*(b.seconds for b in written), _number(run.get("seconds"))])
    return Allowance(
        iterations=agent.max_iterations,
        tokens=None if tokens is None else int(tokens),
        usd=None if usd is None else Decimal(str(usd)),
        seconds=DEFAULT_SECONDS if seconds is None else float(seconds),
    )


def ledger(opened: Engine, agent: Agent, principal: str) -> Ledger:
    """What the run shares with others of the same day or month."""
    pools = tuple(dict.fromkeys(_pools(opened, agent, principal)))
    return Ledger(db=opened.db, clock=opened.clock, principal=principal, agent=agent.name, pools=pools)


def _pools(opened: Engine, agent: Agent, principal: str) -> Iterator[Pool]:
    """Every entry that applies: one that names people holds each of them, one that names only an agent all together."""
    access = opened.catalog.access
    caller = access.caller(principal)
    for budget in access.budgets:
        if budget.per == "run" or not budget.applies(caller, agent.name):
            continue
        is_of_the_agent = budget.to is None and budget.agent is not None
        for unit, amount in budget.amounts:
            yield Pool(
                per=budget.per,
                unit=unit,
                amount=amount,
                principal=None if is_of_the_agent else principal,
                agent=None if budget.agent is None else agent.name,
            )


def _number(value: Decimal | None) -> float | None:
    return None if value is None else float(value)
