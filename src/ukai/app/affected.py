"""`ukai affected --since REV`: which agents a change reaches, and why (P2.2)."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ukai.app import loading, workspace
from ukai.catalog import Catalog, git, kinds


@dataclass(frozen=True, kw_only=True)
class Reason:
    """One changed file and what it is to the agent."""

    path: str
    because: str


@dataclass(frozen=True, kw_only=True)
class Affected:
    """One agent that the change reaches."""

    agent: str
    status: str
    """`added`, `removed` or `changed`."""
    reasons: tuple[Reason, ...]


@dataclass(frozen=True, kw_only=True)
class Report:
    """All of them, and the changed files that reach no agent."""

    since: str
    until: str | None
    agents: tuple[Affected, ...]
    elsewhere: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        """For machines."""
        return {
            "since": self.since,
            "until": self.until,
            "agents": [
                {
                    "agent": a.agent,
                    "status": a.status,
                    "reasons": [{"path": r.path, "because": r.because} for r in a.reasons],
                }
                for a in self.agents
            ],
            "elsewhere": list(self.elsewhere),
        }


def affected(path: Path, *, since: str, until: str | None = None) -> Report:
    """What changed between two revisions, or since one until now, as the agents it reaches.

    Both states are loaded, so that what was deleted or renamed counts by what it used to be. Raises GitError.
    """
    root = workspace.locate(path)
    repository = git.Repository.around(root)
    changes = repository.changes(since, until)
    before = _at(repository, since)
    after = _at(repository, until) if until else loading.load(root).catalog
    found = reached(changes, before, after)
    paths = {r.path for a in found for r in a.reasons}
    elsewhere = sorted({c.path for c in changes} - paths)
    return Report(since=since, until=until, agents=tuple(found), elsewhere=tuple(elsewhere))


def reached(changes: Sequence[git.Change], before: Catalog, after: Catalog) -> list[Affected]:
    """The agents of either state that any of the changes reaches."""
    found: list[Affected] = []
    changed = {p for c in changes for p in (c.path, c.before) if p}
    named = {p.split("/")[1] for p in changed if p.startswith("agents/") and p.count("/") >= 2}
    for agent in sorted({*before.agents, *after.agents, *named}):
        reasons = [r for p in sorted(changed) for r in _reasons(p, agent, before, after)]
        if reasons:
            status = "changed"
            if agent in after.agents and agent not in before.agents:
                status = "added"
            elif agent in before.agents and agent not in after.agents:
                status = "removed"
            found.append(Affected(agent=agent, status=status, reasons=tuple(reasons)))
    return found


def _reasons(path: str, agent: str, before: Catalog, after: Catalog) -> Iterator[Reason]:
    if path.startswith(f"agents/{agent}/"):
        yield Reason(path=path, because="its own directory")
    elif path == "models.yaml":
        yield from _models(agent, before, after)
    elif path == kinds.MARKER:
        if before.settings != after.settings:
            yield Reason(path=path, because="settings of the workspace")
    elif any(path in state.parts.get(agent, frozenset[str]()) for state in (before, after)):
        yield Reason(path=path, because=_because(path))


def _because(path: str) -> str:
    place = kinds.in_workspace(path)
    return {
        "family": f"its family {place.name}" if place else "",
        "guardrail": f"the guardrail {place.name} applies to it" if place else "",
        "shared_tools": "it may use a tool of this file",
        "access": "access decides about it",
    }.get(place.kind if place else "", "it names the file")


def _models(agent: str, before: Catalog, after: Catalog) -> Iterator[Reason]:
    """Only when a name that the agent, or a guardrail of it, uses stands for something else now."""
    uses = [_uses(agent, state) for state in (before, after)]
    for name in sorted(uses[0].keys() | uses[1].keys()):
        old, new = uses[0].get(name), uses[1].get(name)
        if old != new and name in uses[1]:
            yield Reason(path="models.yaml", because=f"{name} was {old}, is {new}")


def _uses(agent: str, state: Catalog) -> dict[str, str]:
    found = state.agents.get(agent)
    if found is None:
        return {}
    rules = [state.guardrails[g].model for g in found.guardrails]
    names = {found.model, *(m for m in rules if m)}
    return {n: _stands_for(n, state) for n in names}


def _stands_for(name: str, state: Catalog) -> str:
    if state.models.findings(name, where=""):
        return "nothing"
    spec = state.models.resolve(name).spec
    return " ".join(part for part in (spec.use, spec.key, spec.base_url) if part)


def _at(repository: git.Repository, revision: str) -> Catalog:
    with tempfile.TemporaryDirectory(prefix="ukai-") as folder:
        repository.write_tree(revision, Path(folder))
        # The folder may have held no workspace yet; then there is nothing in it that anybody could depend on.
        return loading.load(Path(folder)).catalog
