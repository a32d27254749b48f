"""`domains/*.yaml` (or JSON): a domain read from its file, with everything that is wrong with it, by line and column.

The article's JSON form (`type`, `fields`, `states` at the top) is read as a domain of one type. `as_data` writes a
domain back in the same language, which is also how the store keeps it.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Annotated, Any, Literal, cast

from pydantic import Field as Named

from ukai.graph import domain_checks, schema
from ukai.graph.schema import Kind, Policy
from ukai.kit import document, shape
from ukai.kit.finding import Finding, errors

_Names = str | tuple[str, ...]


def read(raw: bytes, *, name: str, others: Collection[str] | None = None) -> tuple[schema.Domain | None, list[Finding]]:
    """The domain in a file. With error findings no domain comes back.

    `others` are the types of the deployment's other domains; None: unknown, so that a type declared nowhere in this
    file is a warning and not an error.
    """
    doc, findings = document.read(raw, name=name)
    if doc is None:
        return None, findings
    domain, more = from_document(doc, others=others, lines=tuple(raw.decode("utf-8-sig").splitlines()))
    return domain, findings + more


def from_data(data: Any, *, name: str = "domain") -> tuple[schema.Domain | None, list[Finding]]:
    """The domain in plain data: what `as_data` wrote, or a body that came over HTTP. `where` names no lines."""
    return from_document(document.Document(name=name, data=data), others=None)


def from_document(
    doc: document.Document, *, others: Collection[str] | None, lines: tuple[str, ...] = ()
) -> tuple[schema.Domain | None, list[Finding]]:
    """The domain in a document that was read already."""
    single = _is_type(doc.data)
    if single:
        alone, findings = shape.parse(doc, _Type)
        parsed = _Domain(domain=_snake(alone.type), types=(alone,)) if alone else None
    else:
        parsed, findings = shape.parse(doc, _Domain)
    if parsed is None:
        return None, findings
    domain = _domain(parsed)
    places = domain_checks.Places(doc=doc, single=single, lines=lines)
    findings = findings + domain_checks.findings(domain, places, others=others)
    findings.sort(key=_place_of)
    return (None if errors(findings) else domain), findings


def read_options(doc: document.Document, *, at: str, key: str) -> tuple[schema.Field | None, list[Finding]]:
    """A field whose name stands elsewhere: the options at `at` (what a step of a workflow emits)."""
    read, findings = shape.parse(doc, _Options, at=at)
    if read is None:
        return None, findings
    field = _of_options(key, read)
    findings = findings + domain_checks.field_findings(field, doc, at=at)
    return (None if errors(findings) else field), findings


def as_data(domain: schema.Domain) -> dict[str, Any]:
    """The domain in the language of its file (without its version), what is left at its default left out."""
    found: dict[str, Any] = {"domain": domain.domain}
    if domain.description:
        found["description"] = domain.description
    found["types"] = [_type_data(t) for t in domain.types]
    found["edges"] = [_edge_data(e) for e in domain.edges]
    return found


def _is_type(data: Any) -> bool:
    return "type" in data and "domain" not in data if isinstance(data, dict) else False


def _place_of(finding: Finding) -> tuple[int, int]:
    _, line, column = finding.where.rsplit(":", 2)
    return int(line), int(column)


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


# The language of the file.


@dataclass(frozen=True, kw_only=True)
class _Options:
    __pydantic_config__ = shape.STRICT
    kind: Kind | None = None
    any_of: tuple[Kind, ...] = ()
    many: Annotated[bool, Named(alias="list")] = False
    required: bool = False
    unique: bool = False
    immutable: bool = False
    sensitive: bool = False
    default: Any = None
    server_set: Literal["author", "now"] | None = None
    values: tuple[str | int | float | bool | None, ...] = ()
    to: str = ""
    places: int | None = None
    pattern: str | None = None
    min: int | float | str | None = None
    max: int | float | str | None = None
    exclusive_min: int | float | str | None = None
    exclusive_max: int | float | str | None = None
    multiple_of: int | float | str | None = None
    min_length: int | None = None
    max_length: int | None = None
    min_items: int | None = None
    max_items: int | None = None
    unique_items: bool = False
    schema: Any = None
    description: str = ""


@dataclass(frozen=True, kw_only=True)
class _Field(_Options):
    __pydantic_config__ = shape.STRICT
    key: str


@dataclass(frozen=True, kw_only=True)
class _Transition:
    __pydantic_config__ = shape.STRICT
    source: Annotated[str | None, Named(alias="from")]
    target: Annotated[str | None, Named(alias="to")]


@dataclass(frozen=True, kw_only=True)
class _States:
    __pydantic_config__ = shape.STRICT
    values: tuple[str, ...]
    initial: tuple[str | None, ...] | None = None
    transitions: tuple[_Transition, ...] = ()


@dataclass(frozen=True, kw_only=True)
class _Rule:
    __pydantic_config__ = shape.STRICT
    id: str
    require: str
    message: str = ""
    severity: Literal["error", "warning"] = "error"


@dataclass(frozen=True, kw_only=True)
class _Readers:
    __pydantic_config__ = shape.STRICT
    field: Annotated[str, Named(alias="from")] = ""
    edge: str = ""


@dataclass(frozen=True, kw_only=True)
class _Passages:
    __pydantic_config__ = shape.STRICT
    source: Annotated[str, Named(alias="from")]
    text: str
    speaker: str = ""
    at: str = ""
    part: str = "turn"


@dataclass(frozen=True, kw_only=True)
class _Type:
    __pydantic_config__ = shape.STRICT
    type: str
    key: _Names = ()
    path: str = ""
    readers: tuple[str, ...] | _Readers | None = None
    text: _Names = ()
    fields: tuple[_Field, ...] = ()
    states: _States | None = None
    rules: tuple[_Rule, ...] = ()
    passages: _Passages | None = None
    description: str = ""


@dataclass(frozen=True, kw_only=True)
class _OnDelete:
    __pydantic_config__ = shape.STRICT
    source: Annotated[Policy, Named(alias="from")] = "reject"
    target: Annotated[Policy, Named(alias="to")] = "reject"


@dataclass(frozen=True, kw_only=True)
class _Edge:
    __pydantic_config__ = shape.STRICT
    edge: str
    sources: Annotated[_Names, Named(alias="from")]
    targets: Annotated[_Names, Named(alias="to")]
    min_out: int = 0
    max_out: int | None = None
    min_in: int = 0
    max_in: int | None = None
    acyclic: bool = False
    self_edges: bool = True
    on_delete: _OnDelete | None = None
    owns: Literal["from", "to"] | None = None
    fields: tuple[_Field, ...] = ()
    description: str = ""


@dataclass(frozen=True, kw_only=True)
class _Domain:
    __pydantic_config__ = shape.STRICT
    domain: str
    types: tuple[_Type, ...] = ()
    edges: tuple[_Edge, ...] = ()
    description: str = ""


# From the file's words to the room's values.

_SAME_FIELD = (
    *("any_of", "many", "required", "unique", "immutable", "sensitive", "default", "values", "to", "places"),
    *("pattern", "min", "max", "exclusive_min", "exclusive_max", "multiple_of", "min_length", "max_length"),
    *("min_items", "max_items", "unique_items", "schema", "description"),
)


def _domain(read: _Domain) -> schema.Domain:
    return schema.Domain(
        domain=read.domain,
        types=tuple(map(_type, read.types)),
        edges=tuple(map(_edge, read.edges)),
        description=read.description,
    )


def _type(read: _Type) -> schema.Type:
    return schema.Type(
        type=read.type,
        key=_names(read.key) or _key_of(read.fields),
        path=read.path,
        readers=_readers(read.readers),
        text=_names(read.text),
        fields=tuple(map(_field, read.fields)),
        states=_states(read.states) if read.states else None,
        rules=tuple(
            schema.Rule(id=r.id, require=r.require, message=r.message, severity=r.severity) for r in read.rules
        ),
        passages=schema.Passages(**vars(read.passages)) if read.passages else None,
        description=read.description,
    )


def _key_of(fields: tuple[_Field, ...]) -> tuple[str, ...]:
    """Of a type that names no key: its first field that every node has and no two share."""
    return tuple(f.key for f in fields if f.required and f.unique and not f.many and not f.any_of)[:1]


def _names(read: _Names) -> tuple[str, ...]:
    return (read,) if isinstance(read, str) else read


def _readers(read: tuple[str, ...] | _Readers | None) -> schema.Readers | None:
    if read is None:
        return None
    return schema.Readers(names=read) if isinstance(read, tuple) else schema.Readers(field=read.field, edge=read.edge)


def _states(read: _States) -> schema.States:
    return schema.States(
        values=read.values,
        initial=read.values[:1] if read.initial is None else read.initial,
        transitions=tuple(schema.Transition(source=t.source, target=t.target) for t in read.transitions),
    )


def _field(read: _Field) -> schema.Field:
    return _of_options(read.key, read)


def _of_options(key: str, read: _Options) -> schema.Field:
    same = {name: getattr(read, name) for name in _SAME_FIELD}
    return schema.Field(key=key, kind=read.kind or "json", server_set=read.server_set or "", **same)


def _edge(read: _Edge) -> schema.EdgeType:
    on_delete = read.on_delete or _OnDelete()
    return schema.EdgeType(
        edge=read.edge,
        sources=_names(read.sources),
        targets=_names(read.targets),
        min_out=read.min_out,
        max_out=read.max_out,
        min_in=read.min_in,
        max_in=read.max_in,
        acyclic=read.acyclic,
        self_edges=read.self_edges,
        on_delete=schema.OnDelete(source=on_delete.source, target=on_delete.target),
        owns="source" if read.owns == "from" else "target" if read.owns == "to" else "",
        fields=tuple(map(_field, read.fields)),
        description=read.description,
    )


# And back.

_COUNTS = ("min_out", "max_out", "min_in", "max_in")
_WRITTEN = {"many": "list", "sources": "from", "targets": "to", "source": "from", "target": "to"}


def _type_data(type: schema.Type) -> dict[str, Any]:
    found = _plain(type, "type", "key", "path", "text", "description")
    readers = type.readers
    if readers is not None:
        by = {"from": readers.field, "edge": readers.edge}
        found["readers"] = {k: v for k, v in by.items() if v} or list(readers.names)
    found["fields"] = [_field_data(f) for f in type.fields]
    if type.states is not None:
        found["states"] = {
            "values": list(type.states.values),
            "initial": list(type.states.initial),
            "transitions": [{"from": t.source, "to": t.target} for t in type.states.transitions],
        }
    if type.rules:
        found["rules"] = [_plain(r, "id", "require", "message", "severity") for r in type.rules]
    if type.passages is not None:
        p = type.passages
        found["passages"] = {"from": p.source, "text": p.text, "speaker": p.speaker, "at": p.at, "part": p.part}
    return found


def _field_data(field: schema.Field) -> dict[str, Any]:
    kind = {} if field.any_of else {"kind": field.kind}
    return {"key": field.key, **kind, **_plain(field, *_SAME_FIELD, "server_set")}


def _edge_data(edge: schema.EdgeType) -> dict[str, Any]:
    found = _plain(
        edge, "edge", "sources", "targets", "min_out", "max_out", "min_in", "max_in", "acyclic", "description"
    )
    found["on_delete"] = {"from": edge.on_delete.source, "to": edge.on_delete.target}
    if not edge.self_edges:
        found["self_edges"] = False
    if edge.owns:
        found["owns"] = _WRITTEN[edge.owns]
    if edge.fields:
        found["fields"] = [_field_data(f) for f in edge.fields]
    return found


def _plain(value: Any, *names: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in names:
        part = getattr(value, name)
        if part is None or (name != "default" and part in ((), "")) or (part is False and name != "default"):
            continue
        if name in _COUNTS and part == 0:
            continue
        found[_WRITTEN.get(name, name)] = list(cast("tuple[Any, ...]", part)) if isinstance(part, tuple) else part
    return found
