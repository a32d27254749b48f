"""A row as a proposal: its expressions evaluated, its modes applied, its edges held against those that stand."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, cast

from ukai import store
from ukai.connect import definition, rows
from ukai.connect.source import Row
from ukai.gate import bulk, door, program
from ukai.graph.catalogue import CompiledType
from ukai.graph.problem import NOTHING, Problem
from ukai.kit import canonical, document, handle
from ukai.kit.finding import Finding, excerpt

Ends = tuple[str, str, str, str]
"""(edge type, `to` | `from`, type and key of the other end)"""
REF = "$row"


@dataclass(frozen=True, slots=True)
class Named:
    """The other end of an edge as a row names it."""

    edge: str
    side: str
    type: str
    values: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Mapped:
    """A row that has become fields."""

    place: str
    values: Mapping[str, Any]
    """The row as it came."""
    key: str
    """As in the node's handle."""
    match: Mapping[str, Any]
    set: Mapping[str, Any]
    state: str | None
    named: tuple[Named, ...]
    provenance: Mapping[str, Any]
    cursor: Any
    content: bytes
    """Hash of what it says: equal for two rows that say the same."""
    size: int
    """Characters of what it says."""


@dataclass(frozen=True, kw_only=True)
class Refused:
    """A row that is not proposed."""

    findings: tuple[Finding, ...]
    key: str | None = None


class Stop(Exception):
    """The pull must not go on: the connector's contract is broken."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.message)
        self.finding = finding


@dataclass(kw_only=True)
class Mapper:
    """Rows of one connector into fields of one type."""

    connector: definition.Connector
    type: CompiledType
    author: str
    notes: dict[str, Finding] = field(default_factory=dict[str, Finding])
    """Told once: values that were let go."""

    def mapped(self, row: Row) -> Mapped | Refused:
        """The row as fields, or what is wrong with it. Raises Stop where the mode is `freeze`."""
        if not door.is_storable(row.values):
            return Refused(findings=(_not_storable(row),))
        found = self.connector.expressions.values(row.values)
        if isinstance(found, list):
            return Refused(findings=tuple(_no_value(row, f.name, f.reason) for f in found))
        file, type = self.connector.file, self.type.type
        match = {name: found[place] for name, place in self._keys}
        if None in match.values() or "" in match.values():
            return Refused(findings=(_no_key(row, type.key),))
        match = {name: self._fitted(row, name, value) for name, value in match.items()}
        key = handle.key_of(cast("list[str]", list(match.values())))
        values = {name: found[place] for name, place in self._places}
        if self.connector.file.mode.types != "discard_row":
            values = {n: w for n, v in values.items() if (w := self._fitted(row, n, v)) is not NOTHING}
        if file.readers:
            self._readers(values, [found[f"/readers/{i}"] for i in range(len(file.readers))])
        named = tuple(self._named(found))
        state = found.get("/map/state")
        content = json.dumps([match, values, state, [(n.edge, n.side, n.type, n.values) for n in named]], default=str)
        sources = {name: found[f"/provenance/{name}"] for name in file.provenance}
        return Mapped(
            place=row.place,
            values=row.values,
            key=key,
            match=match,
            set=values,
            state=None if state is None else str(state),
            named=named,
            provenance={n: str(v) for n, v in sources.items() if v is not None},
            cursor=found.get("/cursor"),
            content=hashlib.blake2b(content.encode("utf-8", "surrogatepass"), digest_size=16).digest(),
            size=len(content),
        )

    @cached_property
    def _keys(self) -> list[tuple[str, str]]:
        """Field of the key, and where its expression stands."""
        keys, single = self.connector.file.map.keys, isinstance(self.connector.file.map.key, str)
        places = ["/map/key"] if single else [f"/map/key/{i}" for i in range(len(keys))]
        return list(zip(self.type.type.key, places, strict=True))

    @cached_property
    def _places(self) -> list[tuple[str, str]]:
        """Other field, and where its expression stands."""
        return [(n, document.pointer("map", "set", n)) for n in self.connector.file.map.set]

    def _fitted(self, row: Row, name: str, value: Any) -> Any:
        """The value as the field holds it, as the mode says where it does not fit; NOTHING lets it go."""
        if value is None:
            return None
        declared, mode = self.type.type.by_key[name], self.connector.file.mode.types
        problems: list[Problem] = []
        canonical_ = self.type.checks[name](value, "", problems) if declared.kind != "ref" else value
        if not problems:
            return canonical_
        first = problems[0]
        if mode == "freeze":
            raise Stop(_misfit(row, name, first, "a value does not fit, and the connector is frozen"))
        if mode == "evolve" and len(problems) == 1 and first.fix is not NOTHING and first.confidence == "exact":
            return first.fix
        if mode == "discard_value" and name not in self.type.type.key and not declared.required:
            self.notes.setdefault(name, _misfit(row, name, first, "values do not fit and are left out", note=True))
            return NOTHING
        return value  # the gate says what is wrong with it

    def _readers(self, values: dict[str, Any], found: list[Any]) -> None:
        readers = self.type.type.readers
        name = readers.field if readers else ""
        names = [str(n) for f in found for n in (cast("list[Any]", f) if isinstance(f, list) else [f]) if n is not None]
        declared = self.type.type.by_key[name]
        values[name] = names if declared.many else names[0] if names else None

    def _named(self, found: Mapping[str, Any]) -> Iterable[Named]:
        for i, link in enumerate(self.connector.file.edges):
            side, end = ("to", link.to) if link.to is not None else ("from", link.end)
            given = {n: found[f"/edges/{i}/{side}/match/{n}"] for n in end.match}
            many = {n: cast("list[Any]", v) for n, v in given.items() if isinstance(v, list)}
            for at in range(max((len(v) for v in many.values()), default=1)):
                values = {n: many[n][at] if n in many and at < len(many[n]) else given[n] for n in given}
                if all(v is not None and not isinstance(v, list) for v in values.values()):
                    yield Named(link.edge, side, end.node_type, values)


async def proposals(
    tx: store.Transaction, mapper: Mapper, chunk: Sequence[Mapped], types: Mapping[str, CompiledType]
) -> list[bulk.Proposal | Refused]:
    """What is proposed for each row, given the edges that stand."""
    links = sorted({n.edge for n in mapper.connector.file.edges})
    stand: dict[str, set[tuple[Ends, bool]]] = {}
    if links and chunk:
        for key, edge, side, type, other, by in await rows.edges(
            tx, mapper.type.type.type, [m.key for m in chunk], links
        ):
            stand.setdefault(key, set()).add(((edge, side, type, other), by == mapper.author))
    found = await _found(tx, chunk, types)
    made: list[bulk.Proposal | Refused] = []
    for mapped in chunk:
        wanted: set[Ends] = set()
        lost: list[Finding] = []
        for named in mapped.named:
            key = found.get(_identity(named), "")
            if key:
                wanted.add((named.edge, named.side, named.type, key))
            else:
                lost.append(_not_there(mapped, named))
        if lost:
            made.append(Refused(findings=tuple(lost), key=mapped.key))
            continue
        made.append(_proposal(mapper, mapped, wanted, stand.get(mapped.key, set())))
    return made


def _proposal(mapper: Mapper, mapped: Mapped, wanted: set[Ends], stand: set[tuple[Ends, bool]]) -> bulk.Proposal:
    type = mapper.type.type
    node: dict[str, Any] = {
        "kind": "upsert_node",
        "node_type": type.type,
        "match": dict(mapped.match),
        "set": {n: v for n, v in mapped.set.items() if n not in mapped.match},
    }
    if mapped.state is not None:
        node["to_state"] = mapped.state
    ops = [node]
    if wanted or stand:
        node["ref"] = REF
        ours = {(link.edge, "to" if link.to else "from", link.end.node_type) for link in mapper.connector.file.edges}
        here: dict[str, str] = {"handle": f"{type.type}#{mapped.key}"}
        gone = [ends for ends, own in stand if own and ends[:3] in ours and ends not in wanted]
        new = wanted - {ends for ends, _ in stand}
        ops += [_edge("delete_edge", ends, here) for ends in sorted(gone)]
        ops += [_edge("create_edge", ends, {"ref": REF}) for ends in sorted(new)]
    sources = {**mapped.provenance, "connector": mapper.connector.name, "place": mapped.place}
    return bulk.Proposal(delta={"ops": ops}, provenance=sources)


def _edge(kind: str, ends: Ends, here: Mapping[str, str]) -> dict[str, Any]:
    edge, side, type, key = ends
    there = {"handle": f"{type}#{key}"}
    source, target = (here, there) if side == "to" else (there, here)
    return {"kind": kind, "edge_type": edge, "from": dict(source), "to": target}


def _identity(named: Named) -> tuple[str, str]:
    return named.type, canonical.dumps(dict(named.values))


async def _found(
    tx: store.Transaction, chunk: Sequence[Mapped], types: Mapping[str, CompiledType]
) -> dict[tuple[str, str], str]:
    """Who is named -> the key of the node: by its natural key as it is written, by a unique field as it is held."""
    found: dict[tuple[str, str], str] = {}
    asked: dict[tuple[str, str], dict[str, tuple[str, str]]] = {}
    for named in {_identity(n): n for mapped in chunk for n in mapped.named}.values():
        owner = types.get(named.type)
        if owner is None:
            continue
        if set(named.values) == set(owner.type.key):
            found[_identity(named)] = handle.key_of(named.values[k] for k in owner.type.key)
        else:
            ((name, value),) = named.values.items()
            problems: list[Problem] = []
            held = program.claimed(owner.checks[name](value, "", problems))
            asked.setdefault((named.type, name), {})[held] = _identity(named)
    for (type, name), wanted in asked.items():
        for value, key in (await rows.holders(tx, type, name, list(wanted))).items():
            found[wanted[value]] = key
    return found


def _no_value(row: Row, place: str, reason: str) -> Finding:
    return Finding(
        code="no_value",
        where=row.place,
        message=f"the expression at {place or 'the connector'} gives no value: {reason}",
        received=excerpt(row.values, 200),
        hint="correct the row, or make the expression take it",
    )


def _not_storable(row: Row) -> Finding:
    # Before the expressions see it: their engine cuts a text at U+0000.
    names = [n for n, v in row.values.items() if not door.is_storable({n: v})]
    first = next(door.not_storable({n: row.values[n] for n in names}))
    return Finding(
        code="too_deep" if first.code == "too_deep" else "format_invalid",
        where=row.place,
        message=f"{', '.join(map(repr, names))}: {first.message}",
        expected=first.expected,
        received=excerpt({n: row.values[n] for n in names}, 200),
        hint="flatten the value" if first.code == "too_deep" else "correct the row, or save the file as UTF-8",
    )


def _no_key(row: Row, key: Sequence[str]) -> Finding:
    return Finding(
        code="key_missing",
        where=row.place,
        message="the row has no key",
        expected=", ".join(key),
        received=excerpt(row.values, 200),
        hint="a row without a key cannot be told from others",
    )


def _misfit(row: Row, name: str, problem: Problem, said: str, *, note: bool = False) -> Finding:
    found = Finding(
        code="value_misfit",
        where=row.place,
        message=f"{name!r}: {said}: {problem.message}",
        expected=problem.expected,
        received=excerpt(problem.received),
        hint="correct the source or the mapping, or choose another mode for types",
    )
    return replace(found, severity="note") if note else found


def _not_there(mapped: Mapped, named: Named) -> Finding:
    told = ", ".join(f"{n} = {v!r}" for n, v in named.values.items())
    return Finding(
        code="unknown_id",
        where=mapped.place,
        message=f"no {named.type} has {told}",
        expected=f"an existing {named.type}",
        received=told,
        hint="bring it in first; the row is tried again at the end of the pull",
    )
