"""Nodes looked up beside a proposal: whom rights are asked about, and what a rejection names."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any, cast
from uuid import UUID

from ukai import store
from ukai.access import record
from ukai.gate.rights import Rights
from ukai.gate.rows.statement import CHANGE, Allowed, dicts, put
from ukai.kit import handle

SAMPLE, FEW = 1_000, 100
"""Where of so many rows on either side of a key fewer than so many may be read, all rows are asked about once, and not
again for each key."""


async def named(tx: store.Transaction, ids: Sequence[str]) -> dict[str, str]:
    """Node id -> handle, for those there are, the deleted included. Neither type nor key ever changes."""
    rows = await tx.fetch("select id, type, key from node where id = any (%s::uuid[])", (list(ids),))
    return {str(id): f"{type}#{key}" for id, type, key in rows}


async def owning(tx: store.Transaction) -> list[tuple[str, str]]:
    """(edge type, owning end) of the edges along which rights pass."""
    return await tx.fetch("select edge, owns from edge_type where owns <> '' order by edge")  # pyright: ignore[reportReturnType]


async def owning_edges(tx: store.Transaction) -> list[record.OwningEdge]:
    """The same as `Rights.sql` takes them."""
    return [
        record.OwningEdge(edge=edge, owned_side="from" if owner == "target" else "to")
        for edge, owner in await owning(tx)
    ]


async def owners_of(tx: store.Transaction, ids: Sequence[str], *, depth: int) -> list[tuple[str, str]]:
    """(owned, owner) along living owning edges, `depth` steps up from `ids`."""
    found = await tx.fetch(
        """with recursive up(owned, owner, step) as (
               select null::uuid, unnest(%s::uuid[]), 0
               union
               select u.owner, case t.owns when 'target' then e.dst else e.src end, u.step + 1
               from up u join edge e on e.gone = 0 and (e.src = u.owner or e.dst = u.owner)
               join edge_type t on t.edge = e.type and t.owns <> ''
               where u.step < %s and u.owner = case t.owns when 'target' then e.src else e.dst end
           )
           select distinct owned, owner from up where owned is not null order by owned, owner""",
        (list(ids), depth),
    )
    return [(str(owned), str(owner)) for owned, owner in found]


async def node(tx: store.Transaction, id: UUID) -> dict[str, Any] | None:
    """A node as it stands, deleted or not."""
    found = await dicts(tx, "select * from node where id = %s", (id,))
    return found[0] if found else None


async def nodes(tx: store.Transaction, ids: Sequence[str]) -> list[dict[str, Any]]:
    """Nodes as they stand, deleted or not."""
    return await dicts(tx, "select * from node where id = any (%s::uuid[])", (list(ids),))


async def records(tx: store.Transaction, ids: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Id -> living node."""
    found = await dicts(
        tx,
        "select id, type, key, path, readers, props, state, alive from node where gone = 0 and id = any (%s::uuid[])",
        (list(ids),),
    )
    return {str(r["id"]): r for r in found}


async def ids_of(tx: store.Transaction, handles: Sequence[handle.Handle]) -> dict[str, UUID]:
    """Handle -> the living node, else the one that was deleted last; of those there are."""
    found = await tx.fetch(
        """select distinct on (n.type, n.key) n.type || '#' || n.key, n.id
           from node n join unnest(%s::text[], %s::text[]) h(type, key) using (type, key)
           order by n.type, n.key, n.alive desc, n.gone desc""",
        ([h.type for h in handles], [h.key for h in handles]),
    )
    return dict(cast("list[tuple[str, UUID]]", found))


async def readable(
    tx: store.Transaction,
    *,
    allowed: Allowed,
    id: UUID | None = None,
    type: str = "",
    key: str = "",
    at: datetime | None = None,
) -> UUID | None:
    """The node of this id or handle, if it may be read: one that lived at `at` (now) first, then the living one."""
    text, params = allowed
    return await tx.value(
        put(
            """select n.id from node n where {named} and {allowed}
               order by (n.created_at <= coalesce(%s, now()) and (n.alive or n.updated_at > coalesce(%s, now()))) desc,
                        n.alive desc, n.gone desc
               limit 1""",
            named="n.id = %s" if id is not None else "n.type = %s and n.key = %s",
            allowed=text,
        ),
        [*((id,) if id is not None else (type, key)), *params, at, at],
    )


async def seen(tx: store.Transaction, ids: Collection[str | UUID], rights: Rights) -> set[UUID]:
    """Those of the nodes, living or not, that may be read. Whoever owns many of them is asked once."""
    wanted, owning = sorted(map(str, ids)), await owning_edges(tx)
    if not wanted:
        return set()
    together = rights.sql_among(("%s::uuid[]", [wanted]), owning, dead=True)
    if together is None:
        text, params = rights.sql("n", owning)
        statement = put("select n.id from node n where n.id = any (%s::uuid[]) and {allowed}", allowed=text)
        return {id for (id,) in await tx.fetch(statement, [wanted, *params])}
    text, params = together
    return {id for (id,) in await tx.fetch(put("select unnest({among})", among=text), params)}


async def handles(tx: store.Transaction, ids: Collection[str], rights: Rights) -> dict[str, str]:
    """Node id -> handle, of those that may be read."""
    return await named(tx, [str(id) for id in await seen(tx, ids, rights)]) if ids else {}


async def keys_near(tx: store.Transaction, type: str, keys: Sequence[str], rights: Rights) -> list[str]:
    """Keys of living nodes of the type that may be meant by one of `keys`, of those that may be read.

    Neighbours in their order, and the first ones. Few of very many may be those: whoever owns many is asked once, and
    not for each row that a search for a neighbour passes; nor are rows themselves. The keys are the same either way.
    """
    owning = await owning_edges(tx)
    together = rights.sql_among(("array(select id from node where type = %s and gone = 0)", [type]), owning)
    text, params = together or rights.sql("n", owning)
    is_once = together is not None or await _reads_few(tx, type, keys[0], (text, params))
    statement = put(
        "with seen as {once} (select n.key from node n where {allowed}) {near}",
        once="materialized" if is_once else "not materialized",
        allowed=f"n.id = any ({text})" if together else f"n.type = %s and n.gone = 0 and {text}",
        near="""
           select f.key from unnest(%s::text[]) k(key) cross join lateral (
               select s.key from seen s where s.key >= k.key order by s.key limit 100) f
           union
           select f.key from unnest(%s::text[]) k(key) cross join lateral (
               select s.key from seen s where s.key < k.key order by s.key desc limit 100) f
           union
           (select s.key from seen s order by s.key limit 1000)""",
    )
    names = list(keys)
    return [k for (k,) in await tx.fetch(statement, [*([] if together else [type]), *params, names, names])]


async def _reads_few(tx: store.Transaction, type: str, key: str, allowed: Allowed) -> bool:
    text, params = allowed
    statement = put(
        """select count(*) from (
               (select n.* from node n where n.type = %s and n.gone = 0 and n.key >= %s order by n.key limit %s)
               union all
               (select n.* from node n where n.type = %s and n.gone = 0 and n.key < %s order by n.key desc limit %s)) n
           where {allowed}""",
        allowed=text,
    )
    return await tx.value(statement, [*(type, key, SAMPLE) * 2, *params]) < FEW


async def deletions(
    tx: store.Transaction, named: Sequence[tuple[str, str]], allowed: Allowed
) -> dict[tuple[str, str], dict[str, Any]]:
    """(type, key) -> the last change that deleted such a node, if it might be read."""
    if not named:
        return {}
    text, params = allowed
    statement = put(
        """select distinct on (n.type, n.key) n.type, n.key, n.gone as seq, c.at, m.author_kind, m.author_id
           from node n join change c on c.seq = n.gone join commit m on m.id = c.commit
           where n.gone > 0 and (n.type, n.key) in (select * from unnest(%s::text[], %s::text[])) and {allowed}
           order by n.type, n.key, n.gone desc""",
        allowed=text,
    )
    found = await dicts(tx, statement, [[t for t, _ in named], [k for _, k in named], *params])
    return {(r["type"], r["key"]): r for r in found}


async def changes_numbered(tx: store.Transaction, numbers: Sequence[int]) -> dict[int, dict[str, Any]]:
    """Change -> its row with the author."""
    if not numbers:
        return {}
    return {r["seq"]: r for r in await dicts(tx, CHANGE + " where c.seq = any (%s)", (list(numbers),))}


async def last_changes(
    tx: store.Transaction, versions: Sequence[tuple[str, int]]
) -> dict[str, dict[str, dict[str, Any]]]:
    """Id -> field -> the last change of it after the version."""
    found: dict[str, dict[str, dict[str, Any]]] = {}
    if not versions:
        return found
    for row in await dicts(
        tx,
        "select distinct on (v.id, f.name) v.id, f.name, c.at, m.author_kind, m.author_id"
        " from unnest(%s::uuid[], %s::int[]) v(id, version) join change c on c.id = v.id and c.version > v.version"
        " join commit m on m.id = c.commit cross join lateral unnest(c.fields) f(name)"
        " where f.name not like '@%%' order by v.id, f.name, c.seq desc",
        ([id for id, _ in versions], [version for _, version in versions]),
    ):
        found.setdefault(str(row["id"]), {})[row["name"]] = row
    return found
