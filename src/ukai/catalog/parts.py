"""Which files an agent consists of, shared ones included: what a change to any of them touches (P2.2)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ukai.catalog import kinds
from ukai.catalog.shelf import Shelf
from ukai.catalog.value import Tool, path_of
from ukai.kit.finding import Finding, errors
from ukai.runtime.agent import Agent

ACCESS_FOR_ALL = ("access/groups.yaml", "access/policies.yaml", "access/budgets.yaml")


def of_agent(agent: Agent, shelf: Shelf, tools: Mapping[str, Tool]) -> frozenset[str]:
    """Every path whose change changes this agent."""
    name = agent.name
    found = {shelf.agents[name].path}
    found |= {p.path for (owner, _), p in shelf.skills.items() if owner == name}
    found |= {p.path for (owner, _), p in shelf.reports.items() if owner == name}
    found |= {path for path in shelf.documents if path.startswith(f"agents/{name}/")}
    if name in shelf.own_tools:
        found.add(shelf.own_tools[name][0])
    found |= {shelf.families[f].path for f in agent.families if f in shelf.families}
    found |= {shelf.guardrails[g].path for g in agent.guardrails}
    found |= {file_of(tools[t].where) for t in agent.tools if t in tools and tools[t].where != "product"}
    found |= {path for path in ACCESS_FOR_ALL if path in shelf.documents}
    found |= {f"access/field_policies/{p}.yaml" for p in agent.field_policies}
    return frozenset(found)


def file_of(where: str) -> str:
    """The path of a `file:line:column`."""
    return where.rsplit(":", 2)[0]


def shared(shelf: Shelf, findings: Iterable[Finding]) -> frozenset[str]:
    """Files with errors that may concern any agent, because what they say cannot be known."""
    wrong = {path_of(f) for f in errors(findings)}
    lost = {f"guardrails/{name}.md" for kind, name in shelf.broken if kind == "guardrail"}
    always = {kinds.MARKER, "models.yaml", *ACCESS_FOR_ALL, *lost}
    return frozenset(path for path in wrong if path in always or path.startswith("tools/"))
