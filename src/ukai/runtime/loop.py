"""Model and tools in a loop until there is an answer or the allowance ends (P4.1, P4.2).

The only module that runs the model library's agent. Every result is recorded before the model sees it; a tool that
fails hands the model its error and the turn goes on.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol, cast

from pydantic_ai import Agent, RunContext, Tool, UsageLimits
from pydantic_ai import exceptions as engine
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import Model
from pydantic_core import to_jsonable_python

from ukai import record
from ukai.context.passages import instant
from ukai.kit import canonical
from ukai.kit.clock import Clock
from ukai.kit.errors import ToolFailed, ToolRetry
from ukai.record import predicate
from ukai.runtime import events
from ukai.runtime.budget import Allowance, Spent
from ukai.runtime.credentials import NotConnected
from ukai.runtime.tools import Bound, Document, ToolSpec, arguments_problem

RESULT_CHARACTERS = 60_000
"""Of one result, what the model sees; the rest is cut and said to be cut."""
TOOL_SECONDS = 60.0
SAME_CALL = 2
"""How often a turn may make the same call; then the model is told what it already has."""
CONNECT = "connect"
"""The error code of a call that waits for a credential of whoever asks."""
RETRIES = 3
"""How often a model that says nothing is asked again."""
COMPOSED = "compose_context"
"""The tool under whose name a document stands in the conversation that was composed before the model was asked."""

Ending = Literal["answered", "budget", "error"]


class Keep(Protocol):
    """Keeps a call before the model sees its result; `document` is what it composed, where it composed something."""

    async def __call__(self, call: record.Call, /, document: Document | None = None) -> None: ...


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
    listen: events.Listener
    shows_arguments: bool
    made: dict[str, int] = field(default_factory=dict[str, int])
    count: int = 0
    known: set[str] = field(default_factory=set[str])
    """Ids that the model gave to the calls which reached a tool."""
    kept: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the call before is recorded: calls run side by side and are recorded in the order of the request."""

    def __post_init__(self) -> None:
        self.kept.set()

    def begin(self) -> tuple[str, asyncio.Event, asyncio.Event]:
        """The id of the next call, what it waits for before it is recorded, and what it sets afterwards."""
        self.count += 1
        before, self.kept = self.kept, asyncio.Event()
        return f"call-{self.count}", before, self.kept

    def tell(self, kind: events.Kind, **data: Any) -> None:
        self.listen(events.Event(kind=kind, at=self.clock.now(), data=data))


async def run(
    model: Model,
    *,
    prompt: str,
    question: str,
    tools: Sequence[Bound],
    allowance: Allowance,
    keep: Keep,
    clock: Clock,
    listen: events.Listener,
    shows_arguments: bool = True,
    earlier: Sequence[tuple[str, str]] = (),
    document: Document | None = None,
) -> Ended:
    """Ask `model`, with `tools`, until it answers. What it ends in is a value; only a cancelled task raises.

    `model` asks its purse by itself. `earlier`: questions and answers of the same conversation. `shows_arguments`:
    whether events may tell what the model put into a call, which may be words of the answer to come.
    """
    calls = _Calls(clock=clock, keep=keep, listen=listen, shows_arguments=shows_arguments)
    agent: Agent[object, str] = Agent(
        model,
        instructions=prompt,
        tools=[_tool(t, calls) for t in tools],
        # A call that reaches no tool is answered as often as it is made: the allowance ends that.
        retries={"tools": allowance.iterations + 1, "output": RETRIES},
    )
    opening = await _opening(question, earlier, document, calls)
    asked = None if document is not None else question
    clock_out = asyncio.timeout(allowance.seconds)
    unlimited = UsageLimits(request_limit=None)
    try:
        async with clock_out, agent.iter(asked, message_history=opening, usage_limits=unlimited) as turn:
            async for _ in turn:
                await _keep_unmade(turn.ctx.state.message_history, calls)
            return Ended(how="answered", text=turn.result.output if turn.result else "")
    except TimeoutError as fault:
        if clock_out.expired():
            return Ended(how="budget", reason=f"no answer within {allowance.seconds:g} s")
        return Ended(how="error", reason=f"the model ended the turn: {_short(fault) or 'it took too long'}")
    except Spent as stop:
        return Ended(how="budget", reason=str(stop))
    except (engine.AgentRunError, engine.UserError) as fault:
        return Ended(how="error", reason=f"the model ended the turn: {_why(fault)}")


async def _opening(
    question: str, earlier: Sequence[tuple[str, str]], document: Document | None, calls: _Calls
) -> list[ModelMessage]:
    """What stands before the model's first word: earlier exchanges, and the document in the place of a first call."""
    messages: list[ModelMessage] = []
    for asked, answered in earlier:
        messages += [
            ModelRequest(parts=[UserPromptPart(asked)]),
            ModelResponse(parts=[TextPart(answered)]),
        ]
    if document is None:
        return messages
    call_id, _, kept = calls.begin()
    arguments = {"question": question}
    calls.made[f"{COMPOSED} {canonical.dumps(arguments)}"] = 1
    calls.known.add(call_id)
    now = calls.clock.now()
    await calls.keep(
        record.Call(
            call_id=call_id,
            tool=COMPOSED,
            args_canonical=canonical.dumps(arguments),
            t0=now,
            t1=now,
            label="data" if document.items else "nothing",
            label_rule="returned" if document.items else "empty",
            items=tuple(document.items),
            raw_sha256=hashlib.sha256(canonical.dumps(document.shown).encode()).hexdigest(),
        ),
        document,
    )
    kept.set()
    return [
        *messages,
        ModelRequest(parts=[UserPromptPart(question)]),
        ModelResponse(parts=[ToolCallPart(COMPOSED, arguments, tool_call_id=call_id)]),
        ModelRequest(parts=[ToolReturnPart(COMPOSED, document.shown, tool_call_id=call_id)]),
    ]


async def _keep_unmade(messages: Sequence[ModelMessage], calls: _Calls) -> None:
    """Record the calls that reached no tool: of a tool that is not there, or with arguments that are no JSON."""
    asked = {p.tool_call_id: p for m in messages if isinstance(m, ModelResponse) for p in m.tool_calls}
    answered = [p for m in messages if isinstance(m, ModelRequest) for p in m.parts if isinstance(p, ToolReturnPart)]
    for part in answered:
        call = asked.get(part.tool_call_id) if part.outcome != "success" else None
        if call is None or call.tool_call_id in calls.known:
            continue
        calls.known.add(call.tool_call_id)
        call_id, _, kept = calls.begin()
        said = call.args if isinstance(call.args, str) else canonical.dumps(to_jsonable_python(call.args or {}))
        now = calls.clock.now()
        await calls.keep(
            record.Call(
                call_id=call_id,
                tool=call.tool_name,
                args_canonical=said,
                t0=now,
                t1=now,
                label="error",
                label_rule="exception",
                error_code="NotCalled",
            )
        )
        kept.set()


def _tool(bound: Bound, calls: _Calls) -> Tool[object]:
    async def call(context: RunContext[object], /, **arguments: Any) -> Any:
        calls.known.add(context.tool_call_id or "")
        return await _called(bound, arguments, calls)

    made = Tool[object].from_schema(
        call,
        name=bound.spec.name,
        description=bound.spec.description,
        json_schema=dict(bound.spec.input_schema),
        takes_ctx=True,
    )
    made.metadata = {"reads": bound.spec.reads}
    made.strict = bound.spec.strict or None
    return made


async def _called(bound: Bound, arguments: Mapping[str, Any], calls: _Calls) -> Any:
    spec = bound.spec
    said = canonical.dumps(to_jsonable_python(arguments))
    identity = f"{spec.name} {said}"
    calls.made[identity] = calls.made.get(identity, 0) + 1
    call_id, before, kept = calls.begin()
    about = {"about": _brief(arguments)} if calls.shows_arguments else {}
    calls.tell("tool_started", call_id=call_id, tool=spec.name, **about)
    t0 = calls.clock.now()
    try:
        outcome, error = await _outcome(bound, arguments, made=calls.made[identity])
        document = outcome.result if isinstance(outcome.result, Document) else None
        outcome = outcome if document is None else replace(outcome, result=document.shown)
        # A document has a budget of its own, and its items are the record's: half of one would cite the other half.
        shown, is_cut = _cut(outcome.result) if document is None else (document.shown, False)
        items = tuple(_items(shown, spec, call_id) if document is None else document.items)
        label, rule = record.label(
            outcome, error_when=_predicate(spec.error_when), empty_when=_predicate(spec.empty_when)
        )
        t1 = calls.clock.now()
        await before.wait()
        await calls.keep(
            record.Call(
                call_id=call_id,
                tool=spec.name,
                args_canonical=said,
                t0=t0,
                t1=t1,
                label=label,
                label_rule=rule,
                truncated=is_cut,
                error_code=outcome.exception or ("timeout" if outcome.timed_out else None),
                items=items,
                raw_sha256=hashlib.sha256(canonical.dumps(outcome.result).encode()).hexdigest(),
            ),
            document,
        )
        calls.tell("tool_ended", call_id=call_id, tool=spec.name, label=label, items=len(items))
    finally:
        kept.set()
    if error is not None:
        raise error
    return shown


async def _outcome(bound: Bound, arguments: Mapping[str, Any], *, made: int) -> tuple[record.Outcome, Exception | None]:
    """What came of the call, and what is raised to the model library for it. `made`: how often it was, this one too."""
    if made > SAME_CALL:
        return record.Outcome(exception="RepeatedCall"), engine.ToolFailed(
            "this exact call was made before and would return the same: use its result, or ask differently"
        )
    if misfit := arguments_problem(bound.spec.input_schema, arguments):
        return record.Outcome(exception="BadArguments"), engine.ToolFailed(misfit)
    try:
        async with asyncio.timeout(TOOL_SECONDS):
            result = await bound.call(**arguments)
        whole = isinstance(result, Document)
        return record.Outcome(result=result if whole else to_jsonable_python(result, fallback=str)), None
    except TimeoutError:
        return record.Outcome(timed_out=True), engine.ToolFailed(f"no result within {TOOL_SECONDS:g} s")
    except NotConnected as missing:
        return record.Outcome(exception=CONNECT), engine.ToolFailed(str(missing))
    except (ToolRetry, ToolFailed) as told:
        # Both as a failed call: the library would end the turn after some retries, and what a tool says never does.
        return record.Outcome(exception=type(told).__name__), engine.ToolFailed(str(told))
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
        found.append(_item(str(key), {k: v for k, v in data.items() if k != "handle"}))
    return found


def _item(key: str, data: Mapping[str, Any]) -> record.Item:
    """What the model saw of one thing: its text, with the fields that came beside it in lines of their own."""
    text = data.get("text")
    as_of = instant(data.get("at"))
    rest = {k: v for k, v in data.items() if k not in ("text", "truncated") and not (k == "at" and as_of)}
    if not isinstance(text, str):
        return record.Item(item_key=key, value=rest, as_of=as_of)
    fields = rest.get("fields")
    beside = cast("dict[str, Any]", fields) if isinstance(fields, dict) else {}
    lines = [f"{k}: {v if isinstance(v, str) else canonical.dumps(v)}" for k, v in beside.items()]
    return record.Item(item_key=key, text="\n".join([text, *lines]), value=rest or None, as_of=as_of)


def _brief(arguments: Mapping[str, Any]) -> str:
    text = " ".join(str(v) for v in arguments.values())
    return text if len(text) <= 70 else text[:69] + "…"


def _why(fault: Exception) -> str:
    """Without the fault's own words: they may repeat what the model said, which no rule has read (P4.5)."""
    if isinstance(fault, engine.ModelHTTPError):
        return f"its provider answered with status {fault.status_code}"
    if isinstance(fault, engine.ModelAPIError):
        return "its provider was not reached, or broke off"
    return f"it gave nothing that can be used ({type(fault).__name__})"


def _short(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return text if len(text) <= 300 else text[:299] + "…"
