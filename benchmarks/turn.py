"""What a turn costs over its model, its tools and its composition, and whether many at once end well (P4.1).

Options: turns (60), together (50).

The model is scripted and answers at once, the tools give back what they have in their hands, nothing is composed: what
is left is the harness itself, with its record in PostgreSQL. Beside it, in the same run: the model library's own loop
with the same script and tools, and nothing kept. Both make three calls, one after the other, and then answer.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic_ai import Agent, Tool
from pydantic_ai.messages import TextPart, ToolCallPart

from ukai import record, store
from ukai.access import Decision
from ukai.app.bench import Report
from ukai.kit.clock import SystemClock
from ukai.llm.local import LocalModel
from ukai.llm.scripted import Call
from ukai.runtime import events, guardrails, turn
from ukai.runtime.budget import Allowance
from ukai.runtime.guardrail import Guardrail
from ukai.runtime.rules.judged import Judged, Text
from ukai.runtime.tools import Bound, ToolSpec
from ukai.store import scratch

SCRIPT: tuple[str | Call, ...] = (
    Call("search", {"query": "gate"}),
    Call("read", {"query": "Memo#1"}),
    Call("search", {"query": "key"}),
    "The gate waits for papers since March. [Memo#1/body] The key was rotated on 11 February. [Memo#2/body]",
)
ITEMS = {
    "items": [
        {"handle": f"Memo#{n}/body", "title": "Memo", "text": f"The gate waits, {n} papers open.", "at": "2026-03-02"}
        for n in range(1, 11)
    ]
}
SCHEMA = {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}


class Instant(LocalModel):
    """Plays the script and does nothing else: what it costs is no part of the harness."""

    def __init__(self) -> None:
        super().__init__(name="instant", counter=Letters())
        self._left = iter(SCRIPT)

    async def answer(self, messages: Any, params: Any, settings: Any) -> list[TextPart | ToolCallPart]:
        step = next(self._left)
        return [TextPart(step) if isinstance(step, str) else ToolCallPart(step.tool, dict(step.arguments))]


class Letters:
    """Counts at once."""

    name = "letters"

    def count(self, text: str) -> int:
        return len(text)


@dataclass(frozen=True, kw_only=True)
class Measured:
    """Milliseconds of one turn."""

    cpu: float
    wall: float
    first: float
    """Until the first event."""


async def found(**_: Any) -> Any:
    return ITEMS


TOOLS = [
    Bound(
        spec=ToolSpec(name=name, description="Finds memos.", input_schema=SCHEMA, reads=True, empty_when="items == []"),
        call=found,
    )
    for name in ("search", "read")
]
RULES = (
    Guardrail(id="no-keys", stage="output", verdict_type="block", kind="pattern", patterns=(r"sk_live_\w+",)),
    Guardrail(id="no-pay", stage="input", verdict_type="block", kind="list", words=("salary",)),
    Guardrail(id="no-discounts", stage="output", verdict_type="block", prose="No discounts."),
)


async def lets_pass(_: Guardrail, __: Text) -> Judged:
    """A judge that answers at once, as the scripted model does."""
    return Judged()


def asking() -> turn.Ask:
    return turn.Ask(
        agent="coach",
        prompt="Help the seller.",
        question="What stands between us and the gate?",
        principal="ann@x.example",
        audience=("ann@x.example",),
        surface="cli",
        invoke=Decision(allowed=True, reason="he may"),
        model=Instant(),
        tools=TOOLS,
        allowance=Allowance(iterations=8, tokens=200_000),
        rules=lambda _: guardrails.Engine(rules=RULES, bench=lets_pass, clock=SystemClock()),
        config=record.Config(model="scripted"),
        build=record.Build(),
    )


async def one(db: store.Database) -> Measured:
    """One turn, from the question to the sealed run."""
    first: list[float] = []

    def listen(_: events.Event) -> None:
        first.append(time.perf_counter())

    ask = asking()
    cpu, wall = time.process_time(), time.perf_counter()
    run = await turn.turn(ask, db=db, clock=SystemClock(), listen=listen)
    assert run.status == "answered", run.reason
    assert len(run.calls) == 3
    return Measured(
        cpu=1_000 * (time.process_time() - cpu),
        wall=1_000 * (time.perf_counter() - wall),
        first=1_000 * (first[0] - wall),
    )


async def bare() -> float:
    """The same script in the library's own loop, milliseconds of CPU."""

    async def search(query: str) -> Any:
        return ITEMS

    async def read(query: str) -> Any:
        return ITEMS

    began = time.process_time()
    agent = Agent(Instant(), instructions="Help the seller.", tools=[Tool(search), Tool(read)])
    await agent.run("What stands between us and the gate?")
    return 1_000 * (time.process_time() - began)


async def measured(db: store.Database, turns: int, together: int) -> Report:
    await repeated(lambda: one(db), 5)  # warm: prepared statements, caches of schemas
    await repeated(bare, 3)
    alone = await repeated(lambda: one(db), turns)
    beside = await repeated(bare, turns)
    began = time.perf_counter()
    ended = await asyncio.gather(*(one(db) for _ in range(together)), return_exceptions=True)
    failed = [e for e in ended if isinstance(e, BaseException)]
    crowd = [e for e in ended if isinstance(e, Measured)]
    cpu = statistics.median(m.cpu for m in alone)
    return Report(
        figures={
            "turn_cpu_ms_p50": cpu,
            "turn_cpu_ms_p95": _p95([m.cpu for m in alone]),
            "turn_wall_ms_p50": statistics.median(m.wall for m in alone),
            "bare_cpu_ms_p50": statistics.median(beside),
            "first_event_ms_p95": _p95([m.first for m in alone]),
            "together": float(together),
            "together_failed": float(len(failed)),
            "together_wall_s": time.perf_counter() - began,
            "together_first_event_ms_p95": _p95([m.first for m in crowd]) if crowd else 0.0,
        },
        ratios={"turn_over_bare_cpu": cpu / statistics.median(beside)},
        notes=tuple(f"{type(e).__name__}: {e}" for e in failed[:3]),
    )


async def repeated(work: Callable[[], Awaitable[Any]], times: int) -> list[Any]:
    return [await work() for _ in range(times)]


def _p95(values: Sequence[float]) -> float:
    return sorted(values)[min(len(values) - 1, int(0.95 * len(values)))]


async def _run(url: str, options: Mapping[str, str]) -> Report:
    async with store.connect(url, max_size=8) as db:
        return await measured(db, int(options.get("turns", "60")), int(options.get("together", "50")))


def run(options: Mapping[str, str]) -> Report:
    with scratch.alone() as url:
        return asyncio.run(_run(url, options))
