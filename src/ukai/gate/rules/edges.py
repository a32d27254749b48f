"""Edges: the type exists, its ends are of the declared types and in the declared direction."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ukai.gate.delta import CreateEdge, DeleteEdge, Target, UpdateEdge
from ukai.gate.rejection import Rejection, reject
from ukai.gate.rules import references
from ukai.gate.scene import Scene
from ukai.graph.catalogue import CompiledEdge, CompiledType

EdgeOp = CreateEdge | UpdateEdge | DeleteEdge


def ends(scene: Scene, op: EdgeOp, edge: CompiledEdge) -> Iterator[Rejection]:
    """Both ends can be named, fit the edge type, and are two nodes where they must be."""
    broken = [*references.target(scene, op, op.source), *references.target(scene, op, op.target)]
    if broken:
        yield from broken  # what would be said about the types of the ends only follows from these
        return
    yield from _types(scene, op, edge)
    if not edge.type.self_edges and scene.same(op.source) == scene.same(op.target):
        yield reject(
            "self_edge",
            where=op.pointer("to"),
            message=f"{edge.type.edge} cannot lead from a node to itself",
            expected="two nodes",
            received=str(op.target),
            hint="name another node at one end",
            op=op.kind,
            ref=str(op.source),
            type=edge.type.edge,
            rule=edge.name_of("self_edges"),
        )


def _types(scene: Scene, op: EdgeOp, edge: CompiledEdge) -> Iterator[Rejection]:
    source, target = _type_of(scene, op.source), _type_of(scene, op.target)
    declared = edge.type
    fits = (source in (None, *declared.sources), target in (None, *declared.targets))
    if all(fits):
        return
    allowed = f"{' or '.join(declared.sources)} -> {' or '.join(declared.targets)}"
    came = f"{source or 'a node'} -> {target or 'a node'}"
    common: dict[str, Any] = {
        "op": op.kind,
        "ref": f"{op.source} -> {op.target}",
        "type": declared.edge,
        "expected": allowed,
        "received": came,
        "expected_value": {"from": list(declared.sources), "to": list(declared.targets)},
        "received_value": {"from": source, "to": target},
        "rule": edge.name_of("direction"),
    }
    turned = source in (None, *declared.targets) and target in (None, *declared.sources)
    if turned and (source is not None or target is not None):
        yield reject(
            "edge_direction",
            where=op.at,
            message=f"{declared.edge} leads from {' or '.join(declared.sources)} to {' or '.join(declared.targets)}",
            hint="swap 'from' and 'to'",
            patch=[
                {"op": "replace", "path": op.pointer("from"), "value": {op.target.kind: op.target.value}},
                {"op": "replace", "path": op.pointer("to"), "value": {op.source.kind: op.source.value}},
            ],
            **common,
        )
        return
    for fit, end, names in ((fits[0], "from", declared.sources), (fits[1], "to", declared.targets)):
        if not fit:
            came = source if end == "from" else target
            yield reject(
                "edge_endpoint_type",
                where=op.pointer(end),
                message=f"{declared.edge} cannot have a {came} at its '{end}' end",
                hint=f"name a {' or a '.join(names)} at '{end}'",
                **common,
            )


def _type_of(scene: Scene, target: Target) -> str | None:
    """The name of the target's type, None while it is not known."""
    found = scene.type_of(target)
    return found.type.type if isinstance(found, CompiledType) else None
