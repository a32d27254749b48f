"""Model and tools in a loop until there is an answer or the allowance ends (P4.1, P4.2).

The only module that runs the model library's agent. Every result is recorded before the model sees it; a tool that
fails hands the model its error and the turn goes on.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Literal, cast

from pydantic_ai import Agent, Tool, UsageLimits
from pydantic_ai import exceptions as engine
from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.models import Model
from pydantic_core import to_jsonable_python

from ukai import record
from ukai.kit import canonical
from ukai.kit.clock import Clock
from ukai.kit.errors import ToolFailed, ToolRetry
from ukai.llm import usage as usages
from ukai.record import predicate
from ukai.runtime.budget import Allowance
from ukai.runtime.tools import Bound, ToolSpec

RESULT_CHARACTERS = 60_000
"""Of one result, what the model sees; the rest is cut and said to be cut."""
TOOL_SECONDS = 60.0
SAME_CALL = 2
"""How often a turn may make the same call; then the model is told what it already has."""
RETRIES = 3

Ending = Literal["answered", "budget", "error", "cancelled"]
Keep = Callable[[record.Call | record.Usage], Awaitable[None]]
Progress = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class Ended:
    """How the loop ended."""

    how: Ending
    text: str = ""
    reason: str = ""


@dataclass(kw_only=True)
class _Calls:
    """The turn's calls so far."""

    clock: Clock
    keep: Keep
    progress: Progress
    made: dict[str, int] = field(default_factory=dict[str, int])
    count: int = 0


async def run(
    model: Model,
    *,
    prompt: str,
    question: str,
    tools: Sequence[Bound],
    allowance: Allowance,
    keep: Keep,
    clock: Clock,
    progress: Progress,
) -> Ended:
    """Ask `model`, with `tools`, until it answers. What it ends in is a value; only a cancelled task raises."""
    calls = _Calls(clock=clock, keep=keep, progress=progress)
    agent: Agent[object, str] = Agent(
        model,
        instructions=prompt,
        tools=[_tool(t, calls) for t in tools],
        retries=RETRIES,
    )
    limits = UsageLimits(request_limit=allowance.iterations, total_tokens_limit=allowance.tokens, cost_limit=None)
    messages: list[ModelMessage] = []
    try:
        async with asyncio.timeout(allowance.seconds), agent.iter(question, usage_limits=limits) as turn:
            try:
                async for _ in turn:
                    messages = list(turn.ctx.state.message_history)
                    if _spent(messages, allowance):
                        return Ended(how="budget", reason=f"the run may cost {allowance.usd} USD")
            finally:
                messages = list(turn.ctx.state.message_history)
            return Ended(how="answered", text=turn.result.output if turn.result else "")
    except TimeoutError:
        return Ended(how="budget", reason=f"no answer within {allowance.seconds:g} s")
    except engine.UsageLimitExceeded as stop:
        return Ended(how="budget", reason=str(stop))
    except (engine.AgentRunError, engine.UserError) as fault:
        return Ended(how="error", reason=f"the model ended the turn: {_short(fault)}")
    finally:
        with suppress(record.RunSealed):
            for message in messages:
                if isinstance(message, ModelResponse):
                    used = usages.of(message)
                    await keep(
                        record.Usage(
                            model=used.model, input=used.input, output=used.output, cached=used.cached, usd=used.usd
                        )
                    )


def _spent(messages: Sequence[ModelMessage], allowance: Allowance) -> bool:
    if allowance.usd is None:
        return False
    known = [usages.of(m).usd for m in messages if isinstance(m, ModelResponse)]
    return sum((usd for usd in known if usd is not None), start=allowance.usd * 0) > allowance.usd


def _tool(bound: Bound, calls: _Calls) -> Tool[object]:
    async def call(**arguments: Any) -> Any:
        return await _called(bound, arguments, calls)

    made = Tool[object].from_schema(
        call, name=bound.spec.name, description=bound.spec.description, json_schema=dict(bound.spec.input_schema)
    )
    made.metadata = {"reads": bound.spec.reads}
    return made


async def _called(bound: Bound, arguments: Mapping[str, Any], calls: _Calls) -> Any:
    spec = bound.spec
    said = canonical.dumps(to_jsonable_python(arguments))
    identity = f"{spec.name} {said}"
    calls.made[identity] = calls.made.get(identity, 0) + 1
    calls.count += 1
    call_id = f"call-{calls.count}"
    calls.progress(f"{spec.name} {_brief(arguments)}")
    t0 = calls.clock.now()
    outcome, error = await _outcome(bound, arguments, repeated=calls.made[identity] > SAME_CALL)
    label, rule = record.label(outcome, error_when=_predicate(spec.error_when), empty_when=_predicate(spec.empty_when))
    shown, is_cut = _cut(outcome.result)
    await calls.keep(
        record.Call(
            call_id=call_id,
            tool=spec.name,
            args_canonical=said,
            t0=t0,
            t1=calls.clock.now(),
            label=label,
            label_rule=rule,
            truncated=is_cut,
            error_code=outcome.exception or ("timeout" if outcome.timed_out else None),
            items=tuple(_items(shown, spec, call_id)),
            raw_sha256=hashlib.sha256(canonical.dumps(outcome.result).encode()).hexdigest(),
        )
    )
    if error is not None:
        raise error
    return shown


async def _outcome(
    bound: Bound, arguments: Mapping[str, Any], *, repeated: bool
) -> tuple[record.Outcome, Exception | None]:
    """What came of the call, and what is raised to the model library for it."""
    if repeated:
        return record.Outcome(exception="RepeatedCall"), engine.ToolFailed(
            "this exact call was made before and would return the same: use its result, or ask differently"
        )
    try:
        async with asyncio.timeout(TOOL_SECONDS):
            result = await bound.call(**arguments)
        return record.Outcome(result=to_jsonable_python(result, fallback=str)), None
    except TimeoutError:
        return record.Outcome(timed_out=True), engine.ToolFailed(f"no result within {TOOL_SECONDS:g} s")
    except ToolRetry as again:
        return record.Outcome(exception="ToolRetry"), engine.ModelRetry(str(again))
    except ToolFailed as failed:
        return record.Outcome(exception="ToolFailed"), engine.ToolFailed(str(failed))
    except TypeError as wrong:
        # Arguments that the schema lets through and the function does not take: the model can repair that.
        return record.Outcome(exception="TypeError"), engine.ModelRetry(_short(wrong))
    except Exception as fault:
        # A tool's own fault must not end the turn (P4.2). Its text may hold secrets, so only its kind is told.
        return record.Outcome(exception=type(fault).__name__), engine.ToolFailed(
            f"the tool failed ({type(fault).__name__}); do without it"
        )


def _predicate(text: str) -> Callable[[Any], bool] | None:
    if not text:
        return None
    expression, _ = predicate.read(text, where="")
    # A predicate that cannot be read was a finding at load; here it fails closed: the call counts as an error.
    return expression if expression is not None else (lambda _: True)


def _cut(result: Any) -> tuple[Any, bool]:
    text = canonical.dumps(result)
    if len(text) <= RESULT_CHARACTERS:
        return result, False
    if isinstance(result, dict) and isinstance(entries := cast("dict[str, Any]", result).get("items"), list):
        kept: list[Any] = []
        size = 0
        for entry in cast("list[Any]", entries):
            size += len(canonical.dumps(entry))
            if kept and size > RESULT_CHARACTERS:
                break
            kept.append(entry if size <= RESULT_CHARACTERS else _shortened(entry))
        return {**cast("dict[str, Any]", result), "items": kept, "truncated": True}, True
    return (result if isinstance(result, str) else text)[:RESULT_CHARACTERS] + " …", True


def _shortened(entry: Any) -> Any:
    if isinstance(entry, dict) and isinstance(text := cast("dict[str, Any]", entry).get("text"), str):
        return {**cast("dict[str, Any]", entry), "text": text[: RESULT_CHARACTERS // 2] + " …", "truncated": True}
    return canonical.dumps(entry)[: RESULT_CHARACTERS // 2] + " …"


def _items(shown: Any, spec: ToolSpec, call_id: str) -> list[record.Item]:
    """The result as the record keeps it: item by item where the tool gives items, else in one piece."""
    entries: Any = cast("dict[str, Any]", shown).get("items") if isinstance(shown, dict) else None
    if not isinstance(entries, list):
        if shown in (None, "", [], {}):
            return []
        is_text = isinstance(shown, str)
        return [
            record.Item(
                item_key=f"tool:{spec.name}/{call_id.removeprefix('call-')}",
                text=shown if is_text else None,
                value=None if is_text else shown,
            )
        ]
    found: list[record.Item] = []
    for number, entry in enumerate(cast("list[Any]", entries), 1):
        data: dict[str, Any] = cast("dict[str, Any]", entry) if isinstance(entry, dict) else {"text": str(entry)}
        key = data.get("handle") or f"tool:{spec.name}/{call_id.removeprefix('call-')}/{number}"
        text = data.get("text")
        item = record.Item(item_key=str(key), text=text if isinstance(text, str) else None)
        rest = {k: v for k, v in data.items() if k not in ("handle", "text")}
        found.append(replace(item, value=rest if item.text is None else item.value))
    return found


def _brief(arguments: Mapping[str, Any]) -> str:
    text = " ".join(str(v) for v in arguments.values())
    return text if len(text) <= 70 else text[:69] + "…"


def _short(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return text if len(text) <= 300 else text[:299] + "…"
