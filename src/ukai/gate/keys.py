"""Natural keys of new nodes, and refs written as handles: what needs every operation of a delta to be read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeVar, cast

from ukai.gate import delta as deltas
from ukai.gate import plan as plans
from ukai.gate.rejection import Rejection
from ukai.gate.rules import references
from ukai.gate.scene import Scene
from ukai.kit import handle

P = TypeVar("P", plans.NodePlan, plans.EdgePlan)


def settled(
    scene: Scene, nodes: Sequence[plans.NodePlan], edges: Sequence[plans.EdgePlan]
) -> tuple[list[plans.NodePlan], list[plans.EdgePlan], list[Rejection]]:
    """The plans with keys, with targets in values as handles where these are known, and `refs` beside them."""
    keys = _Keys(scene, nodes)
    needs = keys.needs()
    told = list(references.key_cycles(scene, needs)) if any(needs.values()) else []
    keyed = [keys.keyed(n) for n in nodes]
    return [keys.written(n) for n in keyed], [keys.written(e) for e in edges], told


class _Keys:
    def __init__(self, scene: Scene, nodes: Sequence[plans.NodePlan]) -> None:
        self.scene = scene
        self.made = {ref: n for n in nodes if (ref := getattr(n.op, "ref", "")) and n.type is not None}
        self.handles: dict[str, str | None] = {}

    def needs(self) -> dict[str, list[str]]:
        """Ref -> the refs that its key is made of."""
        found: dict[str, list[str]] = {}
        for ref, node in self.made.items():
            values = {**node.match, **node.set}
            keyed = node.type.key if node.type else ()
            found[ref] = [t.value for k in keyed for t in _targets(values.get(k)) if t.kind == "ref"]
        return found

    def keyed(self, node: plans.NodePlan) -> plans.NodePlan:
        if node.type is None or not node.type.key or not isinstance(node.op, deltas.CreateNode | deltas.UpsertNode):
            return node
        if isinstance(node.op, deltas.CreateNode) and node.op.revives is not None:
            return replace(node, key=node.op.revives.key)
        values = {**node.match, **{k: v for k, v in node.set.items() if v is not None}}
        parts = [self.text(values.get(k)) for k in node.type.key]
        return node if None in parts else replace(node, key=handle.key_of(cast("list[str]", parts)))

    def handle(self, ref: str) -> str | None:
        """The handle of a node of this delta, None while it has no key of its own (or needs itself)."""
        if ref not in self.handles:
            self.handles[ref] = None
            node = self.made.get(ref)
            key = self.keyed(node).key if node else None
            if node is not None and node.type is not None and key is not None:
                self.handles[ref] = str(handle.Handle(type=node.type.type, key=key))
        return self.handles[ref]

    def text(self, value: Any) -> str | None:
        """A value as text; of a target its handle, where it is known."""
        if not isinstance(value, deltas.Target):
            return None if value is None else str(value)
        if value.kind == "ref":
            return self.handle(value.value)
        text = self.scene.same(value)
        return text if handle.parse(text) else None

    def written(self, plan: P) -> P:
        found = {k: tuple(_targets(v)) for k, v in plan.set.items() if isinstance(v, deltas.Target | list)}
        refs = {k: targets for k, targets in found.items() if targets}
        if not refs:
            return plan
        return replace(plan, set={k: self._flat(v) if k in refs else v for k, v in plan.set.items()}, refs=refs)

    def _flat(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self._flat(v) for v in cast("list[Any]", value)]
        return (self.text(value) or str(value)) if isinstance(value, deltas.Target) else value


def _targets(value: Any) -> list[deltas.Target]:
    if isinstance(value, deltas.Target):
        return [value]
    if isinstance(value, list):
        return [v for v in cast("list[Any]", value) if isinstance(v, deltas.Target)]
    return []
