"""What the checks of layer 1 look at together: the delta, the domains, who writes, when, what the run already holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Final

from ukai.gate import delta as deltas
from ukai.gate.rights import ALL, Rights
from ukai.graph.catalogue import Catalogue, CompiledType
from ukai.kit import handle

Maker = deltas.CreateNode | deltas.UpsertNode


class Unknown:
    """A target's type that nobody can know before the database is read."""


UNKNOWN: Final = Unknown()


class Later(str):
    """A value that an earlier step will have produced: it stands in a workflow's delta before there is one."""

    __slots__ = ()


@dataclass(frozen=True, kw_only=True)
class Scene:
    """One proposal and its surroundings."""

    delta: deltas.Delta
    catalogue: Catalogue
    author: str
    """The principal, as rules see it."""
    now: datetime
    context: Mapping[str, str] | None = None
    """What the run holds: name -> handle or id. None: not known here, so no `context_ref` is refused."""
    known: Mapping[str, str] = field(default_factory=dict[str, str])
    """Id -> handle, as far as it was looked up."""
    rights: Rights = ALL
    """Whose values may be told, beside those that the delta itself gives."""

    @cached_property
    def refs(self) -> Mapping[str, Maker]:
        """Ref -> the operation that makes the node; the first one where several use the same name."""
        found: dict[str, Maker] = {}
        for op in self.delta.singles():
            if isinstance(op, deltas.CreateNode | deltas.UpsertNode) and op.ref:
                found.setdefault(op.ref, op)
        return found

    def type(self, name: str) -> CompiledType | None:
        """The node type of this name, inside the delta's domain when it names one."""
        found = self.catalogue.type(name)
        return found if found and self.delta.domain in ("", found.domain.domain) else None

    def type_of(self, target: deltas.Target, stated: str = "") -> CompiledType | Unknown | None:
        """The type of a target's node: UNKNOWN before it is read, None when its name is wrong (reported elsewhere)."""
        if target.kind == "ref":
            maker = self.refs.get(target.value)
            return self.type(maker.node_type) if maker else None
        name = target.value if target.kind == "handle" else self.known.get(target.value, "")
        if target.kind == "context_ref" and self.context is not None:
            name = self.context.get(target.value, "")
            if not name:
                return None
            name = self.known.get(name, name)
        parsed = handle.parse(name)
        if parsed is not None:
            return self.catalogue.type(parsed.type)
        return (self.catalogue.type(stated) if stated else None) or UNKNOWN

    def type_named(self, op: deltas.Op) -> str:
        """The name of the node or edge type that an operation is about, as far as it tells."""
        stated: str = getattr(op, "node_type", "") or getattr(op, "edge_type", "")
        target = getattr(op, "target", None)
        if stated or not isinstance(target, deltas.Target):
            return stated
        found = self.type_of(target)
        return found.type.type if isinstance(found, CompiledType) else ""

    def same(self, target: deltas.Target) -> str:
        """A text that is equal for two targets which name the same node, as far as that can be known here."""
        if target.kind == "context_ref" and self.context is not None and target.value in self.context:
            return self.context[target.value]
        return str(target) if target.kind in ("ref", "context_ref") else target.value
