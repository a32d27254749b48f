"""From the shelf to the catalog: every name looked up, every value resolved and its origin kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TypeVar

from ukai.catalog import parts, places, reading, tighten
from ukai.catalog.agents import Resolved, Resolver
from ukai.catalog.naming import Naming
from ukai.catalog.shelf import Piece, Shelf
from ukai.catalog.toolbox import toolbox
from ukai.catalog.value import Catalog, Loaded, Tool, ordered
from ukai.kit import document, glob
from ukai.kit.document import Document
from ukai.kit.finding import Finding
from ukai.runtime.agent import Family
from ukai.runtime.guardrail import Guardrail
from ukai.runtime.tools import ToolSpec
from ukai.study.report import Report

T = TypeVar("T")


Reader = Callable[[Document], list[Finding]]
"""What another room says about one of its documents."""


def load(
    root: Path,
    *,
    provided: Mapping[str, ToolSpec],
    readers: Mapping[str, Reader] | None = None,
    only: str | None = None,
) -> Loaded:
    """The catalog of the tree at `root`, with all findings in the order of files, lines and columns.

    `provided` are the tools that the product brings. `readers` (folder -> function) judge documents whose meaning
    lies with rooms that this one does not know, such as connectors. `only` names the one agent whose folder is read;
    what is shared is read whole, since only its content says whom it concerns. Nothing of the tree is executed.
    """
    shelf, findings, count = reading.shelf(root, only=only)
    naming = Naming(inside=shelf.inside)
    tools, found = toolbox(shelf, provided, naming)
    findings += found
    resolver = Resolver(shelf, naming, tools, _reach(shelf, naming))
    agents = {name: resolver.agent(name) for name in sorted(shelf.agents)}
    findings += resolver.findings
    findings += _reports(shelf, agents)
    findings += _workflows(shelf, naming)
    findings += places.findings(shelf)
    for name in shelf.settings.owners.agents if shelf.settings_doc else ():
        where = shelf.settings_doc.where_key(document.pointer("owners", "agents", name)) if shelf.settings_doc else ""
        naming.known("agent", name, shelf.known("agent"), where=where)
    findings += naming.gathered()
    for path, doc in shelf.documents.items():
        reader = (readers or {}).get(path.split("/")[-2] if "/" in path else "")
        findings += reader(doc) if reader else []
    catalog = _catalog(shelf, agents, tools)
    return Loaded(
        catalog=catalog,
        findings=ordered(findings),
        files=count,
        shared=parts.shared(shelf, findings),
        named=frozenset(shelf.known("agent")),
    )


def _catalog(shelf: Shelf, agents: Mapping[str, Resolved], tools: Mapping[str, Tool]) -> Catalog:
    families = {
        name: Family(name=name, manifest=piece.value, prose=piece.doc.body, where=piece.where("/name"))
        for name, piece in shelf.families.items()
    }
    reports: dict[str, dict[str, Report]] = {}
    for (owner, name), piece in shelf.reports.items():
        reports.setdefault(owner, {})[name] = piece.value
    return Catalog(
        inside=shelf.inside,
        settings=shelf.settings,
        models=shelf.models,
        access=shelf.access,
        agents=_frozen({name: r.agent for name, r in agents.items()}),
        families=_frozen(families),
        guardrails=_frozen({name: p.value for name, p in shelf.guardrails.items()}),
        reports=_frozen({name: _frozen(r) for name, r in reports.items()}),
        tools=_frozen(dict(tools)),
        domains=_frozen(shelf.domains),
        workflows=_frozen(shelf.workflows),
        documents=_frozen(shelf.documents),
        templates=_frozen(shelf.templates),
        origins=_frozen({name: _frozen(dict(r.origins)) for name, r in agents.items()}),
        parts=_frozen({name: parts.of_agent(r.agent, shelf, tools) for name, r in agents.items()}),
    )


def _frozen(mapping: dict[str, T]) -> Mapping[str, T]:
    return MappingProxyType(mapping)


def _reach(shelf: Shelf, naming: Naming) -> Mapping[str, Piece[Guardrail]]:
    """The guardrails, their targets and models looked up."""
    for piece in shelf.guardrails.values():
        rule = piece.value
        if rule.model is not None:
            naming.model(rule.model, shelf.models, where=piece.where("/model"))
        for index, target in enumerate(rule.applies_to):
            naming_findings = _target(target, piece.where(f"/applies_to/{index}"), shelf, naming)
            naming.findings += naming_findings
    return shelf.guardrails


def _target(target: str, where: str, shelf: Shelf, naming: Naming) -> Iterator[Finding]:
    """`deal-coach`, `coach-*` or `family:coach`."""
    prefix, colon, family = target.partition(":")
    if colon and prefix == "family":
        naming.known("family", family, shelf.known("family"), where=where)
        return
    pattern = "*" in target or "?" in target
    if not pattern:
        naming.known("agent", target, shelf.known("agent"), where=where)
    elif problem := glob.problem(target):
        yield Finding(
            code="invalid_glob", where=where, message=problem, received=target, hint="write a name with * in it"
        )
    elif shelf.inside and not any(glob.compile(target).matches(a) for a in shelf.known("agent")):
        yield Finding(
            code="glob_matches_nothing",
            severity="warning",
            where=where,
            message=f"{target!r} matches no agent",
            expected=", ".join(sorted(shelf.known("agent"))[:20]),
            received=target,
            hint="correct the pattern, or remove it",
        )


def _workflows(shelf: Shelf, naming: Naming) -> list[Finding]:
    documents = {p: d for p, d in shelf.documents.items() if p.startswith("workflows/")}
    broken = any(kind == "domain" for kind, _ in shelf.broken)
    if not documents or broken or (shelf.types is None and shelf.domains):
        return []  # against domains that cannot all be read, everything would look wrong
    from ukai.catalog import workflows  # it brings the gate, which lint of a workspace without one does without

    shelf.workflows, findings = workflows.read(documents, shelf.domains, shelf.known("agent"), naming)
    return findings


def _reports(shelf: Shelf, agents: Mapping[str, Resolved]) -> Iterator[Finding]:
    for (owner, _), piece in shelf.reports.items():
        if owner in agents:
            above = agents[owner].agent
            yield from tighten.nested(piece, budget_above=above.budget, scope_above=above.scope, agent=owner)
            yield from tighten.by_it(piece, piece.value.budget, shelf.access, owner)
