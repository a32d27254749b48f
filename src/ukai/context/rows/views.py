"""The SQL by which a scope becomes a view of it: who is in it, and numbers to score by. No body is read here."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar
from uuid import UUID

from ukai.access import OwningEdge
from ukai.context.rows import Clause, below, embedded, filtering, scanned, those
from ukai.store import Transaction

GRAPH = 1_000
"""Bytes that one vector takes while the approximate index is made, besides its numbers (pgvector 0.8, m = 16)."""
MOST_KB = 4 * 2**20
"""Memory that making the approximate index may take."""
MORE = 1.5
"""So many times what is wanted is asked of the approximate index, in its own order, and the nearest of it are taken: of
texts that people wrote it then finds .92 of the nearest, in a scope of a tenth, and .87 otherwise."""
ORDER = "relaxed_order"
"""How it goes on where the first ones that it finds are too few under the clause."""
SCANNED = 40_000
"""Neighbours that the approximate index looks at before it gives up: as many as twice the default."""
FIELD = "(select p.field from passage p where p.node = v.node and p.part = v.part)"
"""The field of `passage_vector v`, as a clause for `nearest` asks for it. A join would be planned before the index."""
EDGES = 5_000
"""Edges of what came into sight that are read to see which of them lead to what is seen; more are told apart in SQL."""
PIECE = 1_000
"""Rows that are made before others get their turn."""

Row = TypeVar("Row")
_TUPLE: Callable[[Sequence[Any]], tuple[Any, ...]] = tuple

_EDGE = "hashtextextended(e.id::text, e.version)"


class Listed(NamedTuple):
    """One passage of a node of a scope, or a node without any (then `part` is empty)."""

    node: UUID
    type: str
    key: str
    path: str
    version: int
    part: str
    field: str
    ordinal: int
    content: bytes
    size: int
    titled: str
    terms: bytes
    """As `counted.Counted` has them: of the text, of its place, and of the title that the field `titled` holds."""
    place: bytes
    title: bytes
    arrived: int
    """The how manieth text it was to come in."""


class Edges(NamedTuple):
    """Those from one node to others of a scope."""

    known: bytes
    """Changes whenever one of them comes, goes or changes."""
    into: bytes
    """The nodes that they lead to, 16 bytes each."""


@dataclass(frozen=True, kw_only=True)
class Position:
    """How far the graph and its passages are, as one transaction sees them."""

    text: str
    """Two equal ones stand for the same graph, when the earlier one is settled."""
    is_settled: bool
    """No transaction that began before the last change is still open here: nothing can come in behind it."""
    cluster: int
    end: tuple[str, int] | None
    """The last change; None where what changes later cannot be told from the feed."""
    since: tuple[int, int]
    """What the graph and its passages have become later stands behind this place in the feed."""


async def position(tx: Transaction) -> Position:
    """Where the feed of changes ends in this snapshot, and how far passages have followed it."""
    row = await tx.one(
        "select p.cluster, c.xid::text, c.seq, p.xid::text, p.seq, settled_before()::text::bigint, "
        "exists (select 1 from passage where terms is null) from passage_cursor p "
        "left join (select xid, seq from change order by xid desc, seq desc limit 1) c on true"
    )
    assert row is not None
    # Passages that are still to be counted change without a change of the graph.
    cluster, xid, seq, followed_xid, followed_seq, oldest, is_uncounted = row
    return Position(
        text=f"{'' if xid is None else f'{xid}:{seq}'} {followed_xid}:{followed_seq} {cluster}",
        is_settled=int(xid or 0) < oldest and not is_uncounted,
        cluster=int(cluster),
        end=None if xid is None or is_uncounted else (str(xid), int(seq)),
        # All transactions before the oldest open one were seen, and passages follow in the order of the feed.
        since=min((oldest, 0), (int(followed_xid), int(followed_seq))),
    )


class Moved(NamedTuple):
    """What the feed says has changed."""

    nodes: list[UUID]
    edges: list[tuple[UUID, UUID]]
    """`(source, target)` of the edges among it, living or not."""


async def moved(tx: Transaction, before: Position, owning: Sequence[OwningEdge], most: int) -> Moved | None:
    """The nodes of which a reader may see something else than `before`; None where that cannot be told.

    Those that the feed names, both ends of edges that it names, and what all these own: rights pass down along edges.
    Whoever has lost an owner is told of by the edge that went, and what hangs below by the edges that stayed.
    """
    if before.end is None:
        return None
    # A feed that was cut, or belongs to a database that was put in this one's place, does not tell all.
    tells = await tx.value(
        "select (floor_xid, floor_seq) <= (%s::xid8, %s) and exists (select 1 from change where xid = %s::xid8 "
        "and seq = %s) and p.cluster = %s from feed, passage_cursor p",
        (str(before.since[0]), before.since[1], *before.end, before.cluster),
    )
    if not tells:
        return None
    news = await tx.fetch(
        "select kind = 'node', id from change where (xid, seq) > (%s::xid8, %s) limit %s",
        (str(before.since[0]), before.since[1], most + 1),
    )
    if len(news) > most:
        return None
    edges = [id for is_node, id in news if not is_node]
    ends = await tx.fetch("select src, dst from edge where id = any(%s)", (edges,)) if edges else []
    roots = sorted({id for is_node, id in news if is_node} | {id for pair in ends for id in pair})
    found = await below(tx, roots, owning, most + 1) if roots else []
    return None if len(found) > most else Moved(sorted(set(found)), [(source, target) for source, target in ends])


async def count(tx: Transaction, readable: Clause, stop_at: int) -> int:
    """How many nodes are readable, counted no further than `stop_at`."""
    text, params = scanned(readable)
    found = await tx.value(
        f"select count(*) from (select 1 from node n where n.alive and {text} limit %s) s",  # noqa: S608
        (*params, stop_at),
    )
    return int(found or 0)


async def listed(tx: Transaction, readable: Clause) -> list[Listed]:
    """The passages of readable nodes, and readable nodes without any, in no order."""
    text, params = scanned(readable)
    return await _listed(tx, f"n.alive and {text}", params)


async def listed_of(tx: Transaction, readable: Clause, nodes: Sequence[UUID]) -> list[Listed]:
    """The same of these nodes alone."""
    text, params = those(readable, nodes)
    return await _listed(tx, f"n.id = any(%s) and n.alive and {text}", (list(nodes), *params))


async def _listed(tx: Transaction, where: str, params: Sequence[Any]) -> list[Listed]:
    statement = (
        "select n.id, n.type, n.key, n.path, n.version, coalesce(p.part, ''), coalesce(p.field, ''), "  # noqa: S608
        "coalesce(p.ordinal, 0), coalesce(p.content, ''), coalesce(p.size, 0), coalesce(p.titled, ''), "
        "coalesce(p.terms, ''), coalesce(p.place, ''), coalesce(p.title, ''), coalesce(p.arrived, 0) "
        f"from node n left join passage p on p.node = n.id where {where}"
    )
    return [row async for piece in _pieces(tx, statement, params, Listed._make) for row in piece]


async def edges_between(tx: Transaction, nodes: Sequence[UUID]) -> dict[UUID, Edges]:
    """Of each of these nodes, if it has any, the edges from it to others of them."""
    among = await asyncio.to_thread(_array, nodes)
    # As `packed_edges` writes it. Not joined to the list: then each edge would be looked for by itself.
    statement = (
        f"select e.src, int8send(count(*)) || int8send(bit_xor({_EDGE})), string_agg(uuid_send(e.dst), '') "  # noqa: S608
        "from edge e where e.alive and e.src = any(%s::uuid[]) and e.dst = any(%s::uuid[]) group by e.src"
    )
    found: dict[UUID, Edges] = {}
    async for piece in _pieces(tx, statement, (among, among), _TUPLE):
        found |= {source: Edges(known, into) for source, known, into in piece}
    return found


async def edges_at(tx: Transaction, nodes: Sequence[UUID], inside: Iterable[UUID]) -> list[tuple[UUID, UUID, int]]:
    """`(source, target, number)` of the edges of these nodes, either way; where they have many, of those `inside`."""
    if not nodes:
        return []
    at, here = "e.alive and (e.src = any(%s::uuid[]) or e.dst = any(%s::uuid[]))", [_array(nodes)] * 2
    found = await _numbered(tx, f"from edge e where {at} limit %s", (*here, EDGES + 1))
    if len(found) <= EDGES:
        return found
    among = await asyncio.to_thread(_array, inside)
    both = "e.src = any(%s::uuid[]) and e.dst = any(%s::uuid[])"
    return await _numbered(tx, f"from edge e where {at} and {both}", (*here, among, among))


async def edges_by(tx: Transaction, pairs: Iterable[tuple[UUID, UUID]]) -> list[tuple[UUID, UUID, int]]:
    """`(source, target, number)` of the edges between these: looked for one by one, whatever else these have."""
    wanted = list(pairs)
    if not wanted:
        return []
    return await _numbered(
        tx,
        "from unnest(%s::uuid[], %s::uuid[]) w (src, dst) cross join edge_type t "
        "join edge e on e.src = w.src and e.type = t.edge and e.dst = w.dst and e.gone = 0",
        [_array(ends) for ends in zip(*wanted, strict=True)],
    )


async def _numbered(tx: Transaction, edges: str, params: Sequence[Any]) -> list[tuple[UUID, UUID, int]]:
    found = await _binary(tx, f"select e.src, e.dst, {_EDGE} {edges}", params)
    return [(r[0], r[1], int(r[2])) for r in found]


def packed_edges(numbers: Sequence[int]) -> bytes:
    """`Edges.known` of edges with these numbers: how many they are, and all of them one over the other."""
    over = 0
    for number in numbers:
        over ^= number
    return len(numbers).to_bytes(8, "big") + over.to_bytes(8, "big", signed=True)


async def matching(tx: Transaction, readable: Clause, words: Sequence[str], limit: int) -> list[UUID]:
    """Nodes with the readable passages that hold the most of `words`.

    Each row is ranked by itself alone, so that nothing a reader may not see moves what comes back.
    """
    (begin, before), (text, params) = filtering(readable)
    query = " | ".join(sorted(f"'{w}':*" for w in words if w.isalnum()))
    if not query:
        return []
    found = await tx.fetch(
        f"{begin}select n.id from passage p join node n on n.id = p.node, to_tsquery('simple', %s) q "  # noqa: S608
        f"where p.words @@ q and n.alive and {text} "
        'order by ts_rank(p.words, q) desc, n.type, n.key collate "C", p.ordinal limit %s',
        (*before, query, *params, limit),
    )
    return list(dict.fromkeys(r[0] for r in found))


async def nearest(
    tx: Transaction, readable: Clause, vector: Sequence[float], limit: int
) -> list[tuple[UUID, str, float]]:
    """`(node, part, cosine)` of readable passages near `vector`, best first, by the approximate index."""
    text, params = readable
    near = _distance(len(vector))
    wanted = math.ceil(limit * MORE)
    await tx.execute(
        "select set_config('hnsw.iterative_scan', %s, true), set_config('hnsw.ef_search', %s, true), "
        "set_config('hnsw.max_scan_tuples', %s, true), set_config('hnsw.scan_mem_multiplier', '2', true)",
        (ORDER, str(max(40, min(wanted, 1_000))), str(SCANNED)),
    )
    found = await tx.fetch(
        f"select v.node, v.part, 1 - ({near}) from passage_vector v join node n on n.id = v.node "  # noqa: S608
        f"where n.alive and {text} order by {near} limit %s",
        (_written(vector), *params, _written(vector), wanted),
    )
    return _nearest_first(found)[:limit]


async def nearest_exactly(
    tx: Transaction, readable: Clause, vector: Sequence[float], limit: int
) -> list[tuple[UUID, str, float]]:
    """The same by looking at every readable passage: what a sample of approximate answers is held against."""
    text, params = scanned(readable)
    near = _distance(len(vector))
    found = await tx.fetch(
        "with v as materialized (select v.node, v.part, v.vector from passage_vector v "  # noqa: S608
        f"join node n on n.id = v.node where n.alive and {text}) "
        f"select node, part, 1 - ({near}) from v order by {near} limit %s",
        (*params, _written(vector), _written(vector), limit),
    )
    return _nearest_first(found)


def _nearest_first(found: Iterable[Sequence[Any]]) -> list[tuple[UUID, str, float]]:
    return sorted(((r[0], str(r[1]), float(r[2])) for r in found), key=lambda r: (-r[2], r[0], r[1]))


def _distance(width: int) -> str:
    return f"v.vector::halfvec({width}) <=> %s::halfvec({width})"


def _written(vector: Sequence[float]) -> str:
    return "[" + ",".join(f"{x:.6g}" for x in vector) + "]"


async def count_passages(tx: Transaction, stop_at: int) -> int:
    """How many passages there are, counted no further than `stop_at`."""
    found = await tx.value("select count(*) from (select 1 from passage limit %s) s", (stop_at,))
    return int(found or 0)


async def without_vector(
    tx: Transaction, model: str, after: tuple[UUID, str], limit: int
) -> list[tuple[UUID, str, bytes]]:
    """`(node, part, float32 little endian)` of passages behind `after` to which embedding has come and that the index
    does not hold.
    """
    # `offset 0` keeps the two apart: what is missing is told by the keys alone, and no text or vector is read for that.
    found = await _binary(
        tx,
        "select m.node, m.part, e.vector from (select p.node, p.part from passage p where (p.node, p.part) > (%s, %s) "
        "and not exists (select from passage_vector v where v.node = p.node and v.part = p.part) "
        "order by p.node, p.part offset 0) m "
        "join passage p on p.node = m.node and p.part = m.part "
        "join embedding e on e.model = %s and e.content = p.content "
        "where p.arrived <= %s order by m.node, m.part limit %s",
        (*after, model, await embedded.reached(tx, model), limit),
    )
    return [(r[0], str(r[1]), r[2]) for r in found]


async def add_vectors(tx: Transaction, new: Sequence[tuple[UUID, str, bytes]]) -> None:
    """Add `(node, part, vector)`, each vector as pgvector sends one: number of dimensions, 0, big-endian halves."""
    async with (
        tx.connection.cursor() as cursor,
        cursor.copy("copy passage_vector (node, part, vector) from stdin (format binary)") as copy,
    ):
        await copy.write(b"PGCOPY\n\xff\r\n\0" + bytes(8))
        for node, part, vector in new:
            fields = (node.bytes, part.encode(), vector)
            await copy.write(b"\0\x03" + b"".join(len(f).to_bytes(4, "big") + f for f in fields))
        await copy.write(b"\xff\xff")


async def make_vector_index(session: Transaction, width: int) -> None:
    """The approximate index over vectors of `width` dimensions, if there is none and nobody is making it.

    `session` is no transaction: neither readers nor writers wait for it. Over a million vectors it takes minutes.
    """
    name = f"passage_vector_{width}"
    lock = (f"ukai.{name}",)
    is_there = await session.value("select indisvalid from pg_index where indexrelid = to_regclass(%s)", (name,))
    if is_there or not await session.value("select pg_try_advisory_lock(hashtextextended(%s, 0))", lock):
        return
    # Whatever has no place in memory is added to a file instead, one by one, which takes many times as long.
    need = (2 * width + GRAPH) * int(await session.value("select count(*) from passage_vector"))
    wanted = {
        "statement_timeout": "0",
        "lock_timeout": "0",
        "maintenance_work_mem": f"{min(max(need >> 10, 65_536), MOST_KB)}kB",
    }
    before = {setting: await session.value("select current_setting(%s)", (setting,)) for setting in wanted}
    try:
        await _set(session, wanted)
        await session.execute(f"drop index if exists {name}")  # what somebody began and could not end
        await session.execute(
            f"create index concurrently {name} on passage_vector "
            f"using hnsw ((vector::halfvec({width})) halfvec_cosine_ops)"
        )
    finally:
        await _set(session, before)
        await session.value("select pg_advisory_unlock(hashtextextended(%s, 0))", lock)


async def _set(session: Transaction, settings: Mapping[str, str]) -> None:
    for setting, value in settings.items():
        await session.execute("select set_config(%s, %s, false)", (setting, value))


def _array(ids: Iterable[UUID]) -> str:
    """As PostgreSQL writes an array: made one by one, 100,000 of them would take the driver a second."""
    return "{" + ",".join([id.hex for id in ids]) + "}"


async def _binary(tx: Transaction, statement: str, params: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Rows of numbers and hashes: as bytes on the wire they cost a third."""
    return [row async for piece in _pieces(tx, statement, params, _TUPLE) for row in piece]


async def _pieces(
    tx: Transaction, statement: str, params: Sequence[Any], made: Callable[[Sequence[Any]], Row]
) -> AsyncIterator[list[Row]]:
    """The same, some at a time: between two pieces others are answered, too."""
    async with tx.connection.cursor(binary=True, row_factory=lambda _: made) as cursor:
        # Not prepared: a plan for any list would look through a list of thousands row by row.
        await cursor.execute(statement.encode(), params, prepare=False)
        while piece := await cursor.fetchmany(PIECE):
            yield piece
            await asyncio.sleep(0)
