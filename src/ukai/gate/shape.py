"""Layer 1: is the change well formed against the domains? All of it in memory, all findings at once.

What comes back is either a `Plan` with canonical values for the database half, or every rejection: earliest operation
first, root causes before what follows from them, and nothing that only follows from an unresolved `$ref`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ukai.gate import codes, keys
from ukai.gate import delta as deltas
from ukai.gate import plan as plans
from ukai.gate.author import Author
from ukai.gate.rejection import Rejection, reject
from ukai.gate.rights import ALL, Rights
from ukai.gate.rules import conditions, counts, edges, fields, references, repeats, states
from ukai.gate.scene import UNKNOWN, Later, Scene
from ukai.graph.catalogue import Catalogue, CompiledEdge, CompiledType
from ukai.kit import handle, suggest
from ukai.kit.finding import errors

_OP = re.compile(r"(?:/rows/\d+)?/ops/(\d+)(?:/items/(\d+))?")
_CAUSES = frozenset(
    {"unresolved_ref", "duplicate_ref", "edge_direction", "edge_endpoint_type", "unknown_edge_kind", "unknown_type"}
)
"""After these, an edge that seems to be missing may only be misnamed."""
_RANK = {"refs": 0, "parse": 0, "schema": 1, "state": 2, "edges": 3, "unique": 4, "rules": 5}


@dataclass(frozen=True, kw_only=True)
class Checked:
    """The verdict of layer 1."""

    plan: plans.Plan | None
    """None when anything stops."""
    rejections: tuple[Rejection, ...]
    """Errors, and warnings that do not stop (`plan.warnings` has them too)."""
    scene: Scene


def check(
    delta: deltas.Delta,
    catalogue: Catalogue,
    *,
    author: Author,
    now: datetime,
    context: Mapping[str, str] | None = None,
    known: Mapping[str, str] | None = None,
    rights: Rights = ALL,
) -> Checked:
    """Judge a delta. `context` maps what the run holds to handles or ids; None when that is not known here. `known` are
    handles by id. What is told holds no value that `rights` may not read, but those of the delta.
    """
    scene = Scene(
        delta=delta, catalogue=catalogue, author=author.id, now=now, context=context, known=known or {}, rights=rights
    )
    if delta.domain and delta.domain not in catalogue.domains:
        return Checked(plan=None, rejections=(_unknown_domain(delta, catalogue),), scene=scene)
    judge = _Judge(scene)
    judge.run()
    told = _ordered(judge.out)
    if errors(told):
        return Checked(plan=None, rejections=told, scene=scene)
    plan = plans.Plan(delta=delta, nodes=tuple(judge.nodes), edges=tuple(judge.edges), warnings=told)
    return Checked(plan=plan, rejections=told, scene=scene)


def recheck(node: plans.NodePlan, type_name: str, scene: Scene) -> tuple[plans.NodePlan | None, tuple[Rejection, ...]]:
    """An operation whose target's type was unknown, judged now that the node was read."""
    owner = scene.catalogue.type(type_name)
    if owner is None or not isinstance(node.op, deltas.UpdateNode | deltas.DeleteNode):
        raise ValueError(f"no update of a known type: {type_name!r}")
    judge = _Judge(scene)
    judge.change(node.op, owner)
    judge.finish()
    told = _ordered(judge.out)
    return (None if errors(told) else judge.nodes[0]), told


class _Judge:
    """One pass over the operations."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.out: list[Rejection] = []
        self.nodes: list[plans.NodePlan] = []
        self.edges: list[plans.EdgePlan] = []

    def run(self) -> None:
        scene = self.scene
        self.out += references.repeated(scene)
        for op in scene.delta.singles():
            if isinstance(op, deltas.CreateNode):
                self.create(op)
            elif isinstance(op, deltas.UpsertNode):
                self.upsert(op)
            elif isinstance(op, deltas.UpdateNode | deltas.DeleteNode):
                self.retarget(op)
            else:
                self.edge(op)
        self.out += repeats.targets(scene)
        self.out += repeats.edges(scene)
        self.out += counts.most(scene)
        if not any(r.code in _CAUSES for r in self.out):
            self.out += counts.least(scene)
        self.finish()
        self.out += repeats.nodes([n for n in self.nodes if isinstance(n.op, deltas.CreateNode)])
        self.conditions()

    # Nodes.

    def create(self, op: deltas.CreateNode) -> None:
        owner = self.owner(op, op.node_type)
        if owner is None:
            return
        missing = fields.missing(owner, op.set)
        self.out += fields.unknown(op, owner, op.set, "set", missing)
        values = fields.checked(self.scene, op, owner, op.set, self.out, creates=True)
        self.out += fields.told_missing(op, owner, missing)
        if op.revives is not None:  # as it was, in whichever state
            self.out += states.unknown(op, owner, op.to_state) if op.to_state is not None else ()
            self.nodes.append(_node(op, owner, set=values, to_state=op.to_state))
            return
        self.out += states.initial(op, owner, op.to_state)
        filled = self.filled(owner, op.set)
        self.nodes.append(
            _node(op, owner, set={**filled, **values}, filled=filled, to_state=states.first(owner, op.to_state))
        )

    def upsert(self, op: deltas.UpsertNode) -> None:
        owner = self.owner(op, op.node_type)
        if owner is None:
            return
        both = {**op.match, **op.set}
        missing = fields.missing(owner, both)
        self.out += fields.unknown(op, owner, op.match, "match", missing)
        self.out += fields.unknown(op, owner, op.set, "set", missing)
        match = fields.checked(self.scene, op, owner, op.match, self.out, part="match", creates=True)
        values = fields.checked(self.scene, op, owner, op.set, self.out)
        test = self.test(op, owner)
        self.out += _match(op, owner)
        if op.to_state is not None:
            self.out += states.unknown(op, owner, op.to_state)
        on_create = (*fields.told_missing(op, owner, missing), *states.initial(op, owner, op.to_state))
        self.nodes.append(
            _node(
                op,
                owner,
                set=values,
                match=match,
                test=test,
                filled=self.filled(owner, both),
                to_state=op.to_state,
                on_create=tuple(r for r in on_create if r.code != "state_unknown"),
            )
        )

    def retarget(self, op: deltas.UpdateNode | deltas.DeleteNode) -> None:
        broken = list(references.target(self.scene, op, op.target))
        if op.node_type and self.scene.type(op.node_type) is None:
            broken.append(self.unknown_type(op, op.node_type, op.pointer("node_type")))
        self.out += broken
        if broken:
            return
        owner = self.scene.type_of(op.target, op.node_type)
        if isinstance(owner, CompiledType):
            self.out += _stated(op, owner)
            self.change(op, owner)
        elif owner is UNKNOWN:
            update = op if isinstance(op, deltas.UpdateNode) else None
            given, to_state = (dict(update.set), update.to_state) if update else (None, None)
            self.nodes.append(_node(op, None, set=given, test=dict(op.test), to_state=to_state))

    def change(self, op: deltas.UpdateNode | deltas.DeleteNode, owner: CompiledType) -> None:
        """An update or delete of a node whose type is known."""
        test = self.test(op, owner)
        if isinstance(op, deltas.DeleteNode):
            self.nodes.append(_node(op, owner, test=test))
            return
        self.out += fields.unknown(op, owner, op.set, "set", [])
        values = fields.checked(self.scene, op, owner, op.set, self.out)
        if self.scene.delta.undoing is None:
            self.out += fields.immutable(op, owner, op.set, _known_key(self.scene, op.target, owner))
        self.out += self.step(op, owner)
        self.nodes.append(_node(op, owner, set=values, test=test, to_state=op.to_state))

    def step(self, op: deltas.UpdateNode, owner: CompiledType) -> Iterable[Rejection]:
        """The transition, as far as the delta itself tells where it starts."""
        if op.to_state is not None and self.scene.delta.undoing is not None:
            return states.unknown(op, owner, op.to_state)
        if op.to_state is None or owner.type.states is None:
            return states.reachable(op, owner, op.to_state)
        maker = self.scene.refs.get(op.target.value) if op.target.kind == "ref" else None
        if isinstance(maker, deltas.CreateNode):
            start = states.first(owner, maker.to_state)
        elif "state" in op.test:
            start = op.test["state"]
        else:
            return states.reachable(op, owner, op.to_state)
        return (*states.unknown(op, owner, op.to_state), *states.transition(op, owner, start, op.to_state))

    def test(self, op: Any, owner: CompiledType | CompiledEdge) -> dict[str, Any]:
        given = dict(op.test)
        if not given:
            return given
        state = given.pop("state", None) if isinstance(owner, CompiledType) and owner.type.states is not None else None
        self.out += fields.unknown(op, owner, given, "test", [])
        values = fields.checked(self.scene, op, owner, given, self.out, part="test")
        return {**values, "state": state} if "state" in op.test and "state" not in given else values

    def filled(self, owner: CompiledType | CompiledEdge, given: Mapping[str, Any]) -> dict[str, Any]:
        """Defaults and what the server sets, canonical."""
        found: dict[str, Any] = {}
        for field in owner.filled:
            if field.key in given:
                continue
            value = field.default
            if field.server_set:
                stamp = self.scene.now.isoformat()
                value = (
                    self.scene.author if field.server_set == "author" else stamp[:10] if field.kind == "date" else stamp
                )
            found[field.key] = owner.checks[field.key](value, "", [])
        return found

    # Edges.

    def edge(self, op: edges.EdgeOp) -> None:
        owner = self.scene.catalogue.edge(op.edge_type)
        if owner is None or self.scene.delta.domain not in ("", owner.domain.domain):
            told = self.unknown_edge(op)
            self.out += [told] if told not in self.out else []
            return
        self.out += edges.ends(self.scene, op, owner)
        creates = isinstance(op, deltas.CreateEdge)
        given: Mapping[str, Any] = {} if isinstance(op, deltas.DeleteEdge) else op.set
        missing = fields.missing(owner, given) if creates else []
        self.out += fields.unknown(op, owner, given, "set", missing)
        values = fields.checked(self.scene, op, owner, given, self.out, creates=creates)
        self.out += fields.told_missing(op, owner, missing)
        test = {} if isinstance(op, deltas.CreateEdge) else self.test(op, owner)
        back = isinstance(op, deltas.CreateEdge) and op.revives is not None
        filled = self.filled(owner, given) if creates and not back else {}
        self.edges.append(
            plans.EdgePlan(op=op, type=owner.type, domain=owner.domain, set={**filled, **values}, test=test)
        )

    # Names.

    def owner(self, op: deltas.CreateNode | deltas.UpsertNode, name: str) -> CompiledType | None:
        """The type that a create names. A name that differs only in spelling is told, and judging goes on with it."""
        found = self.scene.type(name)
        if found is None:
            told = self.unknown_type(op, name, _batch_pointer(op.at, "node_type"))
            self.out += [told] if told not in self.out else []
            meant = suggest.suggest(name, self.scene.catalogue.types(self.scene.delta.domain))
            found = self.scene.type(meant.name) if meant and meant.confidence == "exact" else None
        return found

    def unknown_type(self, op: deltas.Op, name: str, where: str) -> Rejection:
        known = self.scene.catalogue.types(self.scene.delta.domain)
        return self._unknown("unknown_type", "node type", op, name, where, known, self.scene.catalogue.type(name))

    def unknown_edge(self, op: edges.EdgeOp) -> Rejection:
        known = self.scene.catalogue.edges(self.scene.delta.domain)
        where = _batch_pointer(op.at, "edge_type")
        elsewhere = self.scene.catalogue.edge(op.edge_type)
        return self._unknown("unknown_edge_kind", "edge type", op, op.edge_type, where, known, elsewhere)

    def _unknown(
        self,
        code: str,
        what: str,
        op: deltas.Op,
        name: str,
        where: str,
        known: list[str],
        elsewhere: CompiledType | CompiledEdge | None,
    ) -> Rejection:
        meant = suggest.suggest(name, known)
        hint = f"write {meant.name!r}" if meant else suggest.hint_for(name, known)
        if elsewhere is not None:
            hint = f"{name!r} belongs to the domain {elsewhere.domain.domain!r}: name that domain, or none"
        return reject(
            code,
            where=where,
            message=f"no {what} is called {name!r}",
            expected=", ".join(known),
            received=name,
            hint=hint,
            patch=[{"op": "replace", "path": where, "value": meant.name}] if meant and not elsewhere else [],
            confidence=meant.confidence if meant else None,
            op=op.kind,
            ref=getattr(op, "ref", ""),
            type=name,
            expected_value={"names": known},
            received_value={"kind": "string", "value": name},
        )

    # What needs all operations to be read.

    def finish(self) -> None:
        """Keys of new nodes, and refs as handles."""
        self.nodes, self.edges, told = keys.settled(self.scene, self.nodes, self.edges)
        self.out += told

    def conditions(self) -> None:
        """Rules of new nodes whose values hold; those of others wait for the node to be read."""
        broken = {_op_of(r.where) for r in self.out if r.severity == "error"}
        for node in self.nodes:
            if not isinstance(node.op, deltas.CreateNode) or node.type is None or not node.type.rules:
                continue
            if _op_of(node.op.at) not in broken and not any(isinstance(v, Later) for v in node.set.values()):
                owner = self.scene.catalogue.type(node.type.type)
                new = dict(node.set) if node.type.states is None else {**node.set, "state": node.to_state}
                if owner is not None:
                    undoing = self.scene.delta.undoing is not None
                    self.out += conditions.judged(
                        node.op,
                        owner,
                        new=new,
                        old=None,
                        author=self.scene.author,
                        undoing=undoing,
                        seen=conditions.seen_of_new(node.type.type, node.op.set, self.scene.rights),
                    )


def _node(
    op: Any,
    owner: CompiledType | None,
    *,
    set: dict[str, Any] | None = None,
    match: dict[str, Any] | None = None,
    test: dict[str, Any] | None = None,
    filled: dict[str, Any] | None = None,
    to_state: str | None = None,
    on_create: tuple[Rejection, ...] = (),
) -> plans.NodePlan:
    return plans.NodePlan(
        op=op,
        type=owner.type if owner else None,
        domain=owner.domain if owner else None,
        set=set or {},
        server_set=filled or {},
        test=test or {},
        match=match or {},
        key=None,
        to_state=to_state,
        on_create=on_create,
    )


def _match(op: deltas.UpsertNode, owner: CompiledType) -> Iterable[Rejection]:
    given = set(op.match)
    unique = [f.key for f in owner.type.unique]
    if given == set(owner.type.key) or (len(given) == 1 and given <= set(unique)):
        if given:
            return
    elif given - set(owner.type.by_key):
        return  # told as unknown fields
    ways = [", ".join(owner.type.key), *unique] if owner.type.key else unique
    yield reject(
        "malformed_delta",
        where=op.pointer("match"),
        message=f"match does not name one {owner.type.type}",
        expected=" | ".join(f"{{{w}}}" for w in dict.fromkeys(ways)) or "a type with a natural key or a unique field",
        received=", ".join(op.match) or "nothing",
        hint="match by the natural key or by one unique field, and put the other fields into 'set'",
        op=op.kind,
        ref=op.ref,
        type=owner.type.type,
        expected_value={"key": list(owner.type.key), "unique": unique},
    )


def _stated(op: deltas.UpdateNode | deltas.DeleteNode, owner: CompiledType) -> Iterable[Rejection]:
    if op.node_type and op.node_type != owner.type.type:
        yield reject(
            "ref_type_mismatch",
            where=op.pointer("node_type"),
            message=f"{op.target} is a {owner.type.type}, not a {op.node_type}",
            expected=owner.type.type,
            received=op.node_type,
            hint="name the type of the target, or omit node_type",
            op=op.kind,
            ref=str(op.target),
            type=op.node_type,
        )


def _known_key(scene: Scene, target: deltas.Target, owner: CompiledType) -> dict[str, str]:
    parsed = handle.parse(scene.same(target)) if target.kind in ("handle", "context_ref") else None
    return dict(zip(owner.type.key, parsed.values, strict=False)) if parsed else {}


def _unknown_domain(delta: deltas.Delta, catalogue: Catalogue) -> Rejection:
    known = list(catalogue.domains)
    meant = suggest.suggest(delta.domain, known)
    return reject(
        "unknown_domain",
        where="/domain",
        message=f"no domain is called {delta.domain!r}",
        expected=", ".join(known),
        received=delta.domain,
        hint=f"write {meant.name!r}" if meant else suggest.hint_for(delta.domain, known),
        patch=[{"op": "replace", "path": "/domain", "value": meant.name}] if meant else [],
        confidence=meant.confidence if meant else None,
    )


def _batch_pointer(at: str, member: str) -> str:
    """Inside a batch the type stands at the batch."""
    return f"{at.partition('/items/')[0]}/{member}"


def _op_of(where: str) -> tuple[int, ...]:
    found = _OP.match(where)
    return tuple(int(g) for g in found.groups() if g is not None) if found else ()


def _ordered(told: Iterable[Rejection]) -> tuple[Rejection, ...]:
    def place(r: Rejection) -> tuple[Any, ...]:
        group = codes.CODES[r.code].group if r.code in codes.CODES else ""
        return (_op_of(r.where), _RANK.get(group, 6))

    return tuple(sorted(told, key=place))
