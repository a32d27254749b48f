"""The guardrails of one agent, ready for a turn: who judges them, and who mends what they mark (P4.3)."""

from __future__ import annotations

from typing import Any

from ukai.app.engine import Engine
from ukai.runtime import guardrails, turn
from ukai.runtime.agent import Agent
from ukai.runtime.bench import Bench, mend_with
from ukai.runtime.meter import Meter

SMALL = "<small-fast-model>"
"""The role of a judge that names no model; where `models.yaml` fills no such role, the agent's own model judges."""


def rules_for(opened: Engine, agent: Agent, *, exhaustive: bool) -> turn.Rules | None:
    """None where no rule applies."""
    rules = [opened.catalog.guardrails[i] for i in agent.guardrails]
    if not rules:
        return None

    def model(name: str | None) -> Any:
        return opened.model(name or (SMALL if SMALL in opened.catalog.models.names else agent.model))

    def engine(meter: Meter) -> guardrails.Engine:
        bench = Bench(model=model, embedder=lambda: opened.embedder, verdicts=opened.verdicts, meter=meter)
        return guardrails.Engine(
            rules=rules,
            bench=bench,
            mend=mend_with(opened.model(agent.model), meter),
            clock=opened.clock,
            exhaustive=exhaustive,
        )

    return engine
