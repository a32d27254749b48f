"""All living nodes or edges of a type, in parts; and what of them a schema would count differently."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any
from uuid import UUID

from ukai import store
from ukai.gate.rows.statement import Allowed, dicts, put

PART = 2_000
EVERYTHING: Allowed = ("true", ())


async def nodes_after(
    tx: store.Transaction, type: str, key: str, *, allowed: Allowed = EVERYTHING, limit: int = PART
) -> list[dict[str, Any]]:
    """The living nodes of a type (id, key, props, state, version) that are `allowed`, by key, those after `key`."""
    text, params = allowed
    statement = put(
        """select n.id, n.key, n.props, n.state, n.version from node n
           where n.type = %s and n.gone = 0 and n.key > %s and {allowed} order by n.key limit %s""",
        allowed=text,
    )
    return await dicts(tx, statement, [type, key, *params, limit])


async def nodes_of(tx: store.Transaction, type: str) -> AsyncGenerator[list[dict[str, Any]]]:
    """All of them, some at a time."""
    last = ""
    while found := await nodes_after(tx, type, last):
        yield found
        last = found[-1]["key"]


async def edges_of(tx: store.Transaction, type: str, *, part: int = PART) -> AsyncGenerator[list[dict[str, Any]]]:
    """The living edges of a type (id, src, props), some at a time."""
    last = UUID(int=0)
    while found := await dicts(
        tx,
        "select id, src, props from edge where type = %s and gone = 0 and id > %s order by id limit %s",
        (type, last, part),
    ):
        yield found
        last = found[-1]["id"]


async def counted_otherwise(
    tx: store.Transaction, edge: str, side: str, *, types: tuple[str, ...], least: int, most: int | None
) -> list[UUID]:
    """The living nodes of the types with fewer or more of these edges on the side than that."""
    statement = put(
        """select n.id from node n
           left join (select {near} as node, count(*) as edges from edge where type = %s and gone = 0 group by 1) e
                on e.node = n.id
           where n.type = any (%s) and n.gone = 0 and (coalesce(edges, 0) < %s or coalesce(edges, 0) > %s)
           order by n.type, n.key""",
        near="src" if side == "out" else "dst",
    )
    found = await dicts(tx, statement, (edge, list(types), least, 2**31 if most is None else most))
    return [row["id"] for row in found]


async def held_twice(tx: store.Transaction, type: str, field: str) -> list[UUID]:
    """The living nodes whose value an elder one has."""
    found = await tx.fetch(
        """select id from (
               select id, row_number() over (partition by props->%s order by created_at, id) as place
               from node where type = %s and gone = 0 and props ? %s) held
           where place > 1""",
        (field, type, field),
    )
    return [id for (id,) in found]
