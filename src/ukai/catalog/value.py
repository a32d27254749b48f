"""The catalog: a whole monorepo of agents as one immutable value."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ukai.access import Access
from ukai.catalog.settings import Settings
from ukai.graph.schema import Domain
from ukai.kit.document import Document
from ukai.kit.finding import Finding, errors
from ukai.llm.config import Models
from ukai.runtime.agent import Agent, Family
from ukai.runtime.guardrail import Guardrail
from ukai.runtime.tools import ToolSpec
from ukai.study.report import Report


@dataclass(frozen=True, kw_only=True)
class Origin:
    """One resolved value of an agent, and why it is that one."""

    value: Any
    """As JSON."""
    source: str
    """`agent`, `family coach`, `models.yaml`, `access/budgets.yaml`, `default`, ..."""
    where: str = ""
    """`file:line:column`; empty for a default."""


@dataclass(frozen=True, kw_only=True)
class Tool:
    """One tool of the global set."""

    spec: ToolSpec
    where: str
    """`file:line:column`, or `product` for those that Ukai brings."""


@dataclass(frozen=True, kw_only=True)
class Catalog:
    """What was loaded. Agents, families, guardrails and reports with an error of their own are not in it."""

    inside: bool
    """A workspace stood around the files."""
    settings: Settings
    models: Models
    access: Access
    agents: Mapping[str, Agent]
    families: Mapping[str, Family]
    guardrails: Mapping[str, Guardrail]
    reports: Mapping[str, Mapping[str, Report]]
    """Agent -> report -> value."""
    tools: Mapping[str, Tool]
    """The global set: shared files and what the product brings."""
    domains: Mapping[str, Domain]
    workflows: Mapping[str, Any]
    """Name -> `gate.steps.Workflow`; typed loosely, so that the gate is imported only where there is one."""
    documents: Mapping[str, Document]
    """Path -> YAML to which other rooms give its meaning."""
    templates: Mapping[str, str]
    """`<type>/<schema hash>` -> text."""
    origins: Mapping[str, Mapping[str, Origin]]
    """Agent -> field -> where its value came from."""
    parts: Mapping[str, frozenset[str]]
    """Agent -> every path it depends on, shared files included (P2.2)."""


@dataclass(frozen=True, kw_only=True)
class Loaded:
    """A catalog, everything that is wrong with its files, and how many were read."""

    catalog: Catalog
    findings: tuple[Finding, ...]
    files: int
    shared: frozenset[str] = field(default=frozenset())
    """Paths whose errors concern every agent: a guardrail that cannot be read may have been meant for any."""
    named: frozenset[str] = field(default=frozenset())
    """Every agent of the tree, those too whose folders were not looked into."""

    def blocking(self, agent: str) -> list[Finding]:
        """The errors that keep this agent from being served: its own, and those of shared files it depends on."""
        own = self.catalog.parts.get(agent, frozenset[str]())
        missing = agent not in self.catalog.agents

        def concerns(path: str) -> bool:
            return path in own or path in self.shared or (missing and path.startswith(f"agents/{agent}"))

        return [f for f in errors(self.findings) if concerns(path_of(f))]


def ordered(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """By file, line and column, each told once."""
    return tuple(sorted({(f.where, f.code, f.message): f for f in findings}.values(), key=_order))


def _order(finding: Finding) -> tuple[str, int, int, str]:
    path, line, column = finding.where.rsplit(":", 2)
    return path, int(line), int(column), finding.code


def path_of(finding: Finding) -> str:
    """The file of a finding that stands in one."""
    return finding.where.rsplit(":", 2)[0]
