"""Runs as OpenTelemetry GenAI spans (OTLP JSON), what was weighed as `gen_ai.evaluation.result` events on them.

Source: OpenTelemetry semantic conventions for generative AI, attributes as of version 1.38.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

from ukai import record
from ukai.measure.evaluation import Evaluation
from ukai.measure.weighing import Weighed

START = datetime(1970, 1, 1, tzinfo=UTC)
ERROR, OK = 2, 1


def written(evaluation: Evaluation, runs: Sequence[Weighed]) -> str:
    """One document; every run is a trace with one span for the turn and one a call."""
    weighed = {(one.question.id, one.rep): one for one in runs}
    spans: list[dict[str, Any]] = []
    for kept in evaluation.kept:
        spans += _spans(kept.run, weighed.get((kept.question, kept.rep)))
    scope = {"scope": {"name": "ukai.measure"}, "spans": spans}
    resource = {"attributes": _attributes({"service.name": "ukai", "ukai.evaluation": evaluation.header.name})}
    return json.dumps({"resourceSpans": [{"resource": resource, "scopeSpans": [scope]}]}, ensure_ascii=False) + "\n"


def _spans(run: record.Run, weighed: Weighed | None) -> Iterator[dict[str, Any]]:
    trace = sha256(run.run_id.encode()).hexdigest()
    root = trace[32:48]
    said = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": run.agent,
        "gen_ai.request.model": run.config.model,
        "gen_ai.conversation.id": run.run_id,
        "gen_ai.input.messages": _message("user", run.question),
        "ukai.case.id": run.case_id or "",
        "ukai.case.rep": run.rep or 0,
    }
    if run.answer is not None:
        said["gen_ai.output.messages"] = _message("assistant", run.answer.markdown)
    failed = run.reason or run.status if run.status == "error" else ""
    turn = _span(trace, root, "", f"invoke_agent {run.agent}", run.started_at, run.ended_at, said, failed)
    yield turn | {"events": [_event(run, *result) for result in _results(weighed)]}
    for number, use in enumerate(run.usage, 1):
        model = {"gen_ai.operation.name": "chat", "gen_ai.request.model": use.model}
        model |= {"gen_ai.usage.input_tokens": use.input, "gen_ai.usage.output_tokens": use.output}
        model |= {"gen_ai.usage.cache_read.input_tokens": use.cached}
        id = sha256(f"{run.run_id}/chat/{number}".encode()).hexdigest()[:16]
        yield _span(trace, id, root, f"chat {use.model}", run.started_at, run.ended_at, model, "")
    for call in run.calls:
        yield _call(trace, root, run, call)


def _call(trace: str, root: str, run: record.Run, call: record.Call) -> dict[str, Any]:
    items = [_item(item) for item in call.items]
    said = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": call.tool,
        "gen_ai.tool.call.id": call.call_id,
        "gen_ai.tool.call.arguments": call.args_canonical,
        "gen_ai.tool.call.result": json.dumps({"items": items}, ensure_ascii=False),
    }
    id = sha256(f"{run.run_id}/{call.call_id}".encode()).hexdigest()[:16]
    failed = (call.error_code or call.label_rule) if call.label == "error" else ""
    return _span(trace, id, root, f"execute_tool {call.tool}", call.t0, call.t1, said, failed)


def _item(item: record.Item) -> dict[str, Any]:
    return {"handle": item.item_key} | ({"text": item.text} if item.text is not None else {"value": item.value})


def _results(weighed: Weighed | None) -> Iterator[tuple[str, float, str, str]]:
    """Name, value, label, explanation."""
    if weighed is None:
        return
    for name, value in weighed.values.items():
        unmet = "; ".join(weighed.unmet) if name == "passed" else ""
        notes = [
            f"{flag.words}: {flag.note}" for score in weighed.scores if score.check == name for flag in score.flags
        ]
        is_share = name == "passed" or bool(notes)
        yield name, value, ("pass" if value == 1 else "fail") if is_share else "", unmet or "; ".join(notes)


def _event(run: record.Run, name: str, value: float, label: str, why: str) -> dict[str, Any]:
    said: dict[str, Any] = {"gen_ai.evaluation.name": name, "gen_ai.evaluation.score.value": value}
    said |= {"gen_ai.evaluation.score.label": label} if label else {}
    said |= {"gen_ai.evaluation.explanation": why} if why else {}
    return {
        "name": "gen_ai.evaluation.result",
        "timeUnixNano": _nanoseconds(run.ended_at),
        "attributes": _attributes(said),
    }


def _span(
    trace: str, id: str, parent: str, name: str, start: datetime, end: datetime, said: Mapping[str, Any], failed: str
) -> dict[str, Any]:
    status: dict[str, Any] = {"code": ERROR, "message": failed} if failed else {"code": OK}
    return {
        "traceId": trace[:32],
        "spanId": id,
        "parentSpanId": parent,
        "name": name,
        "kind": 1,
        "startTimeUnixNano": _nanoseconds(start),
        "endTimeUnixNano": _nanoseconds(end),
        "attributes": _attributes(said),
        "status": status,
    }


def _message(role: str, text: str) -> str:
    return json.dumps([{"role": role, "parts": [{"type": "text", "content": text}]}], ensure_ascii=False)


def _nanoseconds(at: datetime) -> str:
    gap = at - START
    return str(((gap.days * 86_400 + gap.seconds) * 1_000_000 + gap.microseconds) * 1_000)


def _attributes(said: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [{"key": key, "value": _value(value)} for key, value in said.items()]


def _value(value: Any) -> dict[str, Any]:
    if isinstance(value, int):
        return {"intValue": str(value)}
    return {"doubleValue": value} if isinstance(value, float) else {"stringValue": str(value)}
