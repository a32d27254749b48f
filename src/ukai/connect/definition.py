"""`connectors/<name>.yaml` (formats §8): where rows come from, what they become, and what happens to what does not fit.

`read` gives the value and everything that is wrong with the file by itself; `check` holds it against the domains.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Any, Literal, cast

from pydantic import Field as Alias

from ukai.connect import kinds, mapping
from ukai.connect.source import Source, Told
from ukai.graph.schema import Domain, EdgeType, Type
from ukai.kit import document, principal, shape, suggest
from ukai.kit.document import Document
from ukai.kit.finding import Finding, errors, excerpt
from ukai.study import report

PROVENANCE = ("asserted_by", "at")


@dataclass(frozen=True, kw_only=True)
class Into:
    """The type whose nodes the rows become."""

    __pydantic_config__ = shape.STRICT
    domain: str
    node_type: str


@dataclass(frozen=True, kw_only=True)
class Map:
    """Expressions for the fields."""

    __pydantic_config__ = shape.STRICT
    key: str | tuple[str, ...]
    """For the natural key; a list for a key of several fields, in their order."""
    set: Mapping[str, str] = field(default_factory=dict[str, str])
    """Field -> expression. Null clears the field."""
    state: str = ""
    """For the state; null keeps it."""

    @property
    def keys(self) -> tuple[str, ...]:
        """The expressions of the key."""
        return (self.key,) if isinstance(self.key, str) else self.key


@dataclass(frozen=True, kw_only=True)
class End:
    """The other end of an edge: a node that is there, found by its natural key or one unique field."""

    __pydantic_config__ = shape.STRICT
    node_type: str
    match: Mapping[str, str]
    """Field -> expression. A list means several nodes, null none."""


@dataclass(frozen=True, kw_only=True)
class Link:
    """Edges of one type that the row's node has: to what the row names, and no others that this connector made."""

    __pydantic_config__ = shape.STRICT
    edge: str
    to: End | None = None
    source: Annotated[End | None, Alias(alias="from")] = None
    """Instead of `to`: the row's node is where the edge leads to."""

    @property
    def end(self) -> End:
        """The one that is given."""
        found = self.to or self.source
        assert found is not None  # `read` lets no other through
        return found


@dataclass(frozen=True, kw_only=True)
class Mode:
    """What happens to what the source did not have before (`columns`) and to values that do not fit (`types`)."""

    __pydantic_config__ = shape.STRICT
    columns: Literal["evolve", "freeze", "discard_row", "discard_value"] = "evolve"
    types: Literal["evolve", "freeze", "discard_row", "discard_value"] = "discard_row"


@dataclass(frozen=True, kw_only=True)
class File:
    """The file, with the source still as data: its fields depend on its kind."""

    __pydantic_config__ = shape.STRICT
    connector: str
    source: Mapping[str, Any]
    into: Into
    map: Map
    edges: tuple[Link, ...] = ()
    readers: tuple[str, ...] = ()
    provenance: Mapping[Literal["asserted_by", "at"], str] = field(
        default_factory=dict[Literal["asserted_by", "at"], str]
    )
    cursor: str = ""
    schedule: str = ""
    """Five fields of cron, in UTC."""
    stale_after: Annotated[int, Alias(ge=1, le=1_000)] = 2
    """How many of those times may pass without a finished pull before answers say so (P4.7)."""
    mode: Mode = Mode()
    missing: Literal["tombstone", "keep"] = "keep"
    description: str = ""


@dataclass(frozen=True, kw_only=True)
class Connector:
    """A connector that can run."""

    file: File
    source: Source
    where: str
    """Its file."""

    @property
    def name(self) -> str:
        """What it is called."""
        return self.file.connector

    @property
    def principal(self) -> str:
        """As whom it reads and writes: policies name it like anybody else."""
        return f"service:{self.name}"

    @cached_property
    def expressions(self) -> mapping.Expressions:
        """All of them, by their pointers in the file."""
        return mapping.Expressions(dict(_expressions(self.file)))


def read(doc: Document) -> tuple[Connector | None, list[Finding]]:
    """The connector of a file, or everything that is wrong with it."""
    file, findings = shape.parse(doc, File)
    source: Source | None = None
    data: Any = doc.data
    if isinstance(data, dict) and isinstance(cast("dict[str, Any]", data).get("source"), dict):
        source, more = _source(doc)
        findings += more
    if file is not None:
        findings += _faults(doc, file)
        findings += _schedule(doc, file)
        findings += _name(doc, file)
    if file is not None and isinstance(source, Told):
        findings += _strays(doc, file, source.columns)
    if file is None or source is None or errors(findings):
        return None, findings
    return Connector(file=file, source=source, where=doc.name), findings


def check(doc: Document, connector: Connector, domains: Mapping[str, Domain]) -> list[Finding]:
    """What the domains say against it: types, fields, edges and keys that are not theirs."""
    into = connector.file.into
    domain = domains.get(into.domain)
    if domain is None:
        return [_unknown("unknown_domain", "domain", into.domain, domains, doc.where("/into/domain"))]
    type = domain.by_type.get(into.node_type)
    if type is None:
        return [_unknown("unknown_type", "type", into.node_type, domain.by_type, doc.where("/into/node_type"))]
    return [*_fields(doc, connector.file, type), *_edges(doc, connector.file, type, domains)]


def _source(doc: Document) -> tuple[Source | None, list[Finding]]:
    given = cast("dict[str, Any]", doc.data)["source"].get("kind")
    if given in kinds.CONNECTORS:
        return shape.parse(doc, kinds.CONNECTORS[given], at="/source")
    known = list(kinds.CONNECTORS)
    return None, [
        Finding(
            code="not_allowed" if given is not None else "missing_key",
            where=doc.where("/source/kind"),
            message=f"no kind of source is called {given!r}" if given is not None else "the source names no kind",
            expected=" | ".join(known),
            received="" if given is None else str(given),
            hint=suggest.hint_for(str(given), known) if given is not None else "add `kind:`",
        )
    ]


def _expressions(file: File) -> Iterator[tuple[str, str]]:
    """(JSON pointer, expression), in the order of the file."""
    point = document.pointer
    if isinstance(file.map.key, str):
        yield "/map/key", file.map.key
    else:
        yield from ((point("map", "key", i), e) for i, e in enumerate(file.map.key))
    yield from ((point("map", "set", name), e) for name, e in file.map.set.items())
    yield from ((("/map/state", file.map.state),) if file.map.state else ())
    for i, link in enumerate(file.edges):
        for side, end in (("to", link.to), ("from", link.source)):
            if end is not None:
                yield from ((point("edges", i, side, "match", name), e) for name, e in end.match.items())
    yield from ((point("readers", i), e) for i, e in enumerate(file.readers))
    yield from ((point("provenance", name), e) for name, e in file.provenance.items())
    yield from ((("/cursor", file.cursor),) if file.cursor else ())


def _faults(doc: Document, file: File) -> Iterator[Finding]:
    for place, text in _expressions(file):
        for fault in mapping.faults(text):
            yield Finding(
                code="invalid_expression",
                where=doc.where(place),
                message=f"{fault.message} (column {fault.column} of the expression)",
                received=excerpt(text),
                hint=fault.hint or "correct the expression",
            )
    for i, link in enumerate(file.edges):
        if (link.to is None) == (link.source is None):
            yield Finding(
                code="missing_key",
                where=doc.where(document.pointer("edges", i)),
                message="an edge has one other end",
                expected="either to or from",
                hint="write `to: {node_type: .., match: {..}}`",
            )


def _strays(doc: Document, file: File, known: frozenset[str]) -> Iterator[Finding]:
    for place, text in _expressions(file):
        for name in sorted((mapping.columns(text) or frozenset()) - known):
            yield _unknown("unknown_column", "column of this source", name, sorted(known), doc.where(place))


def _schedule(doc: Document, file: File) -> Iterator[Finding]:
    if file.schedule and (problem := report.cron_problem(file.schedule)):
        yield Finding(
            code="invalid_cron",
            where=doc.where("/schedule"),
            message=problem,
            expected="five fields: minute hour day month weekday",
            received=file.schedule,
            hint='write for example "*/15 * * * *"',
        )


def _name(doc: Document, file: File) -> Iterator[Finding]:
    stem = doc.name.rpartition("/")[2].removesuffix(".yaml")
    if file.connector != stem:
        yield Finding(
            code="name_mismatch",
            where=doc.where("/connector"),
            message=f"the connector calls itself {file.connector!r}, its file is named {stem!r}",
            expected=stem,
            received=file.connector,
            hint=f"write `connector: {stem}`, or rename the file",
        )
    elif principal.canonical(f"service:{stem}") is None:
        yield Finding(
            code="invalid_name",
            where=doc.where("/connector"),
            message=f"policies cannot name service:{stem}",
            expected="letters, digits, - and _",
            received=stem,
            hint="rename the file",
        )


def _unknown(code: str, what: str, name: str, known: Any, where: str) -> Finding:
    return Finding(
        code=code,
        where=where,
        message=f"no {what} is called {name!r}",
        expected=", ".join(known),
        received=name,
        hint=suggest.hint_for(name, known),
    )


def _fields(doc: Document, file: File, type: Type) -> Iterator[Finding]:
    if len(file.map.keys) != len(type.key):
        no_key = "a type with a natural key: rows could not be told apart when they come again"
        yield Finding(
            code="key_mismatch",
            where=doc.where("/map/key"),
            message=f"the natural key of {type.type} has {len(type.key)} fields, the connector's {len(file.map.keys)}",
            expected=", ".join(type.key) or no_key,
            received=str(len(file.map.keys)),
            hint="give one expression for each" if type.key else "declare a key in the domain",
        )
    for name in file.map.set:
        place = document.pointer("map", "set", name)
        if name not in type.by_key:
            yield _unknown("unknown_field", f"field of {type.type}", name, type.by_key, doc.where_key(place))
        elif type.by_key[name].server_set:
            yield Finding(
                code="invalid_option",
                where=doc.where_key(place),
                message=f"{name!r} is set by the server",
                hint="leave it out",
            )
    if file.map.state and type.states is None:
        yield _unknown("unknown_field", f"field of {type.type}", "state", type.by_key, doc.where_key("/map/state"))
    if file.readers and not (type.readers and type.readers.field):
        yield Finding(
            code="readers_not_declared",
            where=doc.where_key("/readers"),
            message=f"{type.type} does not take its readers from a field",
            expected="`readers: {from: FIELD}` in the domain",
            hint="declare it, or leave `readers` out",
        )


def _edges(doc: Document, file: File, type: Type, domains: Mapping[str, Domain]) -> Iterator[Finding]:
    known = {e.edge: e for d in domains.values() for e in d.edges}
    types = {t.type: t for d in domains.values() for t in d.types}
    for i, link in enumerate(file.edges):
        edge = known.get(link.edge)
        side = "to" if link.to else "from"
        place = document.pointer("edges", i, side)
        if edge is None:
            where = doc.where(document.pointer("edges", i, "edge"))
            yield _unknown("unknown_edge", "edge", link.edge, known, where)
            continue
        other = types.get(link.end.node_type)
        if other is None:
            yield _unknown("unknown_type", "type", link.end.node_type, types, doc.where(place + "/node_type"))
        elif wrong := _misfit(edge, type.type, other, side):
            yield Finding(code="invalid_option", where=doc.where(place), message=wrong, hint="turn it, or name another")
        elif not _names_one(link.end, other):
            ways = [", ".join(other.key), *(f.key for f in other.unique)]
            yield Finding(
                code="key_mismatch",
                where=doc.where(place + "/match"),
                message=f"match does not name one {other.type}",
                expected=" | ".join(dict.fromkeys(w for w in ways if w)),
                received=", ".join(link.end.match),
                hint="match by the natural key, or by one unique field",
            )


def _misfit(edge: EdgeType, type: str, other: Type, side: str) -> str:
    """Why the edge cannot stand between the two."""
    source, target = (type, other.type) if side == "to" else (other.type, type)
    if source in edge.sources and target in edge.targets:
        return ""
    allowed = f"from {' or '.join(edge.sources)} to {' or '.join(edge.targets)}"
    return f"{edge.edge} leads {allowed}, not from {source} to {target}"


def _names_one(end: End, type: Type) -> bool:
    given = set(end.match)
    return given == set(type.key) or (len(given) == 1 and given <= {f.key for f in type.unique})
