"""Repetitions inside one delta: a node changed twice, two nodes of one key or one unique value, an edge made twice."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ukai.gate import plan as plans
from ukai.gate.delta import CreateEdge, DeleteEdge, DeleteNode, UpdateEdge, UpdateNode
from ukai.gate.rejection import MASK, Rejection, reject
from ukai.gate.scene import Scene
from ukai.graph import checks


def targets(scene: Scene) -> Iterator[Rejection]:
    """Each existing node and edge is changed by one operation."""
    seen: dict[tuple[str, ...], str] = {}
    for op in scene.delta.singles():
        if isinstance(op, UpdateNode | DeleteNode):
            named = ("node", scene.same(op.target))
            place = op.pointer("target")
        elif isinstance(op, UpdateEdge | DeleteEdge):
            named = ("edge", op.edge_type, scene.same(op.source), scene.same(op.target))
            place = op.at
        else:
            continue
        first = seen.setdefault(named, op.at)
        if first != op.at:
            yield reject(
                "duplicate_target",
                where=place,
                message=f"the same {named[0]} is changed twice, first at {first}",
                expected="one operation for each node and edge",
                received=" ".join(named[1:]),
                hint=f"merge both into {first}",
                op=op.kind,
                ref=named[-1],
            )


def edges(scene: Scene) -> Iterator[Rejection]:
    """No edge is made twice."""
    seen: dict[tuple[str, str, str], str] = {}
    for op in scene.delta.singles():
        if not isinstance(op, CreateEdge):
            continue
        first = seen.setdefault((op.edge_type, scene.same(op.source), scene.same(op.target)), op.at)
        if first != op.at:
            yield reject(
                "duplicate_edge",
                where=op.at,
                message=f"the same edge is made twice, first at {first}",
                expected="one edge of a type between two nodes",
                received=f"{op.edge_type}: {op.source} -> {op.target}",
                hint="remove the repetition",
                patch=[{"op": "remove", "path": op.at}],
                op=op.kind,
                ref=f"{op.source} -> {op.target}",
                type=op.edge_type,
                repair="fix",
            )


def nodes(made: Sequence[plans.NodePlan]) -> Iterator[Rejection]:
    """No two new nodes share a key or a unique value."""
    seen: dict[tuple[str, str, object], str] = {}
    for node in made:
        if node.type is None:
            continue
        values: list[tuple[str, object]] = [("", node.key)] if node.key is not None else []
        values += [
            (f.key, checks.identity(node.set[f.key])) for f in node.type.unique if node.set.get(f.key) is not None
        ]
        if len(node.type.key) == 1:
            values = [v for v in values if v[0] != node.type.key[0]]  # the key says it already
        for name, value in values:
            first = seen.setdefault((node.type.type, name, value), node.op.at)
            if first != node.op.at:
                yield _shared(node, name, first)


def _shared(node: plans.NodePlan, name: str, first: str) -> Rejection:
    type_name = node.type.type if node.type else ""
    what = f"the same {name!r}" if name else f"the key {type_name}#{node.key}"
    field = node.type.by_key.get(name) if node.type else None
    shown = str(node.key) if not name else MASK if field is not None and field.sensitive else str(node.set[name])
    return reject(
        "unique_violation",
        where=node.op.pointer("set", name) if name else node.op.at,
        message=f"{what} is given to two new nodes, first at {first}",
        expected="values that differ",
        received=shown,
        hint="make the node once and name it by its ref, or correct the value",
        op=node.op.kind,
        ref=getattr(node.op, "ref", ""),
        type=type_name,
        field=name,
        repair="fix",
    )
