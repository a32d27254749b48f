"""A checked plan as the JSON that the commit function runs: what is locked how, written, and still to be judged.

The fields of its nodes and edges are explained at the types `gate_node` and `gate_edge` (migration 0003).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256
from typing import Any
from uuid import UUID

from ukai.gate import delta as deltas
from ukai.gate import plan as plans
from ukai.gate.author import Author
from ukai.graph import schema
from ukai.kit import canonical, handle, principal

SEE, SHARE, WRITE, DELETE = 1, 2, 3, 4
"""How a node is locked: FOR KEY SHARE, FOR SHARE, FOR NO KEY UPDATE, FOR UPDATE."""

LONGEST_CLAIM = 200
"""Longer values are claimed by their hash: an index row has an end."""

NewId = Callable[[], UUID]
Provenance = Mapping[str, Mapping[str, Any]]
"""Pointer of an operation -> what is known about where its values come from; under "" for all operations."""
_NOTHING: Provenance = {}
_NAMES = re.compile(r"\{([^{}]+)\}")


@dataclass(kw_only=True)
class Program:
    """What goes to the database, and what helps to explain its answer."""

    body: dict[str, Any]
    nodes: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    edges: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    by_node: dict[int, plans.NodePlan] = field(default_factory=dict[int, plans.NodePlan])
    """Node position -> the operation that put it there; ends of edges have none."""
    folded: dict[int, plans.NodePlan] = field(default_factory=dict[int, plans.NodePlan])
    """Position of a new node -> the last operation that was folded into its create: its rules are judged again."""
    problems: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    """What cannot be written in one delta, as problems for `explain`."""


def of(
    plan: plans.Plan,
    *,
    author: Author,
    context: Mapping[str, str],
    known: Mapping[str, str],
    domains: Iterable[schema.Domain],
    inherited: Collection[tuple[str, str]],
    at: datetime,
    new_id: NewId,
    cascade_limit: int,
    provenance: Provenance = _NOTHING,
) -> Program:
    """The program of `plan`.

    `known` maps ids that the delta names to handles, `domains` are those whose versions must still be current when it
    commits, `inherited` the (type, edge) by which readers are taken from a neighbour.
    """
    builder = _Builder(author=author, context=context, known=known, at=at, new_id=new_id, inherited=inherited)
    builder.provenance = provenance
    builder.add(plan)
    return builder.finish(domains=domains, cascade_limit=cascade_limit)


def of_many(
    parts: Iterable[plans.Plan],
    *,
    author: Author,
    known: Mapping[str, str],
    domains: Iterable[schema.Domain],
    inherited: Collection[tuple[str, str]],
    at: datetime,
    new_id: NewId,
    cascade_limit: int,
    provenance: Provenance = _NOTHING,
) -> Program:
    """One program of many deltas, each with refs of its own; a handle may mean what any of them makes.

    The answer names nodes by their handles only.
    """
    builder = _Builder(author=author, context={}, known=known, at=at, new_id=new_id, inherited=inherited)
    builder.provenance = provenance
    named: list[tuple[plans.Plan, dict[str, int], dict[str, tuple[str, str]]]] = []
    for part in parts:
        builder.refs, builder.made = {}, {}
        builder.add_nodes(part)
        named.append((part, builder.refs, builder.made))
    for part, builder.refs, builder.made in named:
        builder.add_edges(part)
    made = builder.finish(domains=domains, cascade_limit=cascade_limit)
    for row in made.nodes:
        row.pop("ref", None)
    return made


def inherited(domains: Iterable[schema.Domain]) -> frozenset[tuple[str, str]]:
    """The (type, edge) by which nodes take their readers from a neighbour."""
    return frozenset((t.type, t.readers.edge) for d in domains for t in d.types if t.readers and t.readers.edge)


def claimed(value: Any) -> str:
    """The text under which a unique value is claimed."""
    text = canonical.dumps(value)
    return text if len(text) <= LONGEST_CLAIM else "sha256:" + sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def path_of(type: schema.Type, domain: str, key: str, values: Mapping[str, Any]) -> str:
    """The node's place in the hierarchy; a field without a value leaves its segment empty."""
    if not type.path:
        return type.default_path(domain, key)
    return _NAMES.sub(lambda m: _text(values.get(m[1])), type.path)


def _text(value: Any) -> str:
    """As `jsonb ->>` writes it, so that an update gives the path that a create would give."""
    if value is None:
        return ""
    return value if isinstance(value, str) else canonical.dumps(value)


def readers_of(type: schema.Type, values: Mapping[str, Any]) -> list[str] | None:
    """Who may read the node: None when the type declares none, empty for nobody (an edge's are filled in later)."""
    if type.readers is None:
        return None
    named: Any = values.get(type.readers.field) if type.readers.field else type.readers.names
    names: list[Any] = [] if named is None else [named] if isinstance(named, str) else list(named)
    # What is no principal is nobody; with no other name left, nobody reads.
    known = {principal.canonical(n) for n in names if isinstance(n, str)}
    return sorted(n for n in known if n is not None)


class _Builder:
    def __init__(
        self,
        *,
        author: Author,
        context: Mapping[str, str],
        known: Mapping[str, str],
        at: datetime,
        new_id: NewId,
        inherited: Collection[tuple[str, str]],
    ) -> None:
        self.context, self.known, self.new_id, self.inherited = context, known, new_id, inherited
        self.at = canonical.dumps(at).strip('"')
        self.by: dict[str, Any] = {"by": str(author), "at": self.at}
        self.provenance: Provenance = _NOTHING
        self.program = Program(body={"author": author.as_json(), "at": self.at})
        self.refs: dict[str, int] = {}
        self.ends: dict[tuple[str, str], int] = {}
        self.claims: list[dict[str, Any]] = []
        self.flags: dict[str, bool] = {}
        self.ids: dict[int, str] = {}
        self.made: dict[str, tuple[str, str]] = {}
        self.undoing = False

    def add(self, plan: plans.Plan) -> None:
        """The operations of one delta."""
        self.add_nodes(plan)
        self.add_edges(plan)

    def add_nodes(self, plan: plans.Plan) -> None:
        """Its nodes."""
        self.undoing = plan.delta.undoing is not None
        for one in plan.nodes:
            if isinstance(one.op, deltas.CreateNode | deltas.UpsertNode):
                self.ids[id(one)] = new = self._new(one.op)
                if one.op.ref:
                    self.made[one.op.ref] = (one.op.node_type, one.key if one.key is not None else new)
        # New nodes first: what points at them may stand before them.
        for one in sorted(plan.nodes, key=lambda n: not isinstance(n.op, deltas.CreateNode | deltas.UpsertNode)):
            self._node(one)

    def add_edges(self, plan: plans.Plan) -> None:
        """Its edges, and the nodes that its ref fields name: all nodes are known by now."""
        for one in plan.nodes:
            self._named(one)
        for one in plan.edges:
            self._edge(one)

    def finish(self, *, domains: Iterable[schema.Domain], cascade_limit: int) -> Program:
        """The program of what was added."""
        body = self.program.body
        body |= {
            "commit": str(self.new_id()),
            "domains": {d.domain: d.version for d in domains},
            "nodes": self.program.nodes,
            "edges": self.program.edges,
            "cascade_limit": cascade_limit,
            **self.flags,
        }
        if self.claims:
            body["claims"] = self.claims
        if self.undoing:
            body["thorough"] = True
        return self.program

    def _new(self, op: deltas.CreateNode | deltas.UpsertNode) -> str:
        back = op.revives if isinstance(op, deltas.CreateNode) else None
        return str(self.new_id() if back is None else back.id)

    def _source(self, op: deltas.Op) -> dict[str, Any]:
        """Who writes, when, and what a connector knows besides."""
        if not self.provenance:
            return self.by
        return {**self.by, **self.provenance.get("", {}), **self.provenance.get(op.at, {}), "by": self.by["by"]}

    def _add(self, row: dict[str, Any], plan: plans.NodePlan | None = None) -> int:
        row["n"] = n = len(self.program.nodes)
        self.program.nodes.append(row)
        if plan is not None:
            self.program.by_node[n] = plan
        return n

    def _node(self, plan: plans.NodePlan) -> None:
        op = plan.op
        if isinstance(op, deltas.CreateNode):
            self._create(plan, op)
        elif isinstance(op, deltas.UpsertNode):
            self._upsert(plan, op)
        elif isinstance(op, deltas.UpdateNode):
            self._update(plan, op)
        else:
            if op.target.kind == "ref":
                row = self.program.nodes[self.refs[op.target.value]]
                twice = {"code": "duplicate_target", "where": op.at, "n": row["n"], "first": row["at"]}
                self.program.problems.append(twice | _of(row))
                return
            row = {"at": op.at, "act": "delete", "mode": DELETE, "prov": self._source(op), **self._target(op.target)}
            self._guards(row, op, plan)
            self._flag("deletes", "counts", "claims_change", *(("heirs",) if self.inherited else ()))
            self.ends[(op.target.kind, op.target.value)] = self._add(row, plan)

    def _named(self, plan: plans.NodePlan | plans.EdgePlan) -> None:
        """The nodes that ref fields name must be there and stay: they are locked like ends of edges."""
        fields: Mapping[str, schema.Field] = plan.type.by_key if plan.type else {}
        for name, targets in plan.refs.items():
            for target in targets:
                if target.kind != "ref":
                    self._end(target, (fields[name].to,) if name in fields and fields[name].to else ())

    def _values(self, plan: plans.NodePlan | plans.EdgePlan) -> dict[str, Any]:
        """The values that are set, refs written as handles where only this half knows them."""
        values = {k: v for k, v in plan.set.items() if v is not None}
        for name, targets in plan.refs.items():
            texts = [self._handle(t) for t in targets]
            values[name] = texts if isinstance(values[name], list) else texts[0]
        return values

    def _handle(self, target: deltas.Target) -> str:
        if target.kind == "ref":
            made = self.made[target.value]
            return f"{made[0]}#{made[1]}"
        value = self.context[target.value] if target.kind == "context_ref" else target.value
        return self.known.get(value, value)

    def _create(self, plan: plans.NodePlan, op: deltas.CreateNode) -> None:
        type, domain = _typed(plan)
        new = self.ids[id(plan)]
        values = self._values(plan)
        key = plan.key if plan.key is not None else new
        row: dict[str, Any] = {
            "at": op.at,
            "act": "create",
            "look": "new",
            "id": new,
            "domain": domain.domain,
            "type": type.type,
            "key": key,
            "set": values,
            "path": path_of(type, domain.domain, key, values),
            "readers": readers_of(type, values),
            "state": plan.to_state,
            "prov": self._source(op),
        }
        if op.ref:
            row["ref"] = op.ref
        if op.revives is not None:
            row |= {"revives": True, "mode": DELETE}
            self._flag("revives")
        self._inherits(row, type)
        self._minimum(domain, type)
        self._flag("creates")
        n = self._add(row, plan)
        if op.revives is not None:
            self.ends[("id", new)] = n
        if op.ref:
            self.refs[op.ref] = n
        self.ends[("handle", f"{type.type}#{key}")] = n  # its handle may stand where its ref may
        self._claim(n, type, values, op, key="set")

    def _upsert(self, plan: plans.NodePlan, op: deltas.UpsertNode) -> None:
        type, domain = _typed(plan)
        new = self.ids[id(plan)]
        given = {**plan.match, **plan.set}
        values = {**plan.match, **self._values(plan)}
        fill = {k: v for k, v in plan.server_set.items() if v is not None}
        whole = fill | values
        key = plan.key if plan.key is not None else new
        initial = type.states.initial if type.states else (None,)
        row: dict[str, Any] = {
            "at": op.at,
            "act": "upsert",
            "id": new,
            "domain": domain.domain,
            "type": type.type,
            "key": key,
            "mode": WRITE,
            "set": values,
            "fill": fill,
            "needs": ["on_create"] if any(r.severity == "error" for r in plan.on_create) else None,
            "path": path_of(type, domain.domain, key, whole),
            "readers": readers_of(type, whole),
            "born": plan.to_state if plan.to_state is not None else next(iter(initial), None),
            "prov": self._source(op),
        }
        if set(plan.match) == set(type.key):
            row["look"] = "key"
        else:
            ((name, value),) = plan.match.items()
            row |= {"look": "claim", "field": name, "value": claimed(value)}
        if op.ref:
            row["ref"] = op.ref
        self._patch(row, type, given, plan)
        self._guards(row, op, plan)
        self._inherits(row, type)
        self._minimum(domain, type)
        self._flag("creates", "updates")
        n = self._add(row, plan)
        if op.ref:
            self.refs[op.ref] = n
        self.ends[("handle", f"{type.type}#{key}")] = n
        self._claim(n, type, values, op, key="set")

    def _update(self, plan: plans.NodePlan, op: deltas.UpdateNode) -> None:
        type, _ = _typed(plan)
        if op.target.kind == "ref":
            self._fold(plan, op)
            return
        row: dict[str, Any] = {
            "at": op.at,
            "act": "update",
            "mode": WRITE,
            "set": self._values(plan),
            "prov": self._source(op),
            **self._target(op.target),
        }
        self._patch(row, type, plan.set, plan)
        if op.stateless:
            row["stateless"] = True
        self._guards(row, op, plan)
        self._flag("updates")
        n = self._add(row, plan)
        self.ends[(op.target.kind, op.target.value)] = n
        self._claim(n, type, row["set"], op, key="set")

    def _fold(self, plan: plans.NodePlan, op: deltas.UpdateNode) -> None:
        """An update of a node that this delta creates is part of its create; of one it may only find, it is refused."""
        n = self.refs[op.target.value]
        row = self.program.nodes[n]
        if row["act"] != "create" or op.if_version is not None or plan.test:
            self.program.problems.append(
                {"code": "duplicate_target", "where": op.at, "n": n, "first": row["at"], **_of(row)}
            )
            return
        type, domain = _typed(plan)
        values = {
            k: v for k, v in {**row["set"], **dict.fromkeys(plan.set), **self._values(plan)}.items() if v is not None
        }
        row |= {"set": values, "path": path_of(type, domain.domain, row["key"], values)}
        row["readers"] = readers_of(type, values)
        row["state"] = row["state"] if plan.to_state is None else plan.to_state
        self.claims = [c for c in self.claims if c["n"] != n]
        self._claim(n, type, values, self.program.by_node[n].op, key="set")
        self.program.folded[n] = plan

    def _patch(self, row: dict[str, Any], type: schema.Type, given: Mapping[str, Any], plan: plans.NodePlan) -> None:
        """What an update (or an upsert that finds a node) must know besides the values."""
        unset = [k for k, v in given.items() if v is None]
        if unset:
            row["unset"] = unset
        frozen = [k for k in given if k in type.key or (k in type.by_key and type.by_key[k].immutable)]
        if row.get("look") == "key":
            frozen = [k for k in frozen if k not in type.key]
        if frozen and not self.undoing:
            row["frozen"] = frozen
        if plan.to_state is not None:
            row["state"] = plan.to_state
            row["sources"] = _sources(type, plan.to_state, undoing=self.undoing)
        if any(name in given for name in _NAMES.findall(type.path)):
            row["template"] = type.path
        if type.readers and type.readers.field and type.readers.field in given:
            row |= {"rereads": True, "readers": readers_of(type, given)}
            if self.inherited:
                row["heirs"] = True
                self._flag("heirs")
        claimed_fields = [f.key for f in type.unique if f.key in given]
        if claimed_fields:
            row["release"] = claimed_fields
            self._flag("claims_change")

    def _claim(self, n: int, type: schema.Type, values: Mapping[str, Any], op: deltas.Op, *, key: str) -> None:
        for f in type.unique:
            if values.get(f.key) is not None:
                where = op.pointer(key, f.key)
                claim = {"n": n, "type": type.type, "name": f.key, "value": claimed(values[f.key]), "where": where}
                self.claims.append(claim)
                self._flag("claims_change")

    def _inherits(self, row: dict[str, Any], type: schema.Type) -> None:
        if type.readers and type.readers.edge:
            row["heirs"] = True
            self._flag("heirs")

    def _minimum(self, domain: schema.Domain, type: schema.Type) -> None:
        for e in domain.edges:
            if (e.min_out and type.type in e.sources) or (e.min_in and type.type in e.targets):
                self._flag("counts")

    def _guards(
        self, row: dict[str, Any], op: deltas.UpdateNode | deltas.UpsertNode | deltas.DeleteNode, plan: plans.NodePlan
    ) -> None:
        if op.if_version is not None:
            row["if_version"] = op.if_version
        if plan.test:
            row["test"] = dict(plan.test)

    def _edge(self, plan: plans.EdgePlan) -> None:
        op, type = plan.op, plan.type
        creates, deletes = isinstance(op, deltas.CreateEdge), isinstance(op, deltas.DeleteEdge)
        out = self._end(op.source, type.sources)
        into = self._end(op.target, type.targets)
        row: dict[str, Any] = {
            "n": len(self.program.edges),
            "at": op.at,
            "act": "create" if creates else "delete" if deletes else "update",
            "id": str(op.revives if isinstance(op, deltas.CreateEdge) and op.revives else self.new_id()),
            "domain": plan.domain.domain,
            "type": type.edge,
            "src": out,
            "dst": into,
            "prov": self._source(op),
        }
        if not deletes:
            row["set"] = self._values(plan)
            row["unset"] = [k for k, v in plan.set.items() if v is None] or None
        if not creates:
            self._flag("edges_change")
            if not isinstance(op, deltas.CreateEdge) and op.if_version is not None:
                row["if_version"] = op.if_version
            if plan.test:
                row["test"] = dict(plan.test)
            frozen = [k for k in plan.set if k in type.by_key and type.by_key[k].immutable]
            if frozen and not deletes and not self.undoing:
                row["frozen"] = frozen
        if isinstance(op, deltas.CreateEdge) and op.revives:
            row["revives"] = True
            self._flag("revives")
        self._named(plan)
        self.program.edges.append(row)
        if creates:
            self._ruled(row, type)
        if deletes:
            self._freed(row, type)
        if creates or deletes:
            self._passes_readers(row, type)

    def _ruled(self, row: dict[str, Any], type: schema.EdgeType) -> None:
        """A side with a maximum is claimed when that is one, and otherwise locked and counted."""
        for end, most, name in (("src", type.max_out, "once_out"), ("dst", type.max_in, "once_in")):
            if most == 1:
                row[name] = True
                self._flag("claims_change")
            elif most is not None:
                self._lock(row[end], WRITE)
                self._flag("counts")
        if type.acyclic:
            row["acyclic"] = True
            self._flag("acyclic")

    def _freed(self, row: dict[str, Any], type: schema.EdgeType) -> None:
        for end, least, most in (("src", type.min_out, type.max_out), ("dst", type.min_in, type.max_in)):
            if most == 1:
                self._flag("claims_change")
            if least:
                self._lock(row[end], WRITE)
                self._flag("counts")

    def _passes_readers(self, row: dict[str, Any], type: schema.EdgeType) -> None:
        """The end that takes its readers from the other is written; the other must keep its own until the commit."""
        for heir, source, types in (("src", "dst", type.sources), ("dst", "src", type.targets)):
            if any((t, type.edge) in self.inherited for t in types):
                self._lock(row[heir], WRITE)
                self.program.nodes[row[heir]]["heirs"] = True
                self._lock(row[source], SHARE)
                self._flag("heirs")

    def _end(self, target: deltas.Target, types: Sequence[str]) -> int:
        if target.kind == "ref":
            return self.refs[target.value]
        known = self.ends.get((target.kind, target.value))
        if known is not None:
            row = self.program.nodes[known]
            if types and not row.get("types") and row.get("look") == "id":
                row["types"] = list(types)
            return known
        row = {"at": target.at, "act": "see", "mode": SEE, "types": list(types) or None, **self._target(target)}
        n = self.ends[(target.kind, target.value)] = self._add(row)
        return n

    def _lock(self, n: int, mode: int) -> None:
        row = self.program.nodes[n]
        if row.get("look") != "new":
            row["mode"] = max(row["mode"], mode)

    def _target(self, target: deltas.Target) -> dict[str, Any]:
        value = self.context[target.value] if target.kind == "context_ref" else target.value
        named = handle.parse(value)
        if named is None:
            return {"look": "id", "id": value}
        return {"look": "key", "type": named.type, "key": named.key}

    def _flag(self, *names: str) -> None:
        self.flags |= dict.fromkeys(names, True)


def _sources(type: schema.Type, state: str, *, undoing: bool) -> list[str | None]:
    """The states from which `state` may be reached. An undo goes back a step that was allowed forwards."""
    if type.states is None:
        return []
    return [*type.states.values, None] if undoing else [t.source for t in type.states.transitions if t.target == state]


def _of(row: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": row["type"], "key": row["key"]}


def _typed(plan: plans.NodePlan) -> tuple[schema.Type, schema.Domain]:
    if plan.type is None or plan.domain is None:
        raise ValueError(f"{plan.op.at} was not checked again once its type was known")
    return plan.type, plan.domain
