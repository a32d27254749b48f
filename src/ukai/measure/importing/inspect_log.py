"""Logs of Inspect AI as runs: one JSON log, one run a sample and epoch.

Source: the log format of inspect_ai (EvalLog, version 2): `samples[].messages` hold calls and their results.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, cast

from ukai import record
from ukai.kit.finding import Finding
from ukai.measure.importing import pieces

_ATTACHED = "attachment://"


def read(text: str) -> tuple[list[record.Run], list[Finding]]:
    """Every sample, in the order of the log."""
    hint = "hand in a log written with `inspect log convert --to json`"
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        return [], [pieces.unreadable(f"the log is not JSON: {error}", text[:80], hint)]
    log = pieces.mapping(data)
    samples = log.get("samples")
    if not isinstance(samples, list) or not isinstance(log.get("eval"), dict):
        return [], [pieces.unreadable("the file is no log of Inspect with samples", text[:80], hint)]
    head = pieces.mapping(log["eval"])
    runs = [_run(head, s) for s in pieces.dicts(samples)]
    return runs, []


def _run(head: Mapping[str, Any], packed: Mapping[str, Any]) -> record.Run:
    sample = pieces.mapping(_unpacked(packed, pieces.mapping(packed.get("attachments"))))
    messages = pieces.dicts(sample.get("messages"))
    start = pieces.iso(sample.get("started_at") or head.get("created"))
    end = pieces.iso(sample.get("completed_at") or sample.get("started_at") or head.get("created"))
    answer = _answer(sample, messages)
    error = sample.get("error")
    limit = sample.get("limit")
    status = "error" if error else "budget" if limit and not answer else "answered" if answer else "error"
    task = str(head.get("task") or "unnamed")
    return record.Run(
        run_id=f"{head.get('run_id') or head.get('task_id') or task}/{sample.get('id')}/{sample.get('epoch', 1)}",
        agent=task,
        principal="public",
        surface="inspect",
        question=_input(sample.get("input")),
        started_at=start,
        ended_at=max(start, end),
        as_of=start,
        case_id=str(sample.get("id")),
        rep=_whole(sample.get("epoch")),
        build=record.Build(commit=str(pieces.mapping(head.get("revision")).get("commit") or "")),
        config=record.Config(model=str(head.get("model") or "unknown")),
        status=status,
        reason=str(pieces.mapping(error).get("message") or ""),
        calls=_calls(messages, start),
        answer=record.Answer(markdown=answer) if answer else None,
        usage=_usage(sample.get("model_usage")),
    )


def _unpacked(value: Any, attachments: Mapping[str, Any]) -> Any:
    """Long texts are kept once and referred to."""
    if isinstance(value, str):
        return attachments.get(value.removeprefix(_ATTACHED), value) if value.startswith(_ATTACHED) else value
    if isinstance(value, list):
        return [_unpacked(part, attachments) for part in cast("list[Any]", value)]
    if isinstance(value, Mapping):
        return {key: _unpacked(part, attachments) for key, part in cast("Mapping[str, Any]", value).items()}
    return value


def _calls(messages: Sequence[Mapping[str, Any]], at: datetime) -> tuple[record.Call, ...]:
    """A call stands in an assistant's message, its result in the tool's message that names it."""
    results = {str(m.get("tool_call_id")): m for m in messages if m.get("role") == "tool"}
    calls: list[record.Call] = []
    for message in messages:
        for made in pieces.dicts(message.get("tool_calls")):
            result = results.get(str(made.get("id")))
            failed = result.get("error") if result else {"type": "no result"}
            error = pieces.mapping(failed) if isinstance(failed, dict) else None
            said = f"{error.get('type', 'error')}: {error.get('message', '')}".rstrip(": ") if error else None
            calls.append(
                pieces.call(
                    number=len(calls) + 1,
                    id=str(made.get("id") or ""),
                    tool=str(made.get("function") or ""),
                    args=made.get("arguments") or {},
                    result=pieces.decoded(_content(result.get("content"))) if result else None,
                    error=said,
                    t0=at,
                    t1=at,
                )
            )
    return tuple(calls)


def _answer(sample: Mapping[str, Any], messages: Sequence[Mapping[str, Any]]) -> str:
    output = sample.get("output")
    if isinstance(output, dict):
        said = pieces.mapping(output)
        if isinstance(said.get("completion"), str) and said["completion"]:
            return str(said["completion"])
        for choice in pieces.dicts(said.get("choices")):
            message = choice.get("message")
            text = _content(pieces.mapping(message).get("content")) if isinstance(message, dict) else ""
            if text:
                return text
    last = next((m for m in reversed(messages) if m.get("role") == "assistant"), None)
    return _content(last.get("content")) if last else ""


def _input(value: Any) -> str:
    if isinstance(value, str):
        return value
    asked = [m for m in pieces.dicts(value) if m.get("role") == "user"]
    return _content(asked[-1].get("content")) if asked else ""


def _content(value: Any) -> str:
    """Text, or the text parts of a list of parts."""
    if isinstance(value, str):
        return value
    return "".join(str(p.get("text", "")) for p in pieces.dicts(value) if p.get("type") == "text")


def _usage(value: Any) -> tuple[record.Usage, ...]:
    return tuple(
        record.Usage(
            model=model,
            input=_whole(row.get("input_tokens")) or 0,
            output=_whole(row.get("output_tokens")) or 0,
            cached=_whole(row.get("input_tokens_cache_read")) or 0,
        )
        for model, row in ((m, pieces.mapping(r)) for m, r in sorted(pieces.mapping(value).items()))
    )


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
