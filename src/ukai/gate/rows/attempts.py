"""Refused attempts and used keys."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from ukai import store
from ukai.gate.author import Author
from ukai.gate.rows.statement import Window, dicts


async def save_attempt(
    tx: store.Transaction,
    *,
    id: UUID,
    at: datetime,
    author: Author,
    key: str,
    hash: str,
    codes: Sequence[str],
    fingerprints: Sequence[str],
    findings: Sequence[Any],
    body: Any,
) -> int:
    """Keep a refused attempt; its number within the run and step, or within the key."""
    values = {"id": id, "at": at, "kind": author.kind, "author": author.id, "run": author.run or None}
    values |= {"step": author.step or None, "key": key or None, "hash": hash, "codes": list(codes)}
    values |= {"fingerprints": list(fingerprints), "findings": Jsonb(list(findings)), "body": Jsonb(body)}
    number: int = await tx.value(
        """insert into attempt (id, at, author_kind, author_id, run, step, key, hash, number, codes, fingerprints,
                                findings, body)
           select %(id)s, %(at)s, %(kind)s, %(author)s, %(run)s, %(step)s, %(key)s, %(hash)s, 1 + (
                      select count(*) from attempt a
                      where a.author_kind = %(kind)s and a.author_id = %(author)s
                        and case when %(run)s::text is null then a.key = %(key)s
                                 else a.run = %(run)s and a.step is not distinct from %(step)s end),
                  %(codes)s, %(fingerprints)s, %(findings)s, %(body)s
           returning number""",
        values,
    )
    return number


async def attempts(tx: store.Transaction, *, author: str, run: str, limit: int) -> list[dict[str, Any]]:
    """Refused attempts, newest first."""
    return await dicts(
        tx,
        """select * from attempt where (%s = '' or author_id = %s) and (%s = '' or run = %s)
           order by at desc, id desc limit %s""",
        (author, author, run, run, limit),
    )


async def top_codes(tx: store.Transaction, window: Window, limit: int) -> list[tuple[str, str, int]]:
    """(author id, code, attempts), most first."""
    return await tx.fetch(  # pyright: ignore[reportReturnType]
        """select author_id, code, count(*) from attempt cross join lateral unnest(codes) code
           where (%s::timestamptz is null or at >= %s) and (%s::timestamptz is null or at < %s)
           group by 1, 2 order by 3 desc, 1, 2 limit %s""",
        (window.since, window.since, window.until, window.until, limit),
    )


async def forget_attempts(tx: store.Transaction, before: datetime) -> int:
    """Let go of older refused attempts; how many."""
    return await tx.execute("delete from attempt where at < %s", (before,))


async def forget_keys(tx: store.Transaction, before: datetime) -> int:
    """Let go of keys that were used earlier; how many."""
    return await tx.execute("delete from idempotency where at < %s", (before,))
