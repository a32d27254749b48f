"""Reading nodes and edges. Writing is the gate's alone (`ukai.gate.rows`)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, LiteralString, NamedTuple, cast
from uuid import UUID

from psycopg import sql
from psycopg.types.json import Jsonb

from ukai import store

Allowed = tuple[str, Sequence[Any]]
"""A condition over the columns of `node n` (what `Rights.sql("n")` gives), and its parameters."""
EVERYTHING: Allowed = ("true", ())


class Node(NamedTuple):
    """A row of `node`, in the order of `NODE`."""

    id: UUID
    domain: str
    type: str
    key: str
    path: str
    readers: list[str] | None
    props: dict[str, Any]
    state: str | None
    version: int
    provenance: dict[str, Any]
    alive: bool
    seq: int
    created_at: datetime
    updated_at: datetime


class Edge(NamedTuple):
    """A row of `edge`, in the order of `EDGE`."""

    id: UUID
    domain: str
    type: str
    source: UUID
    target: UUID
    props: dict[str, Any]
    version: int
    provenance: dict[str, Any]
    seq: int
    created_at: datetime
    updated_at: datetime


NODE = """n.id, n.domain, n.type, n.key, n.path, n.readers, n.props, n.state, n.version, n.provenance, n.alive, n.seq,
          n.created_at, n.updated_at"""
EDGE = """e.id, e.domain, e.type, e.src, e.dst, e.props, e.version, e.provenance, e.seq, e.created_at, e.updated_at"""


async def by_id(tx: store.Transaction, ids: Sequence[UUID], allowed: Allowed) -> list[Node]:
    """Living nodes by id."""
    text, params = allowed
    statement = _put("select {node} from node n where n.id = any (%s) and n.gone = 0 and {allowed}", text)
    return [Node(*r) for r in await tx.fetch(statement, [list(ids), *params])]


async def by_key(tx: store.Transaction, named: Sequence[tuple[str, str]], allowed: Allowed) -> list[Node]:
    """Living nodes by (type, key)."""
    text, params = allowed
    statement = _put(
        """select {node} from unnest(%s::text[], %s::text[]) h(type, key)
           join node n on n.type = h.type and n.key = h.key and n.gone = 0 where {allowed}""",
        text,
    )
    return [Node(*r) for r in await tx.fetch(statement, [[t for t, _ in named], [k for _, k in named], *params])]


async def neighbours(
    tx: store.Transaction, id: UUID, *, edges: Sequence[str] | None, out: bool, limit: int, allowed: Allowed
) -> list[tuple[Edge, Node]]:
    """Living edges that leave (or reach) the node, with the nodes at their other ends."""
    text, params = allowed
    here, there = ("src", "dst") if out else ("dst", "src")
    statement = _put(
        """select {edge}, {node} from edge e join node n on n.id = e.{there}
           where e.{here} = %s and e.gone = 0 and (%s::text[] is null or e.type = any (%s)) and {allowed}
           order by e.type, n.type, n.key limit %s""",
        text,
        here=here,
        there=there,
    )
    wanted = None if edges is None else list(edges)
    width = len(Edge._fields)
    found = await tx.fetch(statement, [id, wanted, wanted, *params, limit])
    return [(Edge(*r[:width]), Node(*r[width:])) for r in found]


async def listed(
    tx: store.Transaction,
    *,
    types: Sequence[str] | None,
    under: str,
    where: dict[str, Any],
    after: tuple[str, str],
    limit: int,
    allowed: Allowed,
) -> list[Node]:
    """Living nodes by (type, key), those under a path and with these values."""
    text, params = allowed
    statement = _put(
        """select {node} from node n
           where n.gone = 0 and (%s::text[] is null or n.type = any (%s)) and (n.type, n.key) > (%s, %s)
             and (%s = '' or n.path = %s or n.path like %s) and n.props @> %s and {allowed}
           order by n.type, n.key limit %s""",
        text,
    )
    wanted = None if types is None else list(types)
    escaped = under.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    values = [wanted, wanted, *after, under, under, f"{escaped}/%", Jsonb(where), *params, limit]
    return [Node(*r) for r in await tx.fetch(statement, values)]


async def counted(tx: store.Transaction, allowed: Allowed) -> dict[str, int]:
    """Type -> living nodes."""
    text, params = allowed
    statement = _put("select n.type, count(*) from node n where n.gone = 0 and {allowed} group by 1 order by 1", text)
    return dict(cast("list[tuple[str, int]]", await tx.fetch(statement, list(params))))


async def digest(tx: store.Transaction) -> str:
    """One number over the content of all living records and edges: equal databases give the same, wherever they are.

    Sums of hashes need no order, so that a large database is read once and nothing is sorted.
    """
    nodes = await tx.one(
        """select count(*), coalesce(sum(('x' || substr(md5(
             n.type || '#' || n.key || n.props::text || coalesce(n.state, '')), 1, 15))::bit(60)::bigint), 0)
           from node n where n.gone = 0"""
    )
    edges = await tx.one(
        """select count(*), coalesce(sum(('x' || substr(md5(
             e.type || a.type || a.key || '>' || b.type || b.key || e.props::text), 1, 15))::bit(60)::bigint), 0)
           from edge e join node a on a.id = e.src join node b on b.id = e.dst where e.gone = 0"""
    )
    return ":".join(str(part) for row in (nodes, edges) for part in row or ())


def _put(template: LiteralString, allowed: str, **names: LiteralString) -> sql.Composed:
    parts = {"node": sql.SQL(NODE), "edge": sql.SQL(EDGE), "allowed": sql.SQL(cast("LiteralString", f"({allowed})"))}
    return sql.SQL(template).format(**parts, **{k: sql.SQL(v) for k, v in names.items()})
