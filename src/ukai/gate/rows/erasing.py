"""A person removed from what the database holds: the graph by a function, everything else column by column."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any
from uuid import UUID

import psycopg
from psycopg import sql
from psycopg.types.json import Jsonb

from ukai import store

ELSEWHERE = (
    *("run", "run_event"),  # the record room seals them anew
    *("node", "edge", "change", "change_text", "claim", "erasure", "alembic_version"),
)
"""Tables that are not rewritten column by column."""
DROPPED = {
    "embedding": "content in (select content from passage where erase_hits(text || ' ' || lead, %(patterns)s))",
    "passage": "erase_hits(text || ' ' || lead, %(patterns)s)",
    "called": "erase_hits(name, %(patterns)s)",
    "composition": """report in (select sha256 from composition_report where erase_hits(body, %(patterns)s))
                      or erase_hits(request || ' ' || principals::text, %(patterns)s)""",
    "composition_report": "erase_hits(body, %(patterns)s)",
    "idempotency": "erase_hits(scope || ' ' || key, %(patterns)s)",
    "attempt": "erase_hits(author_id, %(patterns)s)",
}
"""Rows that go as a whole: what is derived and made again without the person, and what is nothing without them."""
OWNED_BUT_KEPT = ("run", "spending", "spending_held")
"""Tables with a column `principal` whose rows stay: what was spent stays spent. Everybody else's are the person's own
(tokens, credentials, opinions, questions under way), and go.
"""
_TEXTS = ("text", "character varying", "json", "jsonb", "ARRAY")


@asynccontextmanager
async def tried(db: store.Database, *, keep: bool) -> AsyncGenerator[store.Transaction]:
    """A transaction that is rolled back at its end unless it is to be kept."""
    async with db.transaction() as tx:
        yield tx
        if not keep:
            raise psycopg.Rollback


async def erase_graph(
    tx: store.Transaction,
    *,
    patterns: Sequence[str],
    marks: Sequence[str],
    own: Mapping[str, Any],
    commit: UUID,
    at: datetime,
) -> dict[str, int]:
    """Records, edges, history and claims; how many of each."""
    by = Jsonb({"commit": str(commit), "at": at.isoformat()})
    return await tx.value("select erase_graph(%s, %s, %s, %s)", (list(patterns), list(marks), Jsonb(dict(own)), by))


async def drop_rows(tx: store.Transaction, *, patterns: Sequence[str]) -> dict[str, int]:
    """Table -> how many rows went: those of `DROPPED`, and what is the person's own."""
    there = await tables(tx)
    own = [t for t, columns in there.items() if ("principal", "text") in columns and t not in OWNED_BUT_KEPT]
    conditions = dict.fromkeys(own, "erase_hits(principal, %(patterns)s)") | DROPPED
    gone: dict[str, int] = {}
    for table, condition in conditions.items():
        if table in there:
            gone[table] = await tx.execute(f"delete from {table} where {condition}", {"patterns": list(patterns)})  # noqa: S608
    return gone


async def mask_columns(tx: store.Transaction, *, patterns: Sequence[str], marks: Sequence[str]) -> dict[str, int]:
    """Table -> rows in which a text was rewritten, over every table but `ELSEWHERE`."""
    masked: dict[str, int] = {}
    for table, columns in (await tables(tx)).items():
        if table in ELSEWHERE or not columns:
            continue
        sets = sql.SQL(", ").join(
            sql.SQL("{c} = erase_text({c}::text, %(patterns)s, %(marks)s)::{t}").format(
                c=sql.Identifier(name),
                t=sql.SQL(kind),  # pyright: ignore[reportArgumentType]
            )
            for name, kind in columns
        )
        hits = sql.SQL(" or ").join(
            sql.SQL("erase_hits({c}::text, %(patterns)s)").format(c=sql.Identifier(name)) for name, _ in columns
        )
        statement = sql.SQL("update {t} set {s} where {h}").format(t=sql.Identifier(table), s=sets, h=hits)
        cursor = await tx.connection.execute(statement, {"patterns": list(patterns), "marks": list(marks)})
        if cursor.rowcount:
            masked[table] = cursor.rowcount
    return masked


async def tables(tx: store.Transaction) -> dict[str, list[tuple[str, str]]]:
    """Table -> its columns of text, JSON or lists of text, with their types. All tables of the product's schema."""
    found: dict[str, list[tuple[str, str]]] = {}
    rows = await tx.fetch(
        """select c.table_name, c.column_name, c.data_type, c.udt_name
           from information_schema.columns c join information_schema.tables t using (table_schema, table_name)
           where c.table_schema = current_schema() and t.table_type = 'BASE TABLE' and c.is_generated = 'NEVER'
           order by 1, c.ordinal_position"""
    )
    for table, column, kind, udt in rows:
        columns = found.setdefault(table, [])
        if kind in _TEXTS and (kind != "ARRAY" or udt == "_text"):
            columns.append((column, "text[]" if kind == "ARRAY" else kind))
    return found


async def save_erasure(
    tx: store.Transaction,
    *,
    id: UUID,
    commit: UUID,
    at: datetime,
    kind: str,
    author: str,
    mark: str,
    counts: Mapping[str, Any],
) -> None:
    """The tombstone, and the commit that stands in the history of every record that was rewritten."""
    await tx.execute(
        "insert into erasure (id, at, by_kind, by_id, mark, counts) values (%s, %s, %s, %s, %s, %s)",
        (id, at, kind, author, mark, Jsonb(dict(counts))),
    )
    await tx.execute(
        """insert into commit (id, xid, at, author_kind, author_id, domains, result)
           values (%s, pg_current_xact_id(), %s, %s, %s, '{}', %s)""",
        (commit, at, kind, author, Jsonb({"commit": str(commit), "nodes": {}, "erasure": str(id)})),
    )


async def erasures(tx: store.Transaction) -> list[dict[str, Any]]:
    """The tombstones, newest first."""
    rows = await tx.fetch("select id, at, by_kind, by_id, mark, counts from erasure order by at desc, id desc")
    names = ("id", "at", "by_kind", "by_id", "mark", "counts")
    return [dict(zip(names, row, strict=True)) for row in rows]


async def vacuum(db: store.Database, names: Sequence[str]) -> None:
    """Give the room of rewritten rows free, so that the server's files stop holding what stood in them."""
    async with db.statements() as tx:
        for name in names:
            await tx.connection.execute(sql.SQL("vacuum {}").format(sql.Identifier(name)))
