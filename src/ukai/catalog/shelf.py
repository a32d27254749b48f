"""What was read from the files, part by part, before any name is looked up."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from ukai.access import Access
from ukai.catalog.settings import Settings
from ukai.catalog.source import Declared
from ukai.graph.schema import Domain
from ukai.kit.document import Document
from ukai.llm.config import Models
from ukai.runtime import agent, guardrail
from ukai.study import report

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Piece(Generic[T]):
    """A value and the document it came from, in the native dialect."""

    path: str
    doc: Document
    value: T

    def where(self, pointer: str = "") -> str:
        """`file:line:column` of a field."""
        return self.doc.where(pointer)


@dataclass(kw_only=True)
class Shelf:
    """Everything read so far. Only the loader fills one."""

    inside: bool
    """A workspace: every name must resolve."""
    settings: Settings = field(default_factory=Settings)
    settings_doc: Document | None = None
    models: Models = field(default_factory=Models)
    access: Access = field(default_factory=Access)
    agents: dict[str, Piece[agent.Manifest]] = field(default_factory=dict[str, Piece[agent.Manifest]])
    families: dict[str, Piece[agent.Manifest]] = field(default_factory=dict[str, Piece[agent.Manifest]])
    guardrails: dict[str, Piece[guardrail.Guardrail]] = field(default_factory=dict[str, Piece[guardrail.Guardrail]])
    reports: dict[tuple[str, str], Piece[report.Report]] = field(
        default_factory=dict[tuple[str, str], Piece[report.Report]]
    )
    skills: dict[tuple[str, str], Piece[agent.Skill]] = field(default_factory=dict[tuple[str, str], Piece[agent.Skill]])
    own_tools: dict[str, tuple[str, Declared]] = field(default_factory=dict[str, tuple[str, Declared]])
    shared_tools: dict[str, Declared] = field(default_factory=dict[str, Declared])
    """Path -> what the file declares."""
    domains: dict[str, Domain] = field(default_factory=dict[str, Domain])
    workflows: dict[str, Any] = field(default_factory=dict[str, Any])
    """Of `gate.steps.Workflow`, which is imported only where there is one."""
    types: dict[str, frozenset[str]] | None = None
    """Type -> fields; None when no domain is there, or one cannot be read."""
    documents: dict[str, Document] = field(default_factory=dict[str, Document])
    """Path -> YAML that other rooms give a meaning: domains, workflows, connectors, cases, templates.yaml, access."""
    templates: dict[str, str] = field(default_factory=dict[str, str])
    """`<type>/<schema hash>` -> text."""
    broken: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])
    """(kind, name) of what is there and could not be read: naming it is no further mistake."""
    names: dict[str, set[str]] = field(default_factory=dict[str, set[str]])
    """Kind -> every name that a path gives, readable or not."""

    def known(self, kind: str) -> set[str]:
        """Names that may be named: those that loaded, and those whose own file already has a finding."""
        return self.names.get(kind, set())
