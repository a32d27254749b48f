"""The commit functions of the database, called in one statement or around a judge."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import psycopg
from psycopg import errors
from psycopg.types.json import Jsonb

from ukai import store
from ukai.store import failures

Answer = dict[str, Any]
Judge = Callable[[store.Transaction, Mapping[str, Any]], Awaitable[list[Answer]]]
"""Problems that SQL cannot find, given what `gate_begin` found: `{"opened": {"nodes": ids}, "rows": {id: row}}`."""
AGAIN = (errors.SerializationFailure, errors.DeadlockDetected, errors.LockNotAvailable)


async def commit(db: store.Database, body: Mapping[str, Any]) -> Answer:
    """The whole protocol in one statement: `{"commit", "nodes"}`, `{"problems"}` or `{"retry": why}`."""
    async with db.statements() as tx:
        try:
            return await tx.value("select gate_commit(%s::jsonb)", (text_of(body),))
        except AGAIN as error:
            return _again(error)


async def commit_judged(db: store.Database, body: Mapping[str, Any], judge: Judge) -> Answer:
    """The same in one transaction of two calls, with `judge` between the locks and the writing."""
    try:
        async with db.transaction() as tx:
            answer = await judged(tx, body, judge)
            if "commit" not in answer or body.get("dry"):
                raise psycopg.Rollback
    except AGAIN as error:
        return _again(error)
    except failures.DatabaseBusy as error:
        if isinstance(error.__cause__, AGAIN):
            return _again(error.__cause__)
        raise
    return answer


async def judged(tx: store.Transaction, body: Mapping[str, Any], judge: Judge) -> Answer:
    """The two calls; what is refused has to be rolled back by the caller."""
    begun: Answer = await tx.value("select gate_begin(%s::jsonb)", (text_of(body),))
    if "opened" not in begun:
        return begun
    problems = await judge(tx, begun)
    if alone := [p for p in problems if p.get("alone")]:
        return {"problems": alone}
    plan = {**body, "stop": True, "thorough": True} if problems else body
    answer: Answer = await tx.value("select gate_finish(%s::jsonb, %s)", (text_of(plan), Jsonb(begun["opened"])))
    if problems and "retry" not in answer:
        return {"problems": [*problems, *answer["problems"]]}
    return answer


def _again(error: psycopg.Error) -> Answer:
    waited_for_key = isinstance(error, errors.LockNotAvailable) and "into idempotency" in (error.diag.context or "")
    return {"retry": "in_progress" if waited_for_key else "busy"}


def text_of(body: Mapping[str, Any]) -> str:
    """The program as it travels."""
    return json.dumps(body, ensure_ascii=False, separators=(",", ":"))
