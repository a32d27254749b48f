"""The domains of a deployment, ready to judge: types and edges by name, their checks and rules compiled once.

A type is compiled when it is first used. `with_domain` gives the next catalogue after an upload and keeps what the
other domains have compiled, so that one of 130 uploads costs one domain.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from ukai.graph import cel, conditions, kinds
from ukai.graph.schema import Domain, EdgeType, Field, Rule, Type


class RuleDoesNotCompile(ValueError):
    """A domain came in without having been checked at upload."""


@dataclass(frozen=True)
class _Compiled:
    """What nodes and edges have in common: fields, and what judges them."""

    domain: Domain
    type: Type | EdgeType

    @cached_property
    def checks(self) -> Mapping[str, kinds.Check]:
        """Field -> check."""
        return {f.key: kinds.compile(f) for f in self.type.fields}

    @cached_property
    def required(self) -> tuple[Field, ...]:
        """What a create must name: required, without a default and not set by the server."""
        return tuple(f for f in self.type.fields if f.required and not f.server_set and f.default is None)

    @cached_property
    def filled(self) -> tuple[Field, ...]:
        """What is filled in on create: defaults and server-set fields."""
        return tuple(f for f in self.type.fields if f.server_set or f.default is not None)

    def name_of(self, part: str) -> str:
        """`review@7#Type.field`, `review@7#edge.field`: how a rejection names what refused it."""
        return f"{self.domain.domain}@{self.domain.version}#{self.type.name}.{part}"


@dataclass(frozen=True)
class CompiledType(_Compiled):
    """A type with what judges its nodes."""

    type: Type

    def only(self, fields: Collection[str]) -> CompiledType:
        """The type as whoever knows no other fields sees it, without the rules: their conditions name fields."""
        type = self.type
        shown = tuple(f for f in type.fields if f.key in fields)
        if len(shown) == len(type.fields) and not type.rules and (type.states is None or "state" in fields):
            return self
        states = type.states if "state" in fields else None
        return CompiledType(self.domain, replace(type, fields=shown, states=states, rules=()))

    @cached_property
    def refs(self) -> tuple[Field, ...]:
        """Fields that name other nodes."""
        return tuple(f for f in self.type.fields if f.kind == "ref" and not f.any_of)

    @cached_property
    def rules(self) -> tuple[tuple[Rule, cel.Program], ...]:
        """The rules, ready to run. Raises RuleDoesNotCompile."""
        if not self.type.rules:
            return ()
        environment = conditions.environment_of(self.type)
        return tuple((r, _program(environment, r, self.type.type)) for r in self.type.rules)


@dataclass(frozen=True)
class CompiledEdge(_Compiled):
    """An edge type with what judges its edges."""

    type: EdgeType


class Catalogue:
    """All domains, by the names that a delta may use."""

    def __init__(self, domains: Iterable[Domain]) -> None:
        self.domains: Mapping[str, Domain] = {d.domain: d for d in domains}
        self._types = {t.type: CompiledType(d, t) for d in self.domains.values() for t in d.types}
        self._edges = {e.edge: CompiledEdge(d, e) for d in self.domains.values() for e in d.edges}

    def type(self, name: str) -> CompiledType | None:
        """The node type of this name."""
        return self._types.get(name)

    def edge(self, name: str) -> CompiledEdge | None:
        """The edge type of this name."""
        return self._edges.get(name)

    def types(self, domain: str = "") -> list[str]:
        """Names of node types, of one domain or of all."""
        return [n for n, t in self._types.items() if domain in ("", t.domain.domain)]

    def edges(self, domain: str = "") -> list[str]:
        """Names of edge types, of one domain or of all."""
        return [n for n, e in self._edges.items() if domain in ("", e.domain.domain)]

    @cached_property
    def minimal(self) -> tuple[CompiledEdge, ...]:
        """Edge types that a node must have from its beginning."""
        return tuple(e for e in self._edges.values() if e.type.min_out or e.type.min_in)

    def only(self, names: Mapping[str, Collection[str]]) -> Catalogue:
        """This catalogue as whoever knows no other node types, and of these no other fields (`state` among them), sees
        it: edges between these, and nothing else.
        """
        found = Catalogue(())
        found._types = {n: t.only(names[n]) for n, t in self._types.items() if n in names}
        for name, edge in self._edges.items():
            sources, targets = (tuple(t for t in end if t in names) for end in (edge.type.sources, edge.type.targets))
            if sources and targets:
                found._edges[name] = CompiledEdge(edge.domain, replace(edge.type, sources=sources, targets=targets))
        found.domains = {t.domain.domain: t.domain for t in found._types.values()}
        return found

    def with_domain(self, domain: Domain) -> Catalogue:
        """This catalogue with one domain added or replaced."""
        found = Catalogue([*(d for n, d in self.domains.items() if n != domain.domain), domain])
        found._types |= {n: t for n, t in self._types.items() if t.domain.domain != domain.domain}
        found._edges |= {n: e for n, e in self._edges.items() if e.domain.domain != domain.domain}
        return found


def _program(environment: cel.Environment, rule: Rule, type: str) -> cel.Program:
    program = environment.compile(rule.require)
    if isinstance(program, list):
        raise RuleDoesNotCompile(f"rule {rule.id!r} of {type}: {program[0].message}")
    return program
