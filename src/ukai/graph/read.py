"""Nodes and edges as values: one by its handle, its neighbours, a page of many. Rights come in as a piece of SQL.

What something was at an earlier time is read from the history of changes, `ukai.gate.history.as_of`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from ukai import store
from ukai.graph import rows
from ukai.kit import handle

EVERYTHING = rows.EVERYTHING
"""No rights asked: for the system itself."""
MAX_LIMIT = 1_000


@dataclass(frozen=True, kw_only=True)
class Node:
    """A living node."""

    id: UUID
    domain: str
    type: str
    key: str
    path: str
    readers: frozenset[str] | None
    """None: the type declares none. Empty: nobody."""
    props: Mapping[str, Any]
    state: str | None
    version: int
    provenance: Mapping[str, Any]
    """Who wrote it last, and when; a connector adds what its source says."""
    seq: int
    """Its last change: equal when nothing has changed."""
    created_at: datetime
    updated_at: datetime

    @property
    def handle(self) -> str:
        return f"{self.type}#{self.key}"


@dataclass(frozen=True, kw_only=True)
class Edge:
    """A living edge."""

    id: UUID
    domain: str
    type: str
    source: UUID
    target: UUID
    props: Mapping[str, Any]
    version: int
    seq: int
    updated_at: datetime


@dataclass(frozen=True, kw_only=True)
class Filter:
    """Which nodes of a list."""

    types: Sequence[str] | None = None
    under: str = ""
    """A place in the hierarchy: the node there, and those below it."""
    where: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Values that the fields hold."""
    after: str = ""
    """The handle behind which to go on."""
    limit: int = 100


async def node(tx: store.Transaction, named: str | UUID, *, allowed: rows.Allowed) -> Node | None:
    """The node of this handle or id; None when there is none, or it may not be read."""
    if isinstance(named, UUID):
        found = await rows.by_id(tx, [named], allowed)
    else:
        parsed = handle.parse(named)
        found = await rows.by_key(tx, [(parsed.type, parsed.key)], allowed) if parsed else []
    return _node(found[0]) if found else None


async def nodes(tx: store.Transaction, named: Iterable[str], *, allowed: rows.Allowed) -> dict[str, Node]:
    """Handle -> node, of those that are there and may be read. Parts of records count as their record."""
    parsed = {str(h): h for text in named if (h := handle.parse(text)) is not None}
    wanted = sorted({(h.type, h.key) for h in parsed.values()})
    found = {n.handle: n for n in map(_node, await rows.by_key(tx, wanted, allowed))}
    return {text: found[str(h.whole)] for text, h in parsed.items() if str(h.whole) in found}


async def neighbours(
    tx: store.Transaction,
    id: UUID,
    *,
    allowed: rows.Allowed,
    edges: Sequence[str] | None = None,
    out: bool = True,
    limit: int = 100,
) -> list[tuple[Edge, Node]]:
    """The edges that leave the node (`out=False`: that reach it) with the nodes at their ends, by type and key."""
    found = await rows.neighbours(tx, id, edges=edges, out=out, limit=min(limit, MAX_LIMIT), allowed=allowed)
    return [(_edge(e), _node(n)) for e, n in found]


async def page(tx: store.Transaction, wanted: Filter, *, allowed: rows.Allowed) -> list[Node]:
    """Nodes in the order of type and key, at most `wanted.limit`."""
    parsed = handle.parse(wanted.after)
    found = await rows.listed(
        tx,
        types=wanted.types,
        under=wanted.under,
        where=dict(wanted.where),
        after=(parsed.type, parsed.key) if parsed else ("", ""),
        limit=min(wanted.limit, MAX_LIMIT),
        allowed=allowed,
    )
    return [_node(n) for n in found]


async def counts(tx: store.Transaction, *, allowed: rows.Allowed) -> dict[str, int]:
    """Type -> how many nodes of it live."""
    return await rows.counted(tx, allowed)


def _node(row: rows.Node) -> Node:
    readers = None if row.readers is None else frozenset(row.readers)
    values = {k: v for k, v in row._asdict().items() if k not in ("alive", "readers")}
    return Node(**values, readers=readers)


def _edge(row: rows.Edge) -> Edge:
    return Edge(**{k: v for k, v in row._asdict().items() if k not in ("provenance", "created_at")})
