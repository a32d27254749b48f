"""A type told to whoever is to write it: fields, kinds, values, states and ways between them, edges, and an example.

Only what the caller may read or write is told; a type of which that is nothing is answered as if it were not there.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from ukai.access.write import Reach
from ukai.gate.rejection import cut
from ukai.graph import kinds, schema
from ukai.graph.catalogue import Catalogue, CompiledType

ANY = frozenset({("*", "*")})
_LIMITS = ("unique", "immutable", "pattern", "min", "max", "exclusive_min", "exclusive_max", "multiple_of")
_SIZES = ("min_length", "max_length", "min_items", "max_items", "unique_items")
_EXAMPLES: Mapping[str, Any] = {
    "string": "text",
    "text": "text",
    "integer": 1,
    "number": "1.5",
    "boolean": True,
    "date": "2026-01-31",
    "datetime": "2026-01-31T09:00:00Z",
    "json": {},
}


class Sight(Protocol):
    """The most that somebody may read and write of the records of a type; `access.Rights` answers so."""

    def readable(self, type: str, fields: frozenset[str]) -> frozenset[str]:
        """Of `fields`, those that may be read of some record."""
        ...

    def writable(self, type: str, fields: frozenset[str]) -> Reach:
        """Of `fields`, those that may be written of some record, and the transitions."""
        ...


@dataclass(frozen=True)
class _All:
    def readable(self, type: str, fields: frozenset[str]) -> frozenset[str]:
        return fields

    def writable(self, type: str, fields: frozenset[str]) -> Reach:
        return Reach(fields=fields, moves=((ANY, frozenset()),))


ALL: Sight = _All()
"""Everything: for the system itself and for tests."""


@dataclass(frozen=True, kw_only=True)
class Described:
    """A type as one caller sees it."""

    compiled: CompiledType
    readable: frozenset[str]
    writable: frozenset[str]
    transitions: tuple[schema.Transition, ...]
    """Those that the caller may take."""
    edges: tuple[schema.EdgeType, ...]
    """At this type, to types that the caller sees something of."""
    linkable: frozenset[str]
    """Of the edges, those that the caller may write."""
    example: Mapping[str, Any] | None
    """A delta that is well formed; None when nothing may be written."""

    @property
    def fields(self) -> tuple[schema.Field, ...]:
        """The fields that the caller may read or write, in declared order."""
        return tuple(f for f in self.compiled.type.fields if f.key in self.readable | self.writable)

    def as_json(self) -> dict[str, Any]:
        """For a program."""
        type, domain = self.compiled.type, self.compiled.domain
        found: dict[str, Any] = {
            "type": type.type,
            "domain": domain.domain,
            "version": domain.version,
            "description": type.description,
            "handle": self.handle,
            "key": list(type.key),
            "fields": [self._field(f) for f in self.fields],
            "states": None,
            "edges": [self._edge(e) for e in self.edges],
            "rules": [{"id": r.id, "message": r.message} for r in self._rules()],
            "example": self.example,
        }
        if type.states is not None and "state" in self.readable | self.writable | _moved(self.transitions):
            found["states"] = {
                "initial": list(type.states.initial),
                "values": list(type.states.values),
                "transitions": [{"from": t.source, "to": t.target} for t in self.transitions],
            }
        return found

    def text(self) -> str:
        """For a model: everything in a few lines."""
        return "\n".join(self._lines())

    @property
    def handle(self) -> str:
        """How a record of the type is named."""
        type = self.compiled.type
        return f"{type.type}#" + (":".join(f"<{k}>" for k in type.key) or "<id>")

    def _lines(self) -> Iterator[str]:
        type, domain = self.compiled.type, self.compiled.domain
        about = f": {type.description}" if type.description else ""
        yield f"{type.type} (domain {domain.domain}, version {domain.version}){about}"
        yield f"handle: {self.handle}"
        yield "fields (! is required, - may not be written by you):"
        for field in self.fields:
            yield f"  {self._marked(field)}: {_told(field)}"
        states = self.as_json()["states"]
        if states is not None:
            yield f"states: {', '.join(states['values'])}; begins in {' | '.join(map(_state, states['initial']))}"
            ways = [f"{_state(t.source)} -> {_state(t.target)}" for t in self.transitions]
            yield f"  you may move: {', '.join(ways) or 'nowhere'}"
        for edge in self.edges:
            mark = "" if edge.edge in self.linkable else "- "
            yield f"edge {mark}{edge.edge}: {'|'.join(edge.sources)} -> {'|'.join(edge.targets)}{_counts(edge)}"
            for field in edge.fields:
                yield f"  {field.key}{'!' if field.required else ''}: {_told(field)}"
        for rule in self._rules():
            yield f"rule {rule.id}: {rule.message}".rstrip(": ")
        if self.example is None:
            yield "you may not write records of this type"
        else:
            yield f"example: {_compact(self.example)}"

    def _rules(self) -> Iterator[schema.Rule]:
        """By their messages: the expressions name fields that the caller may not see."""
        return iter(self.compiled.type.rules if self.writable else ())

    def _marked(self, field: schema.Field) -> str:
        free = field.key in self.writable and not field.server_set
        return f"{'' if free else '- '}{field.key}{'!' if field.required and not field.server_set else ''}"

    def _field(self, field: schema.Field) -> dict[str, Any]:
        found = {"key": field.key, **kinds.expected_value(field), "expected": kinds.expected_of(field)}
        found |= {"required": field.required, "read": field.key in self.readable}
        found["write"] = field.key in self.writable and not field.server_set
        for name in ("server_set", "default", "description", *_LIMITS, *_SIZES):
            value = getattr(field, name)
            found |= {name: value} if value not in (None, "", False) else {}
        return found

    def _edge(self, edge: schema.EdgeType) -> dict[str, Any]:
        counts = {n: getattr(edge, n) for n in ("min_out", "max_out", "min_in", "max_in")}
        return {
            "edge": edge.edge,
            "from": list(edge.sources),
            "to": list(edge.targets),
            **{n: v for n, v in counts.items() if v},
            "write": edge.edge in self.linkable,
            "fields": [
                {"key": f.key, **kinds.expected_value(f), "expected": kinds.expected_of(f), "required": f.required}
                for f in edge.fields
            ],
        }


def of(catalogue: Catalogue, name: str, sight: Sight) -> Described | None:
    """The type `name` as `sight` shows it. None when it is not there, or nothing of it may be read or written."""
    compiled = catalogue.type(name)
    if compiled is None or not _shown(compiled.type, sight):
        return None
    type = compiled.type
    reach = _reach(type, sight)
    declared = type.states.transitions if type.states else ()
    edges = list(_edges(only(catalogue, sight), name))
    linkable = frozenset(e.edge for e in edges if _may_link(e, sight))
    transitions = tuple(t for t in declared if reach.may_move((t.source, t.target)))
    return Described(
        compiled=compiled,
        readable=sight.readable(name, _names(type)),
        writable=reach.fields,
        transitions=transitions,
        edges=tuple(edges),
        linkable=linkable,
        example=_example(compiled, reach.fields, transitions, [e for e in edges if e.edge in linkable]),
    )


def names(catalogue: Catalogue, sight: Sight) -> list[str]:
    """The types of which something may be read or written."""
    return [t for t in catalogue.types() if _sees(catalogue, t, sight)]


def only(catalogue: Catalogue, sight: Sight) -> Catalogue:
    """The catalogue without what `of` would not tell: types, fields, states. Where an edge may be written to a type of
    which nothing may be seen, the type is there with the key by which its records are named.
    """
    found: dict[str, frozenset[str]] = {}
    for name in catalogue.types():
        compiled = catalogue.type(name)
        if compiled is not None and (shown := _shown(compiled.type, sight)):
            found[name] = shown.union(compiled.type.key)  # every handle tells the key
    for name in catalogue.edges():
        edge = catalogue.edge(name)
        if edge is not None and _may_link(edge.type, sight):
            for end in (*edge.type.sources, *edge.type.targets):
                other = catalogue.type(end)
                if other is not None:
                    found.setdefault(end, frozenset(other.type.key))
    return catalogue.only(found)


def _names(type: schema.Type) -> frozenset[str]:
    return frozenset(type.by_key) | ({"state"} if type.states else frozenset[str]())


def _reach(type: schema.Type, sight: Sight) -> Reach:
    return sight.writable(type.type, frozenset(type.by_key))


def _shown(type: schema.Type, sight: Sight) -> frozenset[str]:
    """The fields of which something may be read or written; `state` for a state that may be read or left."""
    reach = _reach(type, sight)
    transitions = type.states.transitions if type.states else ()
    moved = _moved(tuple(t for t in transitions if reach.may_move((t.source, t.target))))
    return sight.readable(type.type, _names(type)) | reach.fields | moved


def _sees(catalogue: Catalogue, name: str, sight: Sight) -> bool:
    found = catalogue.type(name)
    return found is not None and bool(_shown(found.type, sight))


def _edges(catalogue: Catalogue, name: str) -> Iterator[schema.EdgeType]:
    for edge in catalogue.edges():
        found = catalogue.edge(edge)
        if found is not None and name in (*found.type.sources, *found.type.targets):
            yield found.type


def _may_link(edge: schema.EdgeType, sight: Sight) -> bool:
    """An edge is a matter of the record that it leaves: the right to write the field of its name there."""
    return any(edge.edge in sight.writable(s, frozenset({edge.edge})).fields for s in edge.sources)


def _moved(transitions: tuple[schema.Transition, ...]) -> frozenset[str]:
    return frozenset({"state"}) if transitions else frozenset()


def _example(
    compiled: CompiledType,
    writable: frozenset[str],
    transitions: tuple[schema.Transition, ...],
    edges: list[schema.EdgeType],
) -> dict[str, Any] | None:
    """A create where every required field may be written; else an update of what may."""
    type = compiled.type
    needed = {f.key for f in compiled.required} | set(type.key)
    if needed and needed <= writable:
        ops: list[dict[str, Any]] = [
            {
                "kind": "create_node",
                "ref": "$new",
                "node_type": type.type,
                "set": {f.key: _value(f) for f in type.fields if f.key in needed},
            }
        ]
        ops += [
            {"kind": "create_edge", "edge_type": e.edge, "from": {"ref": "$new"}, "to": {"handle": f"{e.targets[0]}#…"}}
            for e in edges
            if type.type in e.sources and e.min_out
        ]
        return {"domain": compiled.domain.domain, "ops": ops}
    free = [f for f in type.fields if f.key in writable and not (f.immutable or f.server_set or f.key in type.key)]
    if not free and not transitions:
        return None
    op: dict[str, Any] = {"kind": "update_node", "target": {"handle": f"{type.type}#…"}}
    op |= {"set": {free[0].key: _value(free[0])}} if free else {}
    op |= {"to_state": transitions[0].target} if transitions else {}
    return {"domain": compiled.domain.domain, "ops": [op]}


def _value(field: schema.Field) -> Any:
    """A value of the right kind and, for simple bounds, inside them."""
    kind = field.any_of[0] if field.any_of else field.kind
    value: Any = _EXAMPLES.get(kind, "text")
    if kind == "enum":
        value = next((v for v in field.values if v is not None), None)
    elif kind == "ref":
        value = f"{field.to or 'Type'}#…"
    elif kind in ("integer", "number", "date", "datetime") and field.min is not None:
        value = field.min
    elif field.pattern is not None:
        value = f"<text matching {field.pattern}>"
    elif isinstance(value, str) and field.min_length and len(value) < field.min_length:
        value = value.ljust(field.min_length, ".")
    elif isinstance(value, str) and field.max_length is not None:
        value = value[: field.max_length]
    return [value] if field.many else value


def _told(field: schema.Field) -> str:
    parts = [kinds.expected_of(field)]
    for name in (*_LIMITS, *_SIZES):
        value = getattr(field, name)
        if value not in (None, False):
            parts.append(name.replace("_", " ") + ("" if value is True else f" {value}"))
    parts += [f"set by the server ({field.server_set})"] if field.server_set else []
    parts += [f"default {_compact(field.default)}"] if field.default is not None else []
    return cut("; ".join(parts), 200) + (f" ({field.description})" if field.description else "")


def _counts(edge: schema.EdgeType) -> str:
    sides = (("out of each", edge.min_out, edge.max_out), ("into each", edge.min_in, edge.max_in))
    told = [f"{low}..{'*' if high is None else high} {side}" for side, low, high in sides if low or high is not None]
    return f" ({', '.join(told)})" if told else ""


def _state(state: str | None) -> str:
    return "null" if state is None else state


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
