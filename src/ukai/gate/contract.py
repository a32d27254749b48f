"""Layer 2: does a well-formed proposal deliver what its step was to produce? Shape, never values (W7).

Two structures in memory are compared: the contract and the delta. No database, nothing simulated.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import Field as Named

from ukai.gate import delta as deltas
from ukai.gate import wording
from ukai.gate.rejection import Rejection, reject
from ukai.gate.scene import Scene
from ukai.graph import kinds
from ukai.graph.catalogue import CompiledType
from ukai.kit import document, shape, suggest
from ukai.kit.finding import Finding

Unexpected = Literal["reject", "warn", "allow"]
_SINGLE = {"create_nodes_batch": "create_node", "create_edges_batch": "create_edge"}
"""A batch promises what its items are."""


@dataclass(frozen=True, kw_only=True)
class Named_:
    """A node, named by what the run holds, by a ref of the delta, or by its handle. Exactly one is filled."""

    __pydantic_config__ = shape.STRICT
    context_ref: str = ""
    ref: str = ""
    handle: str = ""

    def __str__(self) -> str:
        return next((f"{k}:{v}" for k, v in vars(self).items() if v), "nothing")

    def target(self) -> deltas.Target:
        """The same as a delta would name it."""
        kind, value = next(((k, v) for k, v in vars(self).items() if v), ("ref", ""))
        return deltas.Target(kind=kind, value=value, at="")  # type: ignore[arg-type]


@dataclass(frozen=True, kw_only=True)
class Count:
    """How many operations of a kind."""

    __pydantic_config__ = shape.STRICT
    min: int = 1
    max: int | None = None

    def __str__(self) -> str:
        if self.max is None:
            return f"at least {self.min}"
        return f"exactly {self.min}" if self.min == self.max else f"{self.min} to {self.max}"


@dataclass(frozen=True, kw_only=True)
class Produced:
    """One operation, or a number of them, that the step was to author."""

    __pydantic_config__ = shape.STRICT
    kind: Literal[
        "create_node",
        "update_node",
        "upsert_node",
        "delete_node",
        "create_edge",
        "update_edge",
        "delete_edge",
        "create_nodes_batch",
        "create_edges_batch",
    ]
    node_type: str = ""
    edge_type: str = ""
    target: Named_ | None = None
    source: Annotated[Named_ | None, Named(alias="from")] = None
    """Of an edge."""
    end: Annotated[Named_ | None, Named(alias="to")] = None
    """Of an edge."""
    required_fields: tuple[str, ...] = ()
    """Fields that each such operation sets to a value; `to_state` stands for a step to another state."""
    count: int | Count | None = None
    """None: at least one."""

    @property
    def single(self) -> str:
        """The kind, a batch as the kind of its items."""
        return _SINGLE.get(self.kind, self.kind)

    @property
    def counted(self) -> Count:
        """How many are due."""
        if isinstance(self.count, int):
            return Count(min=self.count, max=self.count)
        return self.count or Count()

    def __str__(self) -> str:
        required = f" (required: {', '.join(self.required_fields)})" if self.required_fields else ""
        return f"{self.kind} {self.node_type or self.edge_type}".rstrip() + required


@dataclass(frozen=True, kw_only=True)
class Deltas:
    """The article's inner object."""

    __pydantic_config__ = shape.STRICT
    deltas: tuple[Produced, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Contract:
    """What a step produces, and what becomes of anything else."""

    __pydantic_config__ = shape.STRICT
    produces: Deltas
    unexpected: Unexpected = "reject"


def read(data: Any, *, name: str = "contract") -> tuple[Contract | None, list[Finding]]:
    """The contract in plain data, `{"produces": {"deltas": [..]}}`."""
    return shape.parse(document.Document(name=name, data=data), Contract)


def compare(contract: Contract, scene: Scene) -> list[Rejection]:
    """What the delta of `scene` lacks, or has too much, by the contract. This is all of layer 2."""
    pending = list(scene.delta.singles())
    out: list[Rejection] = []
    promised = sorted(contract.produces.deltas, key=lambda p: p.target is None and p.source is None and p.end is None)
    left_over: list[Produced] = []
    for produced in promised:  # those that name their node first: what they take is no candidate for the others
        alike = [op for op in pending if _is_alike(produced, op, scene)]
        meant = [op for op in alike if _is_meant(produced, op, scene)]
        pending = _without(pending, meant)
        out += _told(produced, meant, scene)
        if not meant:
            left_over.append(produced)
    for produced in left_over:
        if produced.counted.min == 0:
            continue
        astray = next((op for op in pending if _is_alike(produced, op, scene)), None)
        if astray is not None:
            pending = _without(pending, [astray])
            out += _mismatch(produced, astray)
        else:
            out.append(_incomplete(produced, scene))
    if contract.unexpected != "allow":
        out += [_unexpected(op, contract) for op in pending]
    return out


def _without(ops: list[deltas.Single], taken: list[deltas.Single]) -> list[deltas.Single]:
    gone = {op.at for op in taken}
    return [op for op in ops if op.at not in gone]


def _is_alike(produced: Produced, op: deltas.Single, scene: Scene) -> bool:
    """Of the promised kind and type. A type that is not known yet may be the right one."""
    if op.kind != produced.single:
        return False
    if isinstance(op, deltas.CreateEdge | deltas.UpdateEdge | deltas.DeleteEdge):
        return _is_called(produced.edge_type, op.edge_type, scene.catalogue.edges())
    if isinstance(op, deltas.CreateNode | deltas.UpsertNode):
        return _is_called(produced.node_type, op.node_type, scene.catalogue.types())
    found = scene.type_of(op.target, op.node_type)
    return not produced.node_type or not isinstance(found, CompiledType) or found.type.type == produced.node_type


def _is_called(promised: str, name: str, known: list[str]) -> bool:
    """A misspelt type is told by layer 1. Its operation is meant all the same: to remove it would be bad advice."""
    if promised in ("", name):
        return True
    meant = suggest.suggest(name, known) if name not in known else None
    return meant is not None and meant.name == promised


def _is_meant(produced: Produced, op: deltas.Single, scene: Scene) -> bool:
    """On the node, or between the nodes, that the contract names."""
    if isinstance(op, deltas.CreateEdge | deltas.UpdateEdge | deltas.DeleteEdge):
        return _same(produced.source, op.source, scene) and _same(produced.end, op.target, scene)
    if isinstance(op, deltas.CreateNode | deltas.UpsertNode):
        return produced.target is None or _bare(produced.target.ref) == _bare(op.ref)
    return _same(produced.target, op.target, scene)


def _same(named: Named_ | None, target: deltas.Target, scene: Scene) -> bool:
    if named is None:
        return True
    if named.ref:
        return target.kind == "ref" and _bare(named.ref) == _bare(target.value)
    return scene.same(named.target()) == scene.same(target)


def _bare(ref: str) -> str:
    return ref.removeprefix("$")


def _told(produced: Produced, meant: list[deltas.Single], scene: Scene) -> Iterator[Rejection]:
    due = produced.counted
    if meant and (len(meant) < due.min or (due.max is not None and len(meant) > due.max)):
        yield reject(
            "contract_count",
            where=meant[-1].at,
            message=f"the contract asks for {due} of {produced.kind} {produced.node_type or produced.edge_type}",
            expected=str(due),
            received=str(len(meant)),
            hint=f"author {due} {produced.kind} of {produced.node_type or produced.edge_type}",
            layer=2,
            op=produced.kind,
            type=produced.node_type or produced.edge_type,
            expected_value={"min": due.min, "max": due.max},
            received_value=len(meant),
        )
    for op in meant:
        for name in produced.required_fields:
            if not _sets(op, name):
                yield _incomplete(produced, scene, op, name)


def _sets(op: deltas.Single, name: str) -> bool:
    values = {**getattr(op, "match", {}), **getattr(op, "set", {})}
    if name == "to_state" and name not in values:
        return getattr(op, "to_state", None) is not None
    return values.get(name) is not None


def _incomplete(produced: Produced, scene: Scene, op: deltas.Single | None = None, name: str = "") -> Rejection:
    type_name = produced.node_type or produced.edge_type
    verb = produced.kind.partition("_")[0]
    wanted = [name] if name else list(produced.required_fields)
    place = "/ops" if op is None else op.pointer("to_state") if name == "to_state" else op.pointer("set", name)
    names = " and ".join(repr(n) for n in wanted)
    message = f"the contract asks for {produced.kind} of {type_name}, but the delta has none"
    if wanted:
        message = f"the contract requires {names} on the {type_name} {verb}, but the delta sets no such field"
    target = next((t for t in (produced.target, produced.source, produced.end) if t is not None), None)
    at = f" at {target}" if target is not None else ""
    return reject(
        "contract_incomplete",
        where=place,
        message=message,
        expected=f"{produced}{at}",
        received="nothing" if op is None else f"{op.kind} without {name!r}",
        hint=f"author {_article(produced.kind)} on {type_name}{at}"
        + (f" that sets {names}" if wanted else "")
        + _source(produced, scene, name),
        layer=2,
        op=produced.kind,
        ref=str(target) if target is not None else "",
        type=type_name,
        field=name,
        expected_value={"kind": produced.kind, "type": type_name, "required_fields": list(produced.required_fields)},
    )


def _source(produced: Produced, scene: Scene, name: str) -> str:
    """What the one field holds that is missing, and where to read it."""
    owner = scene.catalogue.type(produced.node_type) or scene.catalogue.edge(produced.edge_type)
    field = owner.type.by_key.get(name) if owner else None
    if field is not None:
        return f" ({kinds.expected_of(field)}); {wording.source_of(field)}"
    states = owner.type.states if isinstance(owner, CompiledType) and name == "to_state" else None
    return f" ({' | '.join(states.values)}); take the one that the step is to reach" if states else ""


def _mismatch(produced: Produced, op: deltas.Single) -> Iterator[Rejection]:
    """The right operation on another node; for an edge each end that differs."""
    if isinstance(op, deltas.CreateNode | deltas.UpsertNode):
        pairs = [("ref", produced.target, f"ref:{op.ref or '-'}")]
    elif isinstance(op, deltas.UpdateNode | deltas.DeleteNode):
        pairs = [("target", produced.target, str(op.target))]
    else:
        pairs = [("from", produced.source, str(op.source)), ("to", produced.end, str(op.target))]
    for part, named, received in pairs:
        if named is None or str(named) == received:
            continue
        value: Any = named.ref if part == "ref" else {k: v for k, v in vars(named).items() if v}
        yield reject(
            "contract_mismatch",
            where=op.pointer(part),
            message=f"the {part} of {op.kind} is not the one of the contract",
            expected=str(named),
            received=received,
            hint=f"set {part} to {named}",
            patch=[{"op": "add", "path": op.pointer(part), "value": value}],
            confidence="likely",
            layer=2,
            op=op.kind,
            ref=received,
            type=produced.node_type or produced.edge_type,
            expected_value=value,
            received_value=received,
        )


def _unexpected(op: deltas.Single, contract: Contract) -> Rejection:
    declared = "; ".join(str(p) for p in contract.produces.deltas)
    inside_batch = "/items/" in op.at
    return reject(
        "contract_unexpected",
        severity="error" if contract.unexpected == "reject" else "warning",
        where=op.at,
        message=f"the contract declares no such {op.kind}",
        expected=declared,
        received=f"{op.kind} {getattr(op, 'node_type', '') or getattr(op, 'edge_type', '')}".rstrip(),
        hint="remove the operation" if not inside_batch else "remove the item from the batch",
        patch=[{"op": "remove", "path": op.at}],
        confidence="likely",
        layer=2,
        op=op.kind,
        type=getattr(op, "node_type", "") or getattr(op, "edge_type", ""),
    )


def _article(kind: str) -> str:
    return f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}"
