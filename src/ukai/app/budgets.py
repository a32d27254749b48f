"""What one turn may use: the smallest of what the agent, IT and the two-minute rule set (P1.1, P4.1)."""

from __future__ import annotations

from decimal import Decimal

from ukai.app.engine import Engine
from ukai.runtime.agent import Agent
from ukai.runtime.budget import DEFAULT_SECONDS, Allowance, smallest


def allowance(opened: Engine, agent: Agent, principal: str) -> Allowance:
    """The limits of one run of `agent` for `principal`."""
    access = opened.catalog.access
    run = {
        limit.unit: limit.amount for limit in access.budget(access.caller(principal), agent.name) if limit.per == "run"
    }
    tokens = smallest([agent.budget.tokens, _number(run.get("tokens"))])
    usd = smallest([agent.budget.usd, _number(run.get("usd"))])
    seconds = smallest([agent.budget.seconds, _number(run.get("seconds"))])
    return Allowance(
        iterations=agent.max_iterations,
        tokens=None if tokens is None else int(tokens),
        usd=None if usd is None else Decimal(str(usd)),
        seconds=float(seconds or DEFAULT_SECONDS),
    )


def _number(value: Decimal | None) -> float | None:
    return None if value is None else float(value)
