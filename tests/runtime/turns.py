"""A turn with everything handed in: the scripted model, tools that are functions, a clock that stands still."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from pydantic_ai.messages import ModelResponse
from pydantic_ai.models import Model
from pydantic_ai.usage import RequestUsage

from ukai import record, store
from ukai.access import Decision
from ukai.kit.clock import FixedClock
from ukai.llm.scripted import Scripted, Step
from ukai.runtime import turn
from ukai.runtime.budget import Allowance
from ukai.runtime.tools import Bound, ToolSpec

NOW = datetime(2026, 11, 20, 8, tzinfo=UTC)
ANN = "ann@x.example"
ITEMS = {"items": [{"handle": "Memo#1/body", "title": "A memo", "text": "The gate waits.", "at": "2026-03-02"}]}


class Ticking(FixedClock):
    """Every look at it costs a second."""

    def now(self) -> datetime:
        self.advance(timedelta(seconds=1))
        return super().now()


def tool(call: Callable[..., Awaitable[Any]], name: str = "search", **more: Any) -> Bound:
    properties: Mapping[str, Any] = more.pop("properties", {"query": {"type": "string"}})
    schema = {"type": "object", "properties": properties, "required": more.pop("required", [])}
    return Bound(spec=ToolSpec(name=name, description="Finds.", input_schema=schema, reads=True, **more), call=call)


def returning(value: Any, **more: Any) -> Bound:
    async def call(**_: Any) -> Any:
        return value

    return tool(call, **more)


def raising(error: BaseException, **more: Any) -> Bound:
    async def call(**_: Any) -> Any:
        raise error

    return tool(call, **more)


def asking(model: Model, tools: Sequence[Bound] = (), **more: Any) -> turn.Ask:
    allowance = Allowance(**({"iterations": 8} | more.pop("allowance", {})))
    allowed = more.pop("invoke", Decision(allowed=True, reason="he may"))
    return turn.Ask(
        agent="coach",
        prompt="Help.",
        question="Why?",
        principal=ANN,
        audience=(ANN,),
        surface="cli",
        invoke=allowed,
        model=model,
        tools=tools,
        allowance=allowance,
        config=record.Config(model="scripted"),
        build=record.Build(),
        **more,
    )


async def ran(db: store.Database, steps: Sequence[Step] | Model, *tools: Bound, **more: Any) -> record.Run:
    """The sealed run, which is also what the database holds."""
    model = Scripted(steps) if isinstance(steps, Sequence) else steps
    run = await turn.turn(asking(model, tools, **more), db=db, clock=Ticking(NOW))
    assert await kept(db, run.run_id) == run
    if isinstance(model, Scripted) and run.status == "answered":
        model.assert_finished()
    return run


async def kept(db: store.Database, run_id: str) -> record.Run | None:
    async with db.transaction() as tx:
        raw = await record.read(tx, run_id, record.Sight(principal=ANN))
    if raw is None:
        return None
    run, findings = record.load(raw)
    assert findings == []
    assert run is not None
    return run


async def only(db: store.Database) -> record.Run:
    """The one run that the database holds, sealed."""
    async with db.transaction() as tx:
        page = await record.page(tx, record.Sight(principal=ANN))
    assert len(page.runs) == 1
    run = await kept(db, page.runs[0].run_id)
    assert run is not None, "it is sealed"
    return run


def calls(run: record.Run) -> list[tuple[str, str, str | None]]:
    return [(c.tool, c.label, c.error_code) for c in run.calls]


class Priced(Scripted):
    """Answers under a name that has a price, with as many tokens as it is told."""

    async def request(self, messages: Any, model_settings: Any, model_request_parameters: Any) -> ModelResponse:
        made = await super().request(messages, model_settings, model_request_parameters)
        used = RequestUsage(input_tokens=1_000_000, output_tokens=10)
        return replace(made, provider_name="openai", model_name="gpt-4o", usage=used)
