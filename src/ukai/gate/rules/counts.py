"""Counts of edges, as far as the delta alone decides them: too many for one node, too few for a new one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ukai.gate.delta import CreateEdge, CreateNode
from ukai.gate.rejection import Rejection, reject
from ukai.gate.scene import Scene
from ukai.kit import handle

_WORDS = {"out": ("from", "outgoing"), "in": ("to", "incoming")}


def most(scene: Scene) -> Iterator[Rejection]:
    """More edges of a type than one node may have, whatever it has already."""
    counts: Counter[tuple[str, str, str]] = Counter()
    for op in scene.delta.singles():
        edge = scene.catalogue.edge(op.edge_type) if isinstance(op, CreateEdge) else None
        if edge is None or not isinstance(op, CreateEdge):
            continue
        for side, limit, end in (("out", edge.type.max_out, op.source), ("in", edge.type.max_in, op.target)):
            named = (op.edge_type, side, scene.same(end))
            counts[named] += 1
            if limit is not None and counts[named] == limit + 1:
                yield reject(
                    "cardinality_max",
                    where=op.pointer(_WORDS[side][0]),
                    message=f"{end} would have more than {limit} {_WORDS[side][1]} {op.edge_type}",
                    expected=f"at most {limit}",
                    received=f"{limit + 1} in this delta alone",
                    hint="keep the edges that are meant",
                    op=op.kind,
                    ref=str(end),
                    type=op.edge_type,
                    expected_value={"max": limit},
                    repair="fix",
                    rule=edge.name_of(f"max_{side}"),
                )


def least(scene: Scene) -> Iterator[Rejection]:
    """Fewer edges of a type than a new node must have: only this delta can make them.

    Where edges name nodes of the type by their handles, which of them are new is left to the database half.
    """
    if not scene.catalogue.minimal:
        return
    made, by_handle = Counter(_sides(scene)), set(_by_handle(scene))
    for op in scene.delta.singles():
        if not isinstance(op, CreateNode) or op.revives is not None:
            continue  # what comes back is counted by the database half
        for edge in scene.catalogue.minimal:
            sides = (("out", edge.type.min_out, edge.type.sources), ("in", edge.type.min_in, edge.type.targets))
            for side, limit, types in sides:
                found = made[(edge.type.edge, side, f"ref:{op.ref}")] if op.ref else 0
                if op.node_type in types and found < limit and (edge.type.edge, side, op.node_type) not in by_handle:
                    yield _too_few(op, edge.type.edge, side, limit, found, edge.name_of(f"min_{side}"))


def _sides(scene: Scene) -> Iterator[tuple[str, str, str]]:
    for op in scene.delta.singles():
        if isinstance(op, CreateEdge):
            yield op.edge_type, "out", str(op.source)
            yield op.edge_type, "in", str(op.target)


def _by_handle(scene: Scene) -> Iterator[tuple[str, str, str]]:
    for op in scene.delta.singles():
        if isinstance(op, CreateEdge):
            for side, end in (("out", op.source), ("in", op.target)):
                named = handle.parse(end.value) if end.kind == "handle" else None
                if named is not None:
                    yield op.edge_type, side, named.type


def _too_few(op: CreateNode, edge: str, side: str, limit: int, found: int, rule: str) -> Rejection:
    end, word = _WORDS[side]
    return reject(
        "cardinality_min",
        where=op.at,
        message=f"a new {op.node_type} needs {limit} {word} {edge}",
        expected=f"at least {limit}",
        received=str(found),
        hint=f"add a create_edge {edge} with {{'ref': {op.ref or '$name'!r}}} as its '{end}'"
        + ("" if op.ref else ", and give the node that ref"),
        op=op.kind,
        ref=op.ref,
        type=op.node_type,
        expected_value={"min": limit},
        rule=rule,
    )
