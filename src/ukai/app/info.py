"""`ukai info [AGENT]`: what an agent resolved to, and where each value came from."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ukai import catalog
from ukai.app import loading, workspace
from ukai.kit import suggest
from ukai.kit.errors import PermanentError
from ukai.kit.finding import Finding


class UnknownAgent(PermanentError):
    """No folder under agents/ has this name."""

    def __init__(self, name: str, *, known: list[str]) -> None:
        super().__init__(f"no agent named {name!r}", hint=_hint(name, known))
        self.name, self.known = name, known


class AgentRefused(PermanentError):
    """The agent is there and its files have errors."""

    hint = "`ukai lint` shows every one with its fix"

    def __init__(self, name: str, findings: list[Finding]) -> None:
        first = f": {findings[0]}" if findings else ""
        super().__init__(f"the agent {name!r} cannot be loaded{first}")
        self.name, self.findings = name, findings


@dataclass(frozen=True, kw_only=True)
class Row:
    """One resolved value."""

    field: str
    value: Any
    source: str
    where: str


def agents(path: Path) -> list[dict[str, Any]]:
    """Every agent of the workspace around `path`, one line each."""
    found = loading.load(workspace.locate(path)).catalog.agents
    return [
        {
            "agent": a.name,
            "description": a.description,
            "model": a.model,
            "channels": list(a.channels),
            "tools": len(a.tools),
            "guardrails": len(a.guardrails),
            "skills": len(a.skills),
        }
        for a in found.values()
    ]


def explain(path: Path, agent: str) -> list[Row]:
    """Each resolved value of `agent` with its origin. Raises UnknownAgent, AgentRefused, NoWorkspace."""
    origins = loaded(workspace.locate(path), agent).catalog.origins[agent]
    return [Row(field=f, value=o.value, source=o.source, where=o.where) for f, o in sorted(origins.items())]


def loaded(root: Path, agent: str) -> catalog.Loaded:
    """The catalog of `root`, in which `agent` is. Raises UnknownAgent, AgentRefused."""
    found = loading.load(root)
    if agent in found.catalog.agents:
        return found
    folder = root / "agents"
    known = sorted(p.name for p in folder.iterdir() if p.is_dir()) if folder.is_dir() else []
    if agent in known:
        raise AgentRefused(agent, found.blocking(agent))
    raise UnknownAgent(agent, known=known)


def _hint(name: str, known: list[str]) -> str:
    hint = suggest.hint_for(name, known)
    return f"{hint[0].upper()}{hint[1:]}{'' if hint.endswith('?') else '.'} Check the folder name under agents/"
