"""A sealed run as spans: one for the agent, below it one a model call, a tool call and a composition (P2.2, P4.6).

They are made after the turn, from the record: what a span says is what the record says, at the record's own times, and
nothing that is not sealed can leak through them. Content (question, answer, arguments, results) and who asked stay out;
`ukai.run.id` leads to the record, and who may read that is decided there.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime

from opentelemetry import trace
from opentelemetry.trace import Span, SpanKind, Status, StatusCode, Tracer
from opentelemetry.util.types import AttributeValue

from ukai import record
from ukai.app.telemetry import names

_FAILED = ("error", "budget", "cancelled")
Attributes = dict[str, AttributeValue]


def emit(run: record.Run, tracer: Tracer, *, content: bool = False, conversation: str | None = None) -> None:
    """The spans of one run, under whatever span is current."""
    shared = _shared(run, conversation)
    root = tracer.start_span(
        f"{names.INVOKE_AGENT} {run.agent}",
        kind=SpanKind.INTERNAL,
        start_time=_ns(run.started_at),
        attributes={names.OPERATION: names.INVOKE_AGENT, **shared, **_said(run, content)},
    )
    for firing in run.firings:
        root.add_event(names.GUARDRAIL, _verdict(firing), timestamp=_ns(run.ended_at))
    if run.status in _FAILED:
        root.set_status(Status(StatusCode.ERROR))
        root.set_attribute(names.ERROR_TYPE, run.status)
    above = trace.set_span_in_context(root)
    for name, start, end, attributes in (*_chats(run), *_calls(run, content), *_compositions(run)):
        span = tracer.start_span(name, context=above, start_time=_ns(start), attributes={**shared, **attributes})
        _end(span, attributes, end)
    root.end(end_time=_ns(run.ended_at))


def _shared(run: record.Run, conversation: str | None) -> Attributes:
    """What every span of the run says (P2.2)."""
    found: Attributes = {
        names.AGENT_NAME: run.agent,
        names.RUN_ID: run.run_id,
        names.SURFACE: run.surface,
        names.BUILD_COMMIT: run.build.commit,
        names.BUILD_TREE: run.build.tree,
    }
    return found if conversation is None else {**found, names.CONVERSATION: conversation}


def _said(run: record.Run, content: bool) -> Attributes:
    tokens = {
        names.INPUT_TOKENS: sum(u.input for u in run.usage),
        names.OUTPUT_TOKENS: sum(u.output for u in run.usage),
    }
    found: Attributes = {
        **tokens,
        names.RUN_STATUS: run.status,
        names.REQUEST_MODEL: _model(run.config.model),
        names.PROVIDER: _provider(run.config.model),
    }
    if content:
        found[names.INPUT_MESSAGES] = _message("user", run.question)
        if run.answer is not None:
            found[names.OUTPUT_MESSAGES] = _message("assistant", run.answer.markdown)
    return found


def _chats(run: record.Run) -> Iterator[tuple[str, datetime, datetime, Attributes]]:
    """A model call ends where its usage was recorded; it began, at the latest, with what was recorded before."""
    ends = [event.at for event in run.events if event.kind == "usage"]
    marks = sorted({run.started_at, *(event.at for event in run.events)})
    for usage, end in zip(run.usage, [*ends, *[run.ended_at] * (len(run.usage) - len(ends))], strict=False):
        start = max((at for at in marks if at < end), default=run.started_at)
        attributes: Attributes = {
            names.OPERATION: names.CHAT,
            names.PROVIDER: _provider(usage.model),
            names.REQUEST_MODEL: _model(usage.model),
            names.INPUT_TOKENS: usage.input,
            names.OUTPUT_TOKENS: usage.output,
            names.CACHED_TOKENS: usage.cached,
            names.USAGE_PURPOSE: usage.purpose,
        }
        if usage.usd is not None:
            attributes[names.USAGE_USD] = float(usage.usd)
        yield f"{names.CHAT} {_model(usage.model)}", start, end, attributes


def _calls(run: record.Run, content: bool) -> Iterator[tuple[str, datetime, datetime, Attributes]]:
    for call in run.calls:
        attributes: Attributes = {
            names.OPERATION: names.EXECUTE_TOOL,
            names.TOOL_NAME: tool_of(call),
            names.TOOL_TYPE: "function",
            names.TOOL_CALL_ID: call.call_id,
            names.TOOL_OUTCOME: call.label,
            names.TOOL_ITEMS: len(call.items),
        }
        if call.label == "error":
            attributes[names.ERROR_TYPE] = call.error_code or call.label_rule
        if content:
            attributes[names.TOOL_ARGUMENTS] = call.args_canonical
            attributes[names.TOOL_RESULT] = json.dumps([i.words for i in call.items], ensure_ascii=False)
        yield f"{names.EXECUTE_TOOL} {tool_of(call)}", call.t0, call.t1, attributes


def tool_of(call: record.Call) -> str:
    """The name of the tool; one that is not there is a word of the model's own, and stays out."""
    return names.NO_TOOL if call.error_code == "NotCalled" else call.tool


def _compositions(run: record.Run) -> Iterator[tuple[str, datetime, datetime, Attributes]]:
    for event in run.events:
        if event.kind == "composition":
            found: Attributes = {names.OPERATION: names.RETRIEVAL, names.COMPOSITION_ID: event.about}
            yield names.RETRIEVAL, run.started_at, event.at, found


def _end(span: Span, attributes: Attributes, at: datetime) -> None:
    if names.ERROR_TYPE in attributes:
        span.set_status(Status(StatusCode.ERROR))
    span.end(end_time=_ns(at))


def _verdict(firing: record.Firing) -> Attributes:
    return {
        names.GUARDRAIL_RULE: firing.rule,
        names.GUARDRAIL_STAGE: firing.stage,
        names.GUARDRAIL_VERDICT: firing.verdict,
        names.GUARDRAIL_FAILED: firing.failed,
    }


def _message(role: str, text: str) -> str:
    return json.dumps([{"role": role, "parts": [{"type": "text", "content": text}]}], ensure_ascii=False)


def _provider(model: str) -> str:
    provider, colon, _ = model.partition(":")
    return provider if colon else "ukai"


def _model(model: str) -> str:
    return model.partition(":")[2] or model


def _ns(at: datetime) -> int:
    return int(at.timestamp() * 1_000_000) * 1_000
