"""A proposal: the operations of one compound change, parsed into values that know their place (formats §4).

Every part keeps the JSON pointer of where it stood in the submitted delta, so that any later finding can name it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal
from uuid import UUID

from ukai.kit import document

TargetKind = Literal["id", "handle", "ref", "context_ref"]


@dataclass(frozen=True, kw_only=True)
class Target:
    """One node, named in one of the four ways."""

    kind: TargetKind
    value: str
    at: str
    """Pointer of the target object, `/ops/1/target`."""

    def __str__(self) -> str:
        return f"{self.kind}:{self.value}"

    @property
    def pointer(self) -> str:
        """Pointer of the name itself, `/ops/1/target/handle`."""
        return f"{self.at}/{self.kind}"


@dataclass(frozen=True, kw_only=True)
class Op:
    """What all operations share."""

    kind: ClassVar[str] = ""
    at: str
    """Pointer of the operation: `/ops/2`, or `/ops/5/items/0` inside a batch."""

    def pointer(self, *parts: str | int) -> str:
        """Pointer of a part: `op.pointer("set", "title")`."""
        return self.at + document.pointer(*parts)


@dataclass(frozen=True, kw_only=True)
class Revived:
    """The deleted node that a create of an undo brings back."""

    id: UUID
    key: str


@dataclass(frozen=True, kw_only=True)
class CreateNode(Op):
    """A new node. Items of a batch are parsed into this too."""

    kind: ClassVar[str] = "create_node"
    node_type: str
    set: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """As submitted; `shape` gives the checked values."""
    ref: str = ""
    """The name by which other parts of the delta mean it, `$pr`; empty when it has none."""
    to_state: str | None = None
    """The state it begins in; None takes the type's first initial state, or of a revived node none."""
    revives: Revived | None = None
    """Only in an undo."""


@dataclass(frozen=True, kw_only=True)
class UpdateNode(Op):
    """A patch: absent keeps, null clears."""

    kind: ClassVar[str] = "update_node"
    target: Target
    node_type: str = ""
    """Optional in the delta; known from a handle, else only after the node was read."""
    set: Mapping[str, Any] = field(default_factory=dict[str, Any])
    if_version: int | None = None
    test: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Values that the fields must hold for the operation to apply."""
    to_state: str | None = None
    stateless: bool = False
    """Only in an undo: back to no state, which `to_state` cannot say."""


@dataclass(frozen=True, kw_only=True)
class UpsertNode(Op):
    """Update the one node that matches, or create it from match and set together."""

    kind: ClassVar[str] = "upsert_node"
    node_type: str
    match: Mapping[str, Any]
    """All fields of the natural key, or one unique field."""
    set: Mapping[str, Any] = field(default_factory=dict[str, Any])
    ref: str = ""
    if_version: int | None = None
    test: Mapping[str, Any] = field(default_factory=dict[str, Any])
    to_state: str | None = None


@dataclass(frozen=True, kw_only=True)
class DeleteNode(Op):
    """Remove a node; its edges follow their types' delete policies."""

    kind: ClassVar[str] = "delete_node"
    target: Target
    node_type: str = ""
    if_version: int | None = None
    test: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, kw_only=True)
class CreateEdge(Op):
    """A new edge. Items of a batch are parsed into this too."""

    kind: ClassVar[str] = "create_edge"
    edge_type: str
    source: Target
    target: Target
    set: Mapping[str, Any] = field(default_factory=dict[str, Any])
    revives: UUID | None = None
    """Only in an undo: the deleted edge that comes back."""


@dataclass(frozen=True, kw_only=True)
class UpdateEdge(Op):
    """A patch of the one edge of this type between two nodes."""

    kind: ClassVar[str] = "update_edge"
    edge_type: str
    source: Target
    target: Target
    set: Mapping[str, Any] = field(default_factory=dict[str, Any])
    if_version: int | None = None
    test: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, kw_only=True)
class DeleteEdge(Op):
    """Remove the one edge of this type between two nodes."""

    kind: ClassVar[str] = "delete_edge"
    edge_type: str
    source: Target
    target: Target
    if_version: int | None = None
    test: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, kw_only=True)
class CreateNodesBatch(Op):
    """Many nodes of one type."""

    kind: ClassVar[str] = "create_nodes_batch"
    node_type: str
    items: tuple[CreateNode, ...]


@dataclass(frozen=True, kw_only=True)
class CreateEdgesBatch(Op):
    """Many edges of one type."""

    kind: ClassVar[str] = "create_edges_batch"
    edge_type: str
    items: tuple[CreateEdge, ...]


@dataclass(frozen=True, kw_only=True)
class Touched:
    """A field of a node or an edge, or the whole of it, that an undo puts back."""

    at: str
    """Pointer of the operation."""
    kind: Literal["node", "edge"]
    id: UUID
    field: str
    """Empty: the whole of it, which was made or deleted."""
    seq: int
    """The first change of it that is taken back: who wrote it afterwards stands against the undo."""


@dataclass(frozen=True, kw_only=True)
class Undoing:
    """What makes a delta an undo. No door reads it: `ukai.gate.undo` alone makes such deltas."""

    commits: tuple[UUID, ...]
    touched: tuple[Touched, ...]


Single = CreateNode | UpdateNode | UpsertNode | DeleteNode | CreateEdge | UpdateEdge | DeleteEdge
Any_ = Single | CreateNodesBatch | CreateEdgesBatch


@dataclass(frozen=True, kw_only=True)
class Delta:
    """One proposal. It lands whole or not at all."""

    ops: tuple[Any_, ...]
    domain: str = ""
    """Empty: the types say it, since their names are unique over all domains."""
    key: str = ""
    """Idempotency key; empty when the writer gave none."""
    source: Any = None
    """The delta as submitted (plain JSON data), for its hash, for repair patches and for the audit."""
    undoing: Undoing | None = None

    def singles(self) -> Iterator[Single]:
        """The operations with batches opened, in order."""
        for op in self.ops:
            if isinstance(op, CreateNodesBatch | CreateEdgesBatch):
                yield from op.items
            else:
                yield op
