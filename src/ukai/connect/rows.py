"""The room's SQL: how far pulls have come, what was said last, what waits in quarantine, what the graph has of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from ukai import store


@dataclass(frozen=True, kw_only=True)
class Pull:
    """A pull as it stands."""

    id: UUID
    state: str
    source: str
    position: int
    cursor: Any
    columns: tuple[str, ...]
    counts: Mapping[str, int]


@dataclass(frozen=True, kw_only=True)
class Held:
    """A row in quarantine."""

    id: UUID
    connector: str
    place: str
    key: str | None
    codes: tuple[str, ...]
    findings: tuple[Mapping[str, Any], ...]
    source: str
    """JSON of the row, or the text that could not be read as one."""
    is_raw: bool
    first_at: datetime
    last_at: datetime
    tries: int


async def lock(tx: store.Transaction, connector: str) -> bool:
    """Whether nobody else pulls with this connector until the connection ends or `unlock` is called."""
    return await tx.value("select pg_try_advisory_lock(hashtextextended('ukai.pull ' || %s, 0))", (connector,))


async def unlock(tx: store.Transaction, connector: str) -> None:
    """Let others pull."""
    await tx.value("select pg_advisory_unlock(hashtextextended('ukai.pull ' || %s, 0))", (connector,))


async def last(tx: store.Transaction, connector: str, state: str) -> Pull | None:
    """The last pull in this state."""
    row = await tx.one(
        """select id, state, source, position, cursor, columns, counts from pull
           where connector = %s and state = %s order by started_at desc, id desc limit 1""",
        (connector, state),
    )
    if row is None:
        return None
    id, state, source, position, cursor, columns, counts = row
    return Pull(
        id=id, state=state, source=source, position=position, cursor=cursor, columns=tuple(columns), counts=counts
    )


async def brought_in(tx: store.Transaction, asked: Sequence[tuple[str, str]]) -> set[str]:
    """Of (connector, key): the connectors that took in such a record and still speak of it."""
    found = await tx.fetch(
        """select distinct p.connector from unnest(%s::text[], %s::text[]) a(connector, key)
           join pulled p on p.connector = a.connector and p.key = a.key""",
        ([name for name, _ in asked], [key for _, key in asked]),
    )
    return {name for (name,) in found}


async def ages(tx: store.Transaction, connectors: Sequence[str]) -> dict[str, tuple[datetime | None, datetime]]:
    """Connector -> when its last finished pull ended, if one did, and when its first pull began."""
    found = await tx.fetch(
        """select connector, max(ended_at) filter (where state = 'done'), min(started_at) from pull
           where connector = any (%s) group by connector""",
        (list(connectors),),
    )
    return {name: (finished, began) for name, finished, began in found}


async def begin(tx: store.Transaction, connector: str, id: UUID, *, source: str, at: datetime) -> Pull:
    """A new pull; what an earlier one left undone is left behind."""
    await tx.execute(
        "update pull set state = 'left', ended_at = %s where connector = %s and state = 'running'", (at, connector)
    )
    await tx.execute(
        "insert into pull (id, connector, state, started_at, source) values (%s, %s, 'running', %s, %s)",
        (id, connector, at, source),
    )
    return Pull(id=id, state="running", source=source, position=0, cursor=None, columns=(), counts={})


async def move(tx: store.Transaction, pull: UUID, *, position: int, cursor: Any, counts: Mapping[str, int]) -> None:
    """How far it has come now."""
    await tx.execute(
        "update pull set position = %s, cursor = %s, counts = %s where id = %s",
        (position, Jsonb(cursor), Jsonb(dict(counts)), pull),
    )


async def end(tx: store.Transaction, pull: UUID, *, state: str, columns: Sequence[str], at: datetime) -> None:
    """It is over."""
    await tx.execute(
        "update pull set state = %s, columns = %s, ended_at = %s where id = %s", (state, list(columns), at, pull)
    )


async def said(tx: store.Transaction, connector: str, keys: Sequence[str]) -> dict[str, tuple[bytes, UUID]]:
    """Key -> the content that was taken in last, and in which pull."""
    found = await tx.fetch(
        "select key, content, pull from pulled where connector = %s and key = any (%s)", (connector, list(keys))
    )
    return {key: (bytes(content), pull) for key, content, pull in found}


async def say(
    tx: store.Transaction, connector: str, pull: UUID, keys: Sequence[str], contents: Sequence[bytes]
) -> None:
    """What was taken in about these records."""
    await tx.execute(
        """insert into pulled (connector, key, content, pull)
           select %s, key, content, %s from unnest(%s::text[], %s::bytea[]) t(key, content) order by key
           on conflict (connector, key) do update set content = excluded.content, pull = excluded.pull""",
        (connector, pull, list(keys), list(contents)),
    )


async def met(tx: store.Transaction, connector: str, pull: UUID, keys: Sequence[str]) -> None:
    """The source still has these records, whatever it says about them."""
    await tx.execute(
        "update pulled set pull = %s where connector = %s and key = any (%s) and pull <> %s",
        (pull, connector, list(keys), pull),
    )


async def unsaid(tx: store.Transaction, connector: str, pull: UUID, after: str, limit: int) -> list[str]:
    """Keys that earlier pulls met and this one did not, in order."""
    found = await tx.fetch(
        """select key from pulled where connector = %s and pull <> %s and key > %s collate "C" order by key limit %s""",
        (connector, pull, after, limit),
    )
    return [key for (key,) in found]


async def forget(tx: store.Transaction, connector: str, keys: Sequence[str]) -> None:
    """The connector says nothing about these any more."""
    await tx.execute("delete from pulled where connector = %s and key = any (%s)", (connector, list(keys)))


async def edges(
    tx: store.Transaction, type: str, keys: Sequence[str], edge_types: Sequence[str]
) -> list[tuple[str, str, str, str, str, str]]:
    """(key of the node, edge type, `to` | `from`, type and key of the other end, who made it) of living edges."""
    return await tx.fetch(  # pyright: ignore[reportReturnType]
        """select n.key, e.type, 'to', o.type, o.key, e.provenance->>'by'
           from node n join edge e on e.src = n.id and e.gone = 0 and e.type = any (%(edges)s)
           join node o on o.id = e.dst where n.type = %(type)s and n.gone = 0 and n.key = any (%(keys)s)
           union all
           select n.key, e.type, 'from', o.type, o.key, e.provenance->>'by'
           from node n join edge e on e.dst = n.id and e.gone = 0 and e.type = any (%(edges)s)
           join node o on o.id = e.src where n.type = %(type)s and n.gone = 0 and n.key = any (%(keys)s)""",
        {"type": type, "keys": list(keys), "edges": list(edge_types)},
    )


async def holders(tx: store.Transaction, type: str, field: str, values: Sequence[str]) -> dict[str, str]:
    """Claimed value of a unique field -> key of the node that holds it."""
    found = await tx.fetch(
        """select c.value, n.key from claim c join node n on n.id = c.holder and n.gone = 0
           where c.type = %s and c.name = %s and c.value = any (%s)""",
        (type, field, list(values)),
    )
    return dict(found)  # pyright: ignore[reportArgumentType]


async def hold(
    tx: store.Transaction, connector: str, pull: UUID, held: Sequence[Mapping[str, Any]], at: datetime
) -> None:
    """Put rows into quarantine; one that waits there already has come once more."""
    cursor = tx.connection.cursor()
    await cursor.executemany(
        """insert into quarantine (id, connector, content, pull, place, key, codes, findings, source, is_raw,
                                   first_at, last_at)
           values (%(id)s, %(connector)s, %(content)s, %(pull)s, %(place)s, %(key)s, %(codes)s, %(findings)s,
                   %(source)s, %(is_raw)s, %(at)s, %(at)s)
           on conflict (connector, content) do update
           set pull = excluded.pull, place = excluded.place, key = excluded.key, codes = excluded.codes,
               findings = excluded.findings, last_at = excluded.last_at, tries = quarantine.tries + 1""",
        [{**h, "findings": Jsonb(h["findings"]), "connector": connector, "pull": pull, "at": at} for h in held],
    )


async def release(tx: store.Transaction, connector: str, keys: Sequence[str], contents: Sequence[bytes] = ()) -> int:
    """Rows in quarantine that say something about these records, or just this, which came in since; how many."""
    return await tx.execute(
        "delete from quarantine where connector = %s and (key = any (%s) or content = any (%s))",
        (connector, list(keys), list(contents)),
    )


async def drop(tx: store.Transaction, ids: Sequence[UUID]) -> int:
    """Let go of rows; how many there were."""
    return await tx.execute("delete from quarantine where id = any (%s)", (list(ids),))


async def still(tx: store.Transaction, ids: Sequence[UUID]) -> int:
    """How many of these rows wait."""
    return await tx.value("select count(*) from quarantine where id = any (%s)", (list(ids),))


async def drop_all(tx: store.Transaction, connector: str) -> int:
    """Let go of all rows of a connector; how many there were."""
    return await tx.execute("delete from quarantine where connector = %s", (connector,))


_HELD = """select id, connector, place, key, codes, findings, source, is_raw, first_at, last_at, tries
           from quarantine"""


async def held(
    tx: store.Transaction,
    *,
    connector: str = "",
    code: str = "",
    pull: UUID | None = None,
    after: UUID | None,
    limit: int,
) -> list[Held]:
    """Rows in quarantine, in the order in which they came."""
    found = await tx.fetch(
        _HELD
        + """ where (%(connector)s = '' or connector = %(connector)s) and (%(code)s = '' or %(code)s = any (codes))
                and (%(pull)s::uuid is null or pull = %(pull)s) and (%(after)s::uuid is null or id > %(after)s)
              order by id limit %(limit)s""",
        {"connector": connector, "code": code, "pull": pull, "after": after, "limit": limit},
    )
    return [_held(row) for row in found]


async def one(tx: store.Transaction, id: UUID) -> Held | None:
    """One row in quarantine."""
    row = await tx.one(_HELD + " where id = %s", (id,))
    return None if row is None else _held(row)


async def waiting(tx: store.Transaction, connectors: Sequence[str]) -> list[tuple[str, str, int]]:
    """(connector, code, rows), most first."""
    return await tx.fetch(  # pyright: ignore[reportReturnType]
        """select connector, code, count(*) from quarantine cross join lateral unnest(codes) code
           where connector = any (%s) group by 1, 2 order by 3 desc, 1, 2""",
        (list(connectors),),
    )


def _held(row: tuple[Any, ...]) -> Held:
    id, connector, place, key, codes, findings, source, is_raw, first_at, last_at, tries = row
    return Held(
        id=id,
        connector=connector,
        place=place,
        key=key,
        codes=tuple(codes),
        findings=tuple(findings),
        source=source,
        is_raw=is_raw,
        first_at=first_at,
        last_at=last_at,
        tries=tries,
    )
