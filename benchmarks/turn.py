"""What a turn costs over its model, its tools and its composition, and whether many at once end well (P4.1).

Options: turns (60), together (50).

The model is scripted and answers at once, the tools give back what they have in their hands, nothing is composed: what
is left is the harness itself, with its record in PostgreSQL. Beside it, in the same run: the model library's own loop
with the same script and tools, and nothing kept. Both make three calls, one after the other, and then answer.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pydantic_ai import Agent, Tool
from pydantic_ai.messages import TextPart, ToolCallPart

from ukai import record, store
from ukai.access import Decision
from ukai.app import ask, engine, identity, init
from ukai.app.bench import Report
from ukai.kit.clock import SystemClock
from ukai.llm.local import LocalModel
from ukai.llm.scripted import Call
from ukai.runtime import guardrails, turn
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
    asked = asking()
    cpu, wall = time.process_time(), time.perf_counter()
    run = await turn.turn(asked, db=db, clock=SystemClock())
    assert run.status == "answered", run.reason
    assert len(run.calls) == 3
    return Measured(
        cpu=1_000 * (time.process_time() - cpu),
        wall=1_000 * (time.perf_counter() - wall),
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


async def measured(url: str, db: store.Database, turns: int, together: int) -> Report:
    await repeated(lambda: one(db), 5)  # warm: prepared statements, caches of schemas
    await repeated(bare, 3)
    alone = await repeated(lambda: one(db), turns)
    beside = await repeated(bare, turns)
    began = time.perf_counter()
    ended = await asyncio.gather(*(one(db) for _ in range(together)), return_exceptions=True)
    took = time.perf_counter() - began
    failed = [e for e in ended if isinstance(e, BaseException)]
    cpu = statistics.median(m.cpu for m in alone)
    return Report(
        figures={
            "turn_cpu_ms_p50": cpu,
            "turn_cpu_ms_p95": _p95([m.cpu for m in alone]),
            "turn_wall_ms_p50": statistics.median(m.wall for m in alone),
            "bare_cpu_ms_p50": statistics.median(beside),
            "first_event_ms_p95": _p95(await first_events(url, together)),
            "together": float(together),
            "together_failed": float(len(failed)),
            "together_wall_s": took,
        },
        ratios={"turn_over_bare_cpu": cpu / statistics.median(beside)},
        notes=tuple(f"{type(e).__name__}: {e}" for e in failed[:3]),
    )


async def first_events(url: str, together: int) -> list[float]:
    """Milliseconds until whoever asks sees that something happens, for so many who ask at once at the app's door."""
    with TemporaryDirectory() as folder:
        init.init(Path(folder) / "company")
        os.environ["UKAI_DATABASE_URL"] = url
        async with engine.opened(Path(folder) / "company") as opened:

            async def asked(_: int) -> float:
                seen: list[float] = []
                began = time.perf_counter()
                caller = identity.local("ann@example.com")
                await ask.ask(
                    opened, "helper", "Who?", caller=caller, progress=lambda _: seen.append(time.perf_counter())
                )
                return 1_000 * (seen[0] - began)

            return list(await asyncio.gather(*map(asked, range(together))))


async def repeated(work: Callable[[], Awaitable[Any]], times: int) -> list[Any]:
    return [await work() for _ in range(times)]


def _p95(values: Sequence[float]) -> float:
    return sorted(values)[min(len(values) - 1, int(0.95 * len(values)))]


async def _run(url: str, options: Mapping[str, str]) -> Report:
    async with store.connect(url, max_size=8) as db:
        return await measured(url, db, int(options.get("turns", "60")), int(options.get("together", "50")))


def run(options: Mapping[str, str]) -> Report:
    with scratch.alone() as url:
        return asyncio.run(_run(url, options))
