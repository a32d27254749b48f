"""Which rows of a lot can stand in one program, and which have to come after them.

A program is judged by its end: it does not know that one row came before another. Rows that touch the same thing in
ways whose order matters are therefore written one after the other, each seeing what the one before has left.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ukai.gate import delta as deltas
from ukai.gate import plan as plans
from ukai.gate import program


@dataclass(frozen=True, kw_only=True)
class Touch:
    """What a row has to do with others, by the names that it uses."""

    writes: set[str] = field(default_factory=set[str])
    """Handles (or ids) of nodes, and edges."""
    deletes: set[str] = field(default_factory=set[str])
    names: dict[str, deltas.Target] = field(default_factory=dict[str, deltas.Target])
    """Handles that edges and ref fields name."""
    wants: set[str] = field(default_factory=set[str])
    """What only one can have: unique values, and sides of edges with room for one."""
    makes: set[str] = field(default_factory=set[str])
    """Of `writes`, the nodes that are made if they are not there."""

    def must_follow(self, earlier: Touch) -> bool:
        """Whether this row, which comes later, cannot be in one program with the earlier."""
        return not (
            self.writes.isdisjoint(earlier.writes)
            and self.wants.isdisjoint(earlier.wants)
            and earlier.deletes.isdisjoint(self.names)
            and self.deletes.isdisjoint(earlier.names)
        )


def touch(plan: plans.Plan) -> Touch:
    """Of one row."""
    found = Touch()
    refs: dict[str, str] = {}
    for node in plan.nodes:
        op, type = node.op, node.type
        if isinstance(op, deltas.CreateNode | deltas.UpsertNode):
            if node.key is not None:
                handle = f"{op.node_type}#{node.key}"
                found.writes.add(handle)
                found.makes.add(handle)
                refs[op.ref] = handle
        else:
            found.writes.add(op.target.value)
            if isinstance(op, deltas.DeleteNode):
                found.deletes.add(op.target.value)
        for f in type.unique if type else ():
            value = node.set.get(f.key, node.match.get(f.key))
            if value is not None:
                found.wants.add(f"{type.type if type else ''}.{f.key} {program.claimed(value)}")
    for edge in plan.edges:
        ends = [refs.get(t.value, "") if t.kind == "ref" else t.value for t in (edge.op.source, edge.op.target)]
        if all(ends):
            found.writes.add(f"{ends[0]} {edge.type.edge} {ends[1]}")
        if isinstance(edge.op, deltas.CreateEdge):
            sides = ((ends[0], edge.type.max_out, "out"), (ends[1], edge.type.max_in, "in"))
            found.wants.update(f"{edge.type.edge} {side} {end}" for end, most, side in sides if most == 1 and end)
    found.names.update({t.value: t for t in _targets(plan) if t.kind == "handle"})
    return found


def first(rows: Sequence[int], touches: Mapping[int, Touch]) -> tuple[list[int], list[int]]:
    """The rows that can be written together now, and those that come after them; both in their order."""
    now: list[int] = []
    later: list[int] = []
    before, waiting = Touch(), Touch()
    for n in rows:
        one = touches[n]
        # What a waiting row has to do first is not there yet for those that name it.
        if one.must_follow(before) or one.must_follow(waiting) or not waiting.writes.isdisjoint(one.names):
            later.append(n)
            _join(waiting, one)
        else:
            now.append(n)
            _join(before, one)
    return now, later


def _join(all_: Touch, one: Touch) -> None:
    all_.writes.update(one.writes)
    all_.deletes.update(one.deletes)
    all_.names.update(one.names)
    all_.wants.update(one.wants)


def _targets(plan: plans.Plan) -> Iterable[deltas.Target]:
    for edge in plan.edges:
        yield from (edge.op.source, edge.op.target)
    for part in (*plan.nodes, *plan.edges):
        for many in part.refs.values():
            yield from many
