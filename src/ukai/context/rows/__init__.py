"""The SQL of this room: passages, how far they have followed the graph, and records with their owners."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, cast
from uuid import UUID

from ukai.access import OWNERS_DEPTH, OwningEdge, Record
from ukai.context.counted import Counted
from ukai.context.passages import Passage
from ukai.context.rows.clauses import Clause as Clause
from ukai.context.rows.clauses import Together as Together
from ukai.context.rows.clauses import also as also
from ukai.context.rows.clauses import among, array, those
from ukai.context.rows.clauses import filtering as filtering
from ukai.context.rows.clauses import scanned as scanned
from ukai.kit import canonical, handle, light
from ukai.store import Transaction


def owned_by(roots: Clause, owning: Sequence[OwningEdge]) -> Clause:
    """Selects the ids of the rows of `node r` for which `roots` holds, and of what these own, OWNERS_DEPTH down."""
    text, params = roots
    below, more = _below(owning)
    return (
        f"with recursive mine(id, depth) as (select r.id, 0 from node r where r.alive and {text} union {below}) "  # noqa: S608
        "select id from mine",
        [*params, *more],
    )


def _below(owning: Sequence[OwningEdge]) -> Clause:
    """One step down from `mine(id, depth)`. A join, no lateral look-up: a hub makes that read all edges each time."""
    sides = {"from": ("dst", "src"), "to": ("src", "dst")}
    types = {side: [e.edge for e in owning if e.owned_side == side] for side in sides}
    pairs = [
        f"select e.{owner} as owner, e.{owned} as owned from edge e where e.alive and e.type = any(%s)"  # noqa: S608
        for side, (owner, owned) in sides.items()
        if types[side]
    ]
    if not pairs:
        return "select id, depth from mine where false", []
    return (
        f"select o.owned, m.depth + 1 from mine m join ({' union all '.join(pairs)}) o on o.owner = m.id "  # noqa: S608
        f"where m.depth < {OWNERS_DEPTH}",
        [names for names in types.values() if names],
    )


@light.value
class Node(Record):
    """A living node as it is stored: a record without its owners, and what only the store tells of it."""

    id: UUID
    path: str = ""
    version: int
    field_versions: Mapping[str, int]
    """Field -> the version that last changed it; 1 where there is none."""
    said_at: str | None
    """When its source last said so, as it stands in its provenance."""
    earlier: Mapping[str, str | None]
    """The same of the versions before the last that a field is still of."""

    def said_of(self, fields: Iterable[str]) -> str | None:
        """When its source last said so of these fields: a change of another one does not move it."""
        if not self.field_versions:
            return self.said_at
        version = version_of(fields, self.field_versions)
        is_last = version == max(self.field_versions.values(), default=1)
        return self.said_at if is_last else self.earlier.get(str(version))


@dataclass(frozen=True, kw_only=True)
class Found:
    """A passage that may be read as far as whole records go; its field is still to be asked for."""

    node: UUID
    type: str
    key: str
    path: str
    part: str
    field: str
    ordinal: int
    lead: str
    text: str
    content: bytes
    at: datetime | None
    arrived: int
    """The how manieth text it was to come in."""


# Values as text: all of an answer are read at once.
_NODE = (
    "n.id, n.type, n.key, n.path, n.readers, n.props::text, n.state, n.version, "
    "nullif(n.field_versions, '{}')::text, n.provenance ->> 'at', n.earlier::text"
)
_PASSAGE = "n.id, n.type, n.key, n.path, p.part, p.field, p.ordinal, p.lead, p.text, p.content, p.at, p.arrived"


async def lock_index(tx: Transaction) -> tuple[str, int]:
    """The position reached; whoever holds it is the only one that moves it.

    In a database that was restored or copied into another cluster transactions are counted from another number: there
    everything is read once more.
    """
    moved = await tx.execute(
        "update passage_cursor set xid = '0', seq = 0, cluster = s.system_identifier from pg_control_system() s "
        "where passage_cursor.cluster <> s.system_identifier"
    )
    if moved:
        await tx.execute("delete from passage")
        await tx.execute("delete from called")
    row = await tx.one("select xid::text, seq from passage_cursor for update")
    assert row is not None
    return str(row[0]), int(row[1])


async def is_elsewhere(tx: Transaction) -> bool:
    """Whether this database was restored or copied into another cluster since the passages followed it."""
    found = await tx.value("select c.cluster <> s.system_identifier from passage_cursor c, pg_control_system() s")
    return bool(found)


async def changed(tx: Transaction, after: tuple[str, int], limit: int) -> list[tuple[UUID, str, int, bool]]:
    """`(node, xid, seq, settled)` of changes behind `after`, in feed order.

    `settled` is false while an older transaction still runs: such a change is read again next time, so that nothing
    that commits late is passed over.
    """
    # By the table's column: `order by xid` would be by the text beside it, where 1000 stands before 999.
    rows = await tx.fetch(
        "select id, xid::text, seq, xid < (select settled_before()) from change "
        "where kind = 'node' and (xid, seq) > (%s::xid8, %s) order by change.xid, change.seq limit %s",
        (*after, limit),
    )
    return [(r[0], str(r[1]), int(r[2]), bool(r[3])) for r in rows]


async def is_behind(tx: Transaction) -> bool:
    """Whether the graph has changes that the passages have not followed."""
    row = await tx.one(
        "select c.xid::text, c.seq, c.cluster <> s.system_identifier from passage_cursor c, pg_control_system() s"
    )
    assert row is not None
    xid, seq, moved = row
    # As values and not joined, so that the feed's index is entered at this place.
    found = moved or await tx.value(
        "select exists (select 1 from change where kind = 'node' and (xid, seq) > (%s::xid8, %s)) "
        "or exists (select 1 from passage where terms is null)",
        (xid, seq),
    )
    return bool(found)


async def count_behind(tx: Transaction, most: int) -> int:
    """How many changes the passages have not followed, counted up to `most`."""
    row = await tx.one("select xid::text, seq from passage_cursor")
    assert row is not None
    return int(
        await tx.value(
            "select count(*) from (select from change where kind = 'node' and (xid, seq) > (%s::xid8, %s) limit %s) c",
            (*row, most),
        )
    )


async def move_index(tx: Transaction, to: tuple[str, int]) -> None:
    """Remember the position."""
    await tx.execute("update passage_cursor set xid = %s::xid8, seq = %s", to)


async def save_passages(
    tx: Transaction, of: Sequence[UUID], new: Sequence[tuple[UUID, Passage, bytes, Counted]]
) -> None:
    """The passages of these nodes are `new` and no others. Only the lock of the index lets them in, one after another.

    A text that its field had before keeps its number: whatever else changes in the record, it has not come anew.
    """
    came = await tx.fetch("select node, field, content, arrived from passage where node = any(%s)", (list(of),))
    number = {(r[0], r[1], bytes(r[2])): int(r[3]) for r in came}
    await tx.execute("delete from passage where node = any(%s)", (list(of),))
    texts = dict.fromkeys((node, p.field, content) for node, p, content, _ in new)
    fresh = [text for text in texts if text not in number]
    last = await tx.value("update passage_cursor set arrived = arrived + %s returning arrived", (len(fresh),))
    number |= zip(fresh, range(int(last or 0) - len(fresh) + 1, int(last or 0) + 1), strict=True)
    columns = "node, part, field, ordinal, lead, text, content, at, arrived, terms, place, title, titled, size"
    async with (
        tx.connection.cursor() as cursor,
        cursor.copy(f"copy passage ({columns}) from stdin") as copy,
    ):
        for node, p, content, c in new:
            said = (node, p.part, p.field, p.ordinal, p.lead, p.text, content, p.at, number[node, p.field, content])
            await copy.write_row((*said, c.terms, c.place, c.title, c.titled, c.size))


async def uncounted(tx: Transaction, limit: int) -> list[UUID]:
    """Nodes whose passages were saved before passages were counted."""
    found = await tx.fetch("select distinct node from passage where terms is null limit %s", (limit,))
    return [r[0] for r in found]


async def save_names(tx: Transaction, of: Sequence[UUID], new: Sequence[tuple[UUID, str, str, str]]) -> None:
    """These nodes are called `(node, name, folded, first word)` and nothing else."""
    await tx.execute("delete from called where node = any(%s)", (list(of),))
    async with (
        tx.connection.cursor() as cursor,
        cursor.copy("copy called (node, name, folded, first) from stdin") as copy,
    ):
        for row in new:
            await copy.write_row(row)


async def called(
    tx: Transaction, readable: Clause, *, folded: Sequence[str], first: Sequence[str], limit: int
) -> list[tuple[str, Node]]:
    """`(name, node)` of readable nodes whose whole name or whose first word is one of these.

    Whole names first, as far as they are told from other words, then by name and key.
    """
    is_called, names = "(c.folded = any(%s) or c.first = any(%s))", (list(folded), list(first))
    text, params = among(readable, (f"select c.node from called c where {is_called}", names))  # noqa: S608
    rows = await tx.fetch(
        f"select c.name, {_NODE} from called c join node n on n.id = c.node where {is_called} and n.alive and {text} "  # noqa: S608
        "order by c.folded = any(%s) and c.name <> lower(c.name) desc, "
        'c.name collate "C", n.type, n.key collate "C" limit %s',
        (*names, *params, names[0], limit),
    )
    return list(zip((str(r[0]) for r in rows), _nodes([r[1:] for r in rows]), strict=True))


async def under(
    tx: Transaction, readable: Clause, roots: Sequence[UUID], owning: Sequence[OwningEdge], limit: int
) -> list[UUID]:
    """`roots` and what they own, up to OWNERS_DEPTH away, the nearest first, as far as they are readable.

    The way leads through what is readable alone: what hangs together by something hidden would tell of it.
    """
    found = [n.id for n in await readable_nodes(tx, readable, roots)]
    level = found
    for _ in range(OWNERS_DEPTH if owning else 0):
        if not level or len(found) >= limit:
            break
        level = await _owned(tx, readable, level, found, owning, limit - len(found))
        found = [*found, *level]
    return found[:limit]


async def _owned(
    tx: Transaction,
    readable: Clause,
    by: Sequence[UUID],
    known: Sequence[UUID],
    owning: Sequence[OwningEdge],
    limit: int,
) -> list[UUID]:
    """The first readable rows, by type and key, that these own and that are not `known`."""
    step, more = _below(owning)
    ordered = (
        f"with mine(id, depth) as (select unnest(%s::uuid[]), 0), step(id, depth) as ({step}) "  # noqa: S608
        "select n.id from node n where n.alive "
        "and n.id in (select id from step except select unnest(%s::uuid[])) "
        'order by n.type, n.key collate "C"'
    )
    return await first(tx, readable, (ordered, [array(by), *more, array(known)]), limit)


async def owned_among(
    tx: Transaction, owners: Sequence[UUID], among: Sequence[UUID], owning: Sequence[OwningEdge]
) -> set[UUID]:
    """Those of `among` that one of `owners` owns. Only their own edges are read: an owner may have any number."""
    found: set[UUID] = set()
    for side, (owned, owner) in {"from": ("src", "dst"), "to": ("dst", "src")}.items():
        if types := [e.edge for e in owning if e.owned_side == side]:
            rows = await tx.fetch(
                f"select distinct c.id from unnest(%s::uuid[]) c(id), lateral (select e.{owner} as owner from edge e "  # noqa: S608
                f"where e.alive and e.{owned} = c.id and e.type = any(%s) offset 0) o where o.owner = any(%s)",
                (list(among), types, list(owners)),
            )
            found.update(r[0] for r in rows)
    return found


async def first(tx: Transaction, readable: Clause, ordered: Clause, limit: int) -> list[UUID]:
    """Of the ids that `ordered` selects the first ones that are readable, in that order.

    Owners are asked for as many as will do if most are readable, and only then for all: one parent may have them all.
    """
    if not isinstance(readable, Together):
        text, params = ordered
        source = f"(select id, row_number() over () from ({text}) o) w (id, place)"  # noqa: S608
        return await _first(tx, readable, (source, params), limit)
    found: list[UUID] = []
    for most in (2 * limit, None):
        text, params = ordered
        ids = [r[0] for r in await tx.fetch(f"{text} limit %s", (*params, most))]
        source = "unnest(%s::uuid[]) with ordinality w (id, place)", [array(ids)]
        found = await _first(tx, those(readable, ids), source, limit)
        if len(found) == limit or len(ids) != most:
            break
    return found


async def _first(tx: Transaction, readable: Clause, source: Clause, limit: int) -> list[UUID]:
    (text, params), (selected, values) = readable, source
    rows = await tx.fetch(
        f"select n.id from {selected} join node n on n.id = w.id where n.alive and {text} order by w.place limit %s",  # noqa: S608
        (*values, *params, limit),
    )
    return [r[0] for r in rows]


async def below(tx: Transaction, roots: Sequence[UUID], owning: Sequence[OwningEdge], limit: int) -> list[UUID]:
    """`roots`, living or not, and what they own, up to OWNERS_DEPTH away, some of it more than once."""
    if not owning:
        return list(roots)[:limit]
    step, more = _below(owning)
    rows = await tx.fetch(
        f"with recursive mine(id, depth) as (select unnest(%s::uuid[]), 0 union {step}) select id from mine limit %s",  # noqa: S608
        (list(roots), *more, limit),
    )
    return [r[0] for r in rows]


async def nodes(tx: Transaction, ids: Sequence[UUID]) -> list[Node]:
    """Those of `ids` that live, in the order of their ids."""
    rows = await tx.fetch(f"select {_NODE} from node n where n.id = any(%s) and n.alive order by n.id", (list(ids),))  # noqa: S608
    return _nodes(rows)


async def readable_nodes(tx: Transaction, readable: Clause, ids: Sequence[UUID]) -> list[Node]:
    """Those of `ids` that live and are readable, in the order of their ids."""
    text, params = those(readable, ids)
    rows = await tx.fetch(
        f"select {_NODE} from node n where n.id = any(%s::uuid[]) and n.alive and {text} order by n.id",  # noqa: S608
        (array(ids), *params),
    )
    return _nodes(rows)


async def field_versions(tx: Transaction, ids: Sequence[UUID]) -> dict[UUID, Mapping[str, int]]:
    """Of each node, by field, the version that last changed it."""
    rows = await tx.fetch("select id, field_versions from node where id = any(%s)", (list(ids),))
    return {r[0]: r[1] for r in rows}


def version_of(fields: Iterable[str], versions: Mapping[str, int]) -> int:
    """The version of a record as far as these of its fields go: a change of another one does not move it."""
    return max((versions.get(f, 1) for f in fields), default=1)


async def changed_at(tx: Transaction, node: UUID, version: int) -> datetime | None:
    """When the node became this version of itself, as far as the history still tells."""
    return await tx.value(
        "select min(at) from change where kind = 'node' and id = %s and version = %s", (node, version)
    )


async def by_handle(tx: Transaction, handles: Sequence[handle.Handle]) -> dict[str, Node]:
    """The living nodes of these handles, by the handle without its part."""
    rows = await tx.fetch(
        f"select {_NODE} from unnest(%s::text[], %s::text[]) w(type, key) "  # noqa: S608
        "join node n on n.type = w.type and n.key = w.key and n.gone = 0",
        ([h.type for h in handles], [h.key for h in handles]),
    )
    return {node.handle: node for node in _nodes(rows)}


async def listed(
    tx: Transaction,
    readable: Clause,
    *,
    type: str,
    limit: int,
    after: str = "",
    where: Iterable[tuple[str, Any]] = (),
) -> list[Node]:
    """Readable nodes of a type in the order of their keys, after the key `after`, for which all of `where` hold.

    A pair is a field and a value that it has, or has among others; of a list of values one is enough.
    """
    text, params = readable
    asked: list[tuple[str, list[Any]]] = [
        (field, cast("list[Any]", value) if isinstance(value, list) else [value]) for field, value in where
    ]
    fields = "to_jsonb(n.props) || jsonb_strip_nulls(jsonb_build_object('state', n.state))"
    matches = "".join(f"and ({fields}) -> %s::text @> any(%s::jsonb[]) " for _ in asked)
    values = [p for field, options in asked for p in (field, [canonical.dumps(o) for o in options])]
    rows = await tx.fetch(
        f"select {_NODE} from node n where n.alive and n.type = %s and n.key > %s {matches}and {text} "  # noqa: S608
        "order by n.key limit %s",
        (type, after, *values, *params, limit),
    )
    return _nodes(rows)


async def neighbours(
    tx: Transaction, readable: Clause, *, of: UUID, edges: Sequence[str] | None, limit: int
) -> list[tuple[str, str, Node]]:
    """`(edge, direction, node)` of readable nodes one edge away, `out` before `in`, then by edge and key."""
    beside = "select e.src from edge e where e.dst = %s union all select e.dst from edge e where e.src = %s"
    text, params = among(readable, (beside, (of, of)))
    one_way = (
        "select e.type as edge, '{way}' as way, {end} as id from edge e where e.alive and {start} = %s "
        "and (%s::text[] is null or e.type = any(%s))"
    )
    both = " union all ".join(
        one_way.format(way=way, end=end, start=start)
        for way, start, end in (("out", "e.src", "e.dst"), ("in", "e.dst", "e.src"))
    )
    names = None if edges is None else list(edges)
    rows = await tx.fetch(
        f"select e.edge, e.way, {_NODE} from ({both}) e join node n on n.id = e.id where n.alive and {text} "  # noqa: S608
        "order by e.way desc, e.edge, n.type, n.key limit %s",
        (of, names, names, of, names, names, *params, limit),
    )
    near = _nodes([r[2:] for r in rows])
    return [(str(edge), str(way), node) for (edge, way, *_), node in zip(rows, near, strict=True)]


async def count_passages(tx: Transaction, readable: Clause, stop_at: int) -> int:
    """How many passages stand in readable nodes, counted no further than `stop_at`."""
    text, params = scanned(readable)
    found = await tx.value(
        f"select count(*) from (select 1 from passage p join node n on n.id = p.node where n.alive and {text} "  # noqa: S608
        "limit %s) s",
        (*params, stop_at),
    )
    return int(found or 0)


async def all_passages(tx: Transaction, readable: Clause) -> list[Found]:
    """Every passage of a readable node, in a fixed order."""
    text, params = scanned(readable)
    rows = await tx.fetch(
        f"select {_PASSAGE} from passage p join node n on n.id = p.node where n.alive and {text} "  # noqa: S608
        'order by n.type, n.key collate "C", p.ordinal',
        params,
    )
    return [_found(r) for r in rows]


async def passages_of(tx: Transaction, readable: Clause, of: Sequence[UUID]) -> list[Found]:
    """The passages of these nodes, as far as they are readable, in the fixed order."""
    text, params = those(readable, of)
    rows = await tx.fetch(
        f"select {_PASSAGE} from passage p join node n on n.id = p.node "  # noqa: S608
        f"where p.node = any(%s) and n.alive and {text} "
        'order by n.type, n.key collate "C", p.ordinal',
        (list(of), *params),
    )
    return [_found(r) for r in rows]


async def unsearched(
    tx: Transaction, readable: Clause, *, of: Sequence[UUID], types: Sequence[str], limit: int
) -> list[Node]:
    """Readable nodes of these types among `of`, in the order of their keys."""
    text, params = those(readable, of)
    rows = await tx.fetch(
        f"select {_NODE} from node n where n.id = any(%s) and n.type = any(%s) and n.alive and {text} "  # noqa: S608
        'order by n.type, n.key collate "C" limit %s',
        (list(of), list(types), *params, limit),
    )
    return _nodes(rows)


async def matching_passages(tx: Transaction, readable: Clause, words: Iterable[str], limit: int) -> list[Found]:
    """The passages of readable nodes that hold the most of `words`, at most `limit`, best first.

    Each row is ranked by itself alone, so that nothing a reader may not see moves what comes back.
    """
    (begin, before), (text, params) = filtering(readable)
    query = " | ".join(sorted(f"'{w}':*" for w in words if w.isalnum()))
    if not query:
        return []
    rows = await tx.fetch(
        f"{begin}select {_PASSAGE} from passage p join node n on n.id = p.node, to_tsquery('simple', %s) q "  # noqa: S608
        f"where p.words @@ q and n.alive and {text} "
        'order by ts_rank(p.words, q) desc, n.type, n.key collate "C", p.ordinal limit %s',
        (*before, query, *params, limit),
    )
    return [_found(r) for r in rows]


async def records(tx: Transaction, found: Sequence[Node], owning: Sequence[OwningEdge]) -> dict[UUID, Record]:
    """The nodes as records with their owners, up to OWNERS_DEPTH away, for decisions about fields."""
    above: dict[UUID, list[UUID]] = {}
    known = {n.id: n for n in found}
    level = list(known)
    for _ in range(OWNERS_DEPTH if owning else 0):
        pairs = await _owners(tx, [i for i in level if i not in above], owning) if level else []
        for owned, owner in pairs:
            above.setdefault(owned, []).append(owner)
        missing = sorted({owner for _, owner in pairs} - known.keys())
        known |= {n.id: n for n in await nodes(tx, missing)} if missing else {}
        level = sorted({owner for _, owner in pairs})
    if not above:
        return {n.id: n for n in found}
    return {n.id: _record(n.id, known, above, OWNERS_DEPTH) for n in found}


async def _owners(tx: Transaction, ids: Sequence[UUID], owning: Sequence[OwningEdge]) -> list[tuple[UUID, UUID]]:
    owned_from = [e.edge for e in owning if e.owned_side == "from"]
    owned_to = [e.edge for e in owning if e.owned_side == "to"]
    rows = await tx.fetch(
        "select src, dst from edge where alive and src = any(%s) and type = any(%s) union "
        "select dst, src from edge where alive and dst = any(%s) and type = any(%s) order by 1, 2",
        (list(ids), owned_from, list(ids), owned_to),
    )
    return [(r[0], r[1]) for r in rows]


def _record(id: UUID, known: Mapping[UUID, Node], above: Mapping[UUID, Sequence[UUID]], depth: int) -> Record:
    node = known[id]
    owners = tuple(_record(o, known, above, depth - 1) for o in above.get(id, ()) if o in known) if depth else ()
    return replace(node, owners=owners) if owners else node


def _nodes(rows: Sequence[Sequence[Any]]) -> list[Node]:
    values: list[dict[str, Any]] = json.loads(f"[{','.join([r[5] for r in rows])}]")
    return [
        Node(
            id=id,
            type=type,
            key=key,
            path=path,
            readers=None if who is None else frozenset(who),
            fields=fields if state is None else {**fields, "state": state},
            version=version,
            field_versions=json.loads(changed) if changed else {},
            said_at=said_at,
            earlier=json.loads(earlier) if earlier else {},
        )
        for (id, type, key, path, who, _, state, version, changed, said_at, earlier), fields in zip(
            rows, values, strict=True
        )
    ]


def _found(row: Sequence[Any]) -> Found:
    node, type, key, path, part, field, ordinal, lead, text, content, at, arrived = row
    return Found(
        node=node,
        type=type,
        key=key,
        path=path,
        part=part,
        field=field,
        ordinal=ordinal,
        lead=lead,
        text=text,
        content=bytes(content),
        at=at,
        arrived=int(arrived),
    )
