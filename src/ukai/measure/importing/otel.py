"""OpenTelemetry GenAI spans as runs: OTLP JSON, one document or one a line.

Read are spans with `gen_ai.operation.name` of `invoke_agent`, `chat` (also `text_completion`, `generate_content`) and
`execute_tool`. Spans of one trace are one run, unless the trace holds several root agents: then each is one.
Source: OpenTelemetry semantic conventions for generative AI, attributes as of version 1.38.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast

from ukai import record
from ukai.kit.finding import Finding
from ukai.measure.importing import pieces

_CHAT = ("chat", "text_completion", "generate_content")


@dataclass(frozen=True, kw_only=True)
class _Span:
    trace: str
    id: str
    parent: str
    start: datetime
    end: datetime
    attributes: Mapping[str, Any]
    failed: str

    @property
    def operation(self) -> str:
        return str(self.attributes.get("gen_ai.operation.name", ""))


def read(text: str) -> tuple[list[record.Run], list[Finding]]:
    """Every run of the spans, in the order of their start."""
    spans: list[_Span] = []
    documents = list(_documents(text))
    for document in documents:
        spans += _spans(document)
    known = [span for span in spans if span.operation in (*_CHAT, "execute_tool", "invoke_agent")]
    if not known:
        hint = "hand in OTLP JSON with spans that carry gen_ai.operation.name"
        return [], [pieces.unreadable("no span speaks of an agent, a model or a tool", text[:80], hint)]
    runs = [run for own in _traces(spans, known).values() if (run := _run(own)) is not None]
    return sorted(runs, key=lambda run: (run.started_at, run.run_id)), []


def _documents(text: str) -> Iterator[Any]:
    try:
        yield json.loads(text)
        return
    except (ValueError, RecursionError):
        pass
    for line in text.split("\n"):
        try:
            yield json.loads(line)
        except (ValueError, RecursionError):
            continue


def _spans(document: Any) -> Iterator[_Span]:
    for resource in _list(document, "resourceSpans"):
        for scope in [*_list(resource, "scopeSpans"), *_list(resource, "instrumentationLibrarySpans")]:
            yield from (_span(span) for span in _list(scope, "spans"))


def _list(value: Any, key: str) -> list[dict[str, Any]]:
    return pieces.dicts(pieces.mapping(value).get(key))


def _span(span: dict[str, Any]) -> _Span:
    attributes = {str(a.get("key")): _value(a.get("value")) for a in _list(span, "attributes")}
    for event in _list(span, "events"):  # older writers keep the content in events
        for a in _list(event, "attributes"):
            if str(a.get("key")).startswith("gen_ai."):
                attributes.setdefault(str(a.get("key")), _value(a.get("value")))
    status = pieces.mapping(span.get("status"))
    failed = str(attributes.get("error.type") or ("error" if status.get("code") in (2, "STATUS_CODE_ERROR") else ""))
    message = str(status.get("message") or "")
    return _Span(
        trace=str(span.get("traceId", "")),
        id=str(span.get("spanId", "")),
        parent=str(span.get("parentSpanId") or ""),
        start=pieces.nanoseconds(span.get("startTimeUnixNano")),
        end=pieces.nanoseconds(span.get("endTimeUnixNano")),
        attributes=attributes,
        failed=f"{failed}: {message}" if failed and message else failed,
    )


def _value(value: Any) -> Any:
    """The any-value of OTLP."""
    if not isinstance(value, dict):
        return value
    whole = pieces.mapping(value)
    if "arrayValue" in whole:
        held = pieces.mapping(whole["arrayValue"]).get("values")
        return [_value(v) for v in cast("list[Any]", held)] if isinstance(held, list) else []
    if "kvlistValue" in whole:
        return {str(p.get("key")): _value(p.get("value")) for p in _list(whole["kvlistValue"], "values")}
    if "intValue" in whole:
        return int(whole["intValue"]) if str(whole["intValue"]).lstrip("-").isdigit() else 0
    return next(iter(whole.values()), None)


def _traces(spans: Sequence[_Span], known: Sequence[_Span]) -> dict[str, list[_Span]]:
    """Root agent span (or trace, when it has none) -> its spans."""
    parents = {span.id: span for span in spans}

    def root(span: _Span) -> str:
        found, at, seen = f"trace {span.trace}", span, {span.id}
        while True:
            if at.operation == "invoke_agent":
                found = at.id
            above = parents.get(at.parent)
            if above is None or above.id in seen:
                return found
            seen.add(above.id)
            at = above

    traces: dict[str, list[_Span]] = {}
    for span in sorted(known, key=lambda s: (s.start, s.id)):
        traces.setdefault(root(span), []).append(span)
    return traces


def _run(spans: Sequence[_Span]) -> record.Run | None:
    first = next((s for s in spans if s.operation == "invoke_agent"), spans[0])
    chats = [s for s in spans if s.operation in _CHAT]
    said = first.attributes
    given = _messages(said, "gen_ai.input.messages") or _messages(
        chats[0].attributes if chats else {}, "gen_ai.input.messages"
    )
    last = _messages(said, "gen_ai.output.messages") or _messages(
        chats[-1].attributes if chats else {}, "gen_ai.output.messages"
    )
    answer = _text(last, "assistant")
    failed = first.failed if first.operation == "invoke_agent" else ""
    model = next((m for s in (*chats, first) if (m := _model(s))), "unknown")
    tools = [s for s in spans if s.operation == "execute_tool"]
    return record.Run(
        run_id=f"{first.trace}-{first.id}",
        agent=str(said.get("gen_ai.agent.name") or said.get("gen_ai.agent.id") or "unnamed"),
        principal="public",
        surface="otel",
        question=_text(given, "user"),
        started_at=first.start,
        ended_at=max(s.end for s in spans),
        as_of=first.start,
        config=record.Config(model=model),
        status="error" if failed else "answered" if answer else "error",
        reason=failed,
        calls=tuple(_call(i, span) for i, span in enumerate(tools, 1)),
        answer=record.Answer(markdown=answer) if answer else None,
        usage=tuple(_usage(s) for s in chats),
    )


def _model(span: _Span) -> str:
    return str(span.attributes.get("gen_ai.response.model") or span.attributes.get("gen_ai.request.model") or "")


def _usage(span: _Span) -> record.Usage:
    def tokens(*names: str) -> int:
        found = next((span.attributes[n] for n in names if n in span.attributes), 0)
        return int(found) if isinstance(found, int | float) and not isinstance(found, bool) else 0

    return record.Usage(
        model=_model(span) or "unknown",
        input=tokens("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens"),
        output=tokens("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens"),
        cached=tokens("gen_ai.usage.cache_read.input_tokens"),
    )


def _call(number: int, span: _Span) -> record.Call:
    said = span.attributes
    return pieces.call(
        number=number,
        id=str(said.get("gen_ai.tool.call.id") or ""),
        tool=str(said.get("gen_ai.tool.name") or ""),
        args=pieces.decoded(said.get("gen_ai.tool.call.arguments", {})),
        result=pieces.decoded(said.get("gen_ai.tool.call.result")),
        error=span.failed or None,
        t0=span.start,
        t1=span.end,
    )


def _messages(attributes: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    return pieces.dicts(pieces.decoded(attributes.get(name)))


def _text(messages: Sequence[Mapping[str, Any]], role: str) -> str:
    """The text of the last message of a role."""
    for message in reversed(messages):
        if message.get("role") == role:
            if isinstance(message.get("content"), str):
                return str(message["content"])
            parts = [p for p in _list(message, "parts") if p.get("type") == "text"]
            text = "".join(str(p.get("content", "")) for p in parts)
            if text:
                return text
    return ""
