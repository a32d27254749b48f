"""`ukai ask AGENT QUESTION`, and how a run is shown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ukai import record
from ukai.app import engine

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
    for call in run.get("calls", []):
        count = len(call.get("items", []))
        lines.append(f"  {call['tool']} {call['args_canonical']} -> {call['label']}, {count} items")
    if not run.get("calls"):
        lines.append("  nothing")
    lines += ["", f"Run {run['run_id']} ({run['status']}); ukai run show {run['run_id']} tells all of it."]
    return "\n".join(lines)


def _sources(run: dict[str, Any]) -> list[tuple[str, str]]:
    words: dict[str, str] = {}
    for call in run.get("calls", []):
        for item in call.get("items", []):
            text = item.get("text") or ", ".join(
                f"{k}: {v}" for k, v in ((item.get("value") or {}).get("fields") or {}).items()
            )
            words.setdefault(item["item_key"], " ".join(str(text).split()))
    cited = dict.fromkeys(c["item_key"] for c in run.get("citations", []))
    found = [(key, words.get(key) or words.get(key.rpartition("/")[0], "")) for key in cited]
    return [(key, text if len(text) <= EXCERPT else text[: EXCERPT - 1] + "…") for key, text in found]
