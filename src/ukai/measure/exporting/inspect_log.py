"""An evaluation as a log of Inspect AI (JSON, version 2): a sample a case and repeat, with its scores.

Source: the log format of inspect_ai (EvalLog).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from ukai import record
from ukai.measure.evaluation import Evaluation, Kept
from ukai.measure.weighing import Weighed


def written(evaluation: Evaluation, runs: Sequence[Weighed]) -> str:
    """One log."""
    weighed = {(one.question.id, one.rep): one for one in runs}
    header = evaluation.header
    models = sorted({kept.run.config.model for kept in evaluation.kept}) or ["unknown"]
    names = sorted({name for one in runs for name in one.values})
    ids = [question.id for question in header.asked]
    log: dict[str, Any] = {
        "version": 2,
        "status": "success",
        "eval": {
            "run_id": header.name,
            "created": header.at.isoformat(),
            "task": header.name,
            "task_id": header.name,
            "task_version": 0,
            "model": models[0] if len(models) == 1 else "several",
            "dataset": {"name": "ukai", "samples": len(ids), "sample_ids": ids},
            "config": {"epochs": max((question.repeats for question in header.asked), default=1)},
            "scorers": [{"name": name} for name in names],
        },
        "results": {
            "total_samples": len(header.bank.runs),
            "completed_samples": len(evaluation.kept),
            "scores": [_score(name, [one.values[name] for one in runs if name in one.values]) for name in names],
        },
        "samples": [_sample(kept, weighed.get((kept.question, kept.rep))) for kept in evaluation.kept],
    }
    return json.dumps(log, ensure_ascii=False) + "\n"


def _score(name: str, values: Sequence[float]) -> dict[str, Any]:
    metric: dict[str, Any] = {"name": "mean", "value": fmean(values), "params": {}}
    return {"name": name, "scorer": name, "params": {}, "metrics": {"mean": metric}}


def _sample(kept: Kept, weighed: Weighed | None) -> dict[str, Any]:
    run = kept.run
    answer = run.answer.markdown if run.answer else ""
    said: dict[str, Any] = {"role": "assistant", "content": answer}
    sample: dict[str, Any] = {
        "id": kept.question,
        "epoch": kept.rep,
        "input": run.question,
        "target": list(weighed.question.requires.items) if weighed else [],
        "messages": [{"role": "user", "content": run.question}, *_calls(run), said],
        "output": {"model": run.config.model, "choices": [{"message": said, "stop_reason": "stop"}]},
        "scores": _scores(weighed) if weighed else {},
        "metadata": {"run_id": run.run_id, "agent": run.agent, "status": run.status},
        "model_usage": _usage(run),
        "started_at": run.started_at.isoformat(),
        "completed_at": run.ended_at.isoformat(),
    }
    if run.status == "error":
        sample["error"] = {"message": run.reason, "traceback": "", "traceback_ansi": ""}
    return sample


def _calls(run: record.Run) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = []
    for call in run.calls:
        made = {"id": call.call_id, "function": call.tool, "arguments": _arguments(call), "type": "function"}
        messages.append({"role": "assistant", "content": "", "tool_calls": [made]})
        items = [
            {"handle": i.item_key} | ({"text": i.text} if i.text is not None else {"value": i.value})
            for i in call.items
        ]
        result: dict[str, Any] = {"role": "tool", "tool_call_id": call.call_id, "function": call.tool}
        result["content"] = json.dumps({"items": items}, ensure_ascii=False)
        if call.label == "error":
            result["error"] = {"type": "unknown", "message": call.error_code or call.label_rule}
        messages.append(result)
    return messages


def _arguments(call: record.Call) -> Any:
    try:
        return json.loads(call.args_canonical)
    except ValueError:
        return {"raw": call.args_canonical}


def _scores(weighed: Weighed) -> dict[str, Any]:
    notes = {s.check: "; ".join(f"{flag.words}: {flag.note}" for flag in s.flags) for s in weighed.scores}
    notes["passed"] = "; ".join(weighed.unmet)
    return {name: {"value": value, "explanation": notes.get(name, "")} for name, value in weighed.values.items()}


def _usage(run: record.Run) -> Mapping[str, Any]:
    found: dict[str, dict[str, int]] = {}
    for use in run.usage:
        row = found.setdefault(use.model, {"input_tokens": 0, "output_tokens": 0, "total_tokens": 0})
        row["input_tokens"] += use.input
        row["output_tokens"] += use.output
        row["total_tokens"] += use.input + use.output
    return found
