"""`ukai ask AGENT QUESTION`, and how a run is shown."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

from ukai import record
from ukai.app import engine
from ukai.kit import canonical

EXCERPT = 160


async def ask(
    path: Path, agent: str, question: str, *, principal: str | None, surface: str, progress: engine.Progress
) -> dict[str, Any]:
    """Ask one question in the workspace at `path`; the document of the saved run."""
    async with engine.opened(path) as opened:
        run = await opened.ask(
            agent, question, principal=opened.principal(principal), surface=surface, progress=progress
        )
        return record.as_json(run)


def shown(run: dict[str, Any]) -> str:
    """A run as a person reads it: answer, sources with their words, what was considered."""
    lines = [run["answer"]["markdown"]] if run.get("answer") else [f"{run['status']}: {run.get('reason', '')}"]
    sources = _sources(run)
    if sources:
        lines += ["", "Sources"]
        lines += [f"  [{key}] {text}" for key, text in sources]
    lines += ["", "Considered"]
    for call in sorted(run.get("calls", []), key=_number):
        count = len(call.get("items", []))
        lines.append(f"  {call['tool']} {call['args_canonical']} -> {call['label']}, {count} items")
    if not run.get("calls"):
        lines.append("  nothing")
    lines += ["", f"Run {run['run_id']} ({run['status']}); ukai run show {run['run_id']} tells all of it."]
    return "\n".join(lines)


def _number(call: dict[str, Any]) -> int:
    """The order in which calls were made; the record lists them as they ended."""
    return int(str(call["call_id"]).rpartition("-")[2])


def _sources(run: dict[str, Any]) -> list[tuple[str, str]]:
    """Cited item -> its words, in the order of the answer."""
    said: dict[str, str] = {}
    for call in run.get("calls", []):
        for item in call.get("items", []):
            key, fields = item["item_key"], _fields(item.get("value"))
            said.setdefault(key, item.get("text") or ", ".join(f"{k}: {v}" for k, v in fields.items()))
            for name, value in fields.items():
                said.setdefault(f"{key}/{name}", f"{name}: {value}")
    cited = dict.fromkeys(c["item_key"] for c in run.get("citations", []))
    found = [(key, " ".join((said.get(key) or said.get(key.rpartition("/")[0], "")).split())) for key in cited]
    return [(key, text if len(text) <= EXCERPT else text[: EXCERPT - 1] + "…") for key, text in found]


def _fields(value: Any) -> dict[str, Any]:
    """The fields of an item's value; a value without any is one field of its own."""
    if value is None:
        return {}
    fields: Any = cast("dict[str, Any]", value).get("fields") if isinstance(value, dict) else None
    return cast("dict[str, Any]", fields) if isinstance(fields, dict) else {"value": canonical.dumps(value)}
