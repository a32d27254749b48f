"""The protocol as one step of a transaction that goes on: of a bulk, with what is written beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import psycopg

from ukai import store
from ukai.gate.rows.protocol import Answer, Judge, judged, text_of


async def commit_within(tx: store.Transaction, body: Mapping[str, Any], judge: Judge | None) -> Answer:
    """`{"commit", "nodes"}`, `{"problems"}` or `{"retry": why}`: without a commit nothing of it is left."""
    if judge is None:
        return await tx.value("select gate_commit(%s::jsonb)", (text_of(body),))
    async with tx.connection.transaction():
        answer = await judged(tx, body, judge)
        if "commit" not in answer or body.get("dry"):
            raise psycopg.Rollback
    return answer


async def counted(tx: store.Transaction, commits: Sequence[str]) -> dict[tuple[str, str], int]:
    """(`node` | `edge`, what was done) -> how many changes the commits have of it."""
    found = await tx.fetch(
        "select kind, op, count(*) from change where commit = any (%s::uuid[]) group by 1, 2 order by 1, 2",
        (list(commits),),
    )
    return {(kind, op): count for kind, op, count in found}


async def standing(tx: store.Transaction, handles: Sequence[str]) -> set[str]:
    """Of these handles, those of living nodes."""
    parts = [h.partition("#") for h in handles]
    found = await tx.fetch(
        """select n.type || '#' || n.key from unnest(%s::text[], %s::text[]) h(type, key)
           join node n on n.type = h.type and n.key = h.key and n.gone = 0""",
        ([type for type, _, _ in parts], [key for _, _, key in parts]),
    )
    return {handle for (handle,) in found}
