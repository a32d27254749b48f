"""Writers that can be stopped at the named points of the commit function, and set going again one by one."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import psycopg

from tests.gate import world
from ukai import store
from ukai.gate import audit, domains, door, program, rows, shape
from ukai.kit import ids

PATIENCE_S = 20.0
Answer = dict[str, Any]


async def body_of(db: store.Database, ops: Sequence[world.Op], key: str = "") -> dict[str, Any]:
    """The program that `gate.submit` would run for these operations."""
    delta, found = door.read(world.delta(ops, key))
    assert delta is not None, found
    catalogue = await domains.known(db)
    now = world.CLOCK.now()
    plan = shape.check(delta, catalogue, author=world.ANN, now=now).plan
    assert plan is not None
    made = program.of(
        plan,
        author=world.ANN,
        context={},
        known={},
        domains=catalogue.domains.values(),
        inherited=program.inherited(catalogue.domains.values()),
        at=now,
        new_id=lambda: ids.time_ordered(now, entropy=os.urandom),
        cascade_limit=1_000,
    )
    if key:
        made.body |= {"scope": world.ANN.scope, "key": key, "hash": audit.hash_of(delta.source)}
    return made.body | {"lock_timeout": "20s"}


@dataclass(kw_only=True)
class Writer:
    """One connection that commits one program at a time."""

    connection: psycopg.AsyncConnection
    watcher: psycopg.AsyncConnection
    db: store.Database
    pid: int
    task: asyncio.Task[Answer] | None = field(default=None)

    async def start(self, *ops: world.Op, pause: str = "", key: str = "") -> None:
        """Begin; returns when the writer waits: at the pause point, or for a lock of somebody else, or is done."""
        body = await body_of(self.db, ops, key)
        gate = f"{pause}={self.pid}" if pause else ""
        await self.connection.execute("select set_config('ukai.pause', %s, false)", (gate,))
        if pause:
            await self.watcher.execute("select pg_advisory_lock(%s)", (self.pid,))
        self.task = asyncio.create_task(self._run(body))
        await self.settled()

    async def settled(self) -> None:
        """Wait until the writer is done or waits for a lock."""
        assert self.task is not None
        until = time.monotonic() + PATIENCE_S
        while not self.task.done():
            waiting = await self.watcher.execute("select 1 from pg_locks where pid = %s and not granted", (self.pid,))
            if await waiting.fetchone():
                return
            assert time.monotonic() < until, "the writer neither ends nor waits"
            await asyncio.sleep(0.002)

    def waits(self) -> bool:
        return self.task is not None and not self.task.done()

    async def let_go(self) -> None:
        """Past the pause point."""
        await self.watcher.execute("select pg_advisory_unlock(%s)", (self.pid,))

    async def answer(self) -> Answer:
        assert self.task is not None
        async with asyncio.timeout(PATIENCE_S):
            return await self.task

    async def _run(self, body: dict[str, Any]) -> Answer:
        try:
            cursor = await self.connection.execute("select gate_commit(%s::jsonb)", (rows.text_of(body),))
            row = await cursor.fetchone()
        except psycopg.Error as error:
            return {"error": type(error).__name__, "said": str(error)}
        assert row is not None
        return row[0]


async def somebody_waits(db: store.Database) -> None:
    """Wait until some connection waits for a lock."""
    async with db.statements() as tx, asyncio.timeout(PATIENCE_S):
        while True:
            if await tx.value("select count(*) from pg_locks where not granted"):
                return
            await asyncio.sleep(0.005)


def outcome(answer: Answer) -> str:
    """`committed`, `replayed`, the codes, why it would begin again, or the error."""
    if "commit" in answer:
        return "replayed" if answer.get("replayed") else "committed"
    if "problems" in answer:
        return " ".join(sorted(p["code"] for p in answer["problems"]))
    return answer.get("retry") or answer["error"]


@asynccontextmanager
async def writers(db: store.Database, url: str, count: int) -> AsyncIterator[list[Writer]]:
    """`count` writers, each with a connection of its own."""
    made: list[Writer] = []
    try:
        for _ in range(count):
            connection = await psycopg.AsyncConnection.connect(url, autocommit=True)
            watcher = await psycopg.AsyncConnection.connect(url, autocommit=True)
            await connection.execute("set deadlock_timeout = '30ms'")
            made.append(Writer(connection=connection, watcher=watcher, db=db, pid=connection.info.backend_pid))
        yield made
    finally:
        for writer in made:
            await writer.watcher.close()
            if writer.task is not None and not writer.task.done():
                writer.task.cancel()
                await asyncio.gather(writer.task, return_exceptions=True)
            await writer.connection.close()
