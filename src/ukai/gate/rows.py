"""The gate's SQL, beside the commit function itself (migration 0003). Nothing else writes nodes, edges or changes."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import psycopg
from psycopg import errors
from psycopg.types.json import Jsonb

from ukai import store
from ukai.store import failures

Answer = dict[str, Any]
Judge = Callable[[store.Transaction, Mapping[str, Any]], Awaitable[list[Answer]]]
"""Problems that SQL cannot find, given the locked rows by id."""

AGAIN = (errors.SerializationFailure, errors.DeadlockDetected, errors.LockNotAvailable)


async def commit(db: store.Database, body: Mapping[str, Any]) -> Answer:
    """The whole protocol in one statement: `{"commit", "nodes"}`, `{"problems"}` or `{"retry": why}`."""
    async with db.statements() as tx:
        try:
            return await tx.value("select gate_commit(%s::jsonb)", (_text(body),))
        except AGAIN as error:
            return _again(error)


async def commit_judged(db: store.Database, body: Mapping[str, Any], judge: Judge) -> Answer:
    """The same in one transaction of two calls, with `judge` between the locks and the writing."""
    try:
        async with db.transaction() as tx:
            answer = await _judged(tx, body, judge)
            if "commit" not in answer or body.get("dry"):
                raise psycopg.Rollback
    except AGAIN as error:
        return _again(error)
    except failures.DatabaseBusy as error:
        if isinstance(error.__cause__, AGAIN):
            return _again(error.__cause__)
        raise
    return answer


async def _judged(tx: store.Transaction, body: Mapping[str, Any], judge: Judge) -> Answer:
    begun: Answer = await tx.value("select gate_begin(%s::jsonb)", (_text(body),))
    if "opened" not in begun:
        return begun
    problems = await judge(tx, begun["rows"] or {})
    plan = {**body, "stop": True} if problems else body
    answer: Answer = await tx.value("select gate_finish(%s::jsonb, %s)", (_text(plan), Jsonb(begun["opened"])))
    if problems and "retry" not in answer:
        return {"problems": [*problems, *answer["problems"]]}
    return answer


def _again(error: psycopg.Error) -> Answer:
    waited_for_key = isinstance(error, errors.LockNotAvailable) and "into idempotency" in (error.diag.context or "")
    return {"retry": "in_progress" if waited_for_key else "busy"}


def _text(body: Mapping[str, Any]) -> str:
    return json.dumps(body, ensure_ascii=False, separators=(",", ":"))


async def types_of(tx: store.Transaction, ids: Sequence[str]) -> dict[str, str]:
    """Node id -> type, for those there are, the deleted included. A node's type never changes."""
    rows = await tx.fetch("select id, type from node where id = any (%s::uuid[])", (list(ids),))
    return {str(id): type for id, type in rows}
