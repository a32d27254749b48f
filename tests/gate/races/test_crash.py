"""Killed at every named point, then asked again under the same key: exactly one effect (X3)."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psycopg
import pytest

from tests.gate import auditor, world
from tests.gate.races.session import body_of, outcome, writers
from tests.gate.world import change, done, edge, town
from tests.store import rig
from ukai import store
from ukai.gate import rows
from ukai.store import migrations, process

POINTS = (
    "after_key",
    "after_schema",
    "after_resolve",
    "after_lock",
    "after_claims",
    "after_check",
    "after_apply",
    "before_commit",
)
OPS = (town("b", "$b", seal="s"), change("Town#a", size=1), edge("road", "Town#a", "Town#b"))
CLIENT = """
import psycopg, sys
with psycopg.connect(sys.argv[1], autocommit=True) as c:
    c.execute("select set_config('ukai.pause', %s, false)", (sys.argv[2],))
    print(c.info.backend_pid, flush=True)
    c.execute("select gate_commit(%s::jsonb)", (sys.stdin.read(),))
"""
JUDGED = """
import os, psycopg, signal, sys
with psycopg.connect(sys.argv[1]) as c:
    c.execute("select gate_begin(%s::jsonb)", (sys.stdin.read(),))
    os.kill(os.getpid(), signal.SIGKILL)
"""


async def one_effect(db: store.Database) -> None:
    """The same delta under the same key lands or is answered from before, and everything stands once."""
    await done(db, *OPS, key="k")
    again = await done(db, *OPS, key="k")

    assert again.replayed
    async with db.transaction() as tx:
        standing = await tx.one(
            """select (select count(*) from node where alive), (select count(*) from edge where alive),
                      (select version from node where key = 'a'), (select count(*) from commit where key = 'k'),
                      (select count(*) from idempotency)"""
        )
    assert standing == (2, 1, 2, 1, 1)
    assert await auditor.violations(db) == {}


@pytest.mark.parametrize("point", POINTS)
async def test_a_backend_that_is_ended_leaves_nothing_and_the_key_works(
    point: str, database: store.Database, database_url: str
):
    await world.upload(database)
    await done(database, town("a", size=0))
    async with writers(database, database_url, 1) as (writer,):
        await writer.start(*OPS, key="k", pause=point)
        assert writer.waits(), f"{point} is no pause point any more"
        await writer.watcher.execute("select pg_terminate_backend(%s)", (writer.pid,))
        assert outcome(await writer.answer()) == "AdminShutdown"

    async with database.transaction() as tx:
        assert await tx.value("select count(*) from idempotency") == 0
    await one_effect(database)


@pytest.mark.parametrize("point", ["after_key", "after_lock", "before_commit"])
async def test_a_client_that_is_killed_may_ask_again(point: str, database: store.Database, database_url: str):
    await world.upload(database)
    await done(database, town("a", size=0))
    body = rows.text_of(await body_of(database, OPS, "k"))
    async with await psycopg.AsyncConnection.connect(database_url, autocommit=True) as watcher:
        await watcher.execute("select pg_advisory_lock(7)")
        client = subprocess.Popen(  # noqa: ASYNC220 (it prints one line and waits)
            [sys.executable, "-c", CLIENT, database_url, f"{point}=7"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        with client:
            assert client.stdin is not None
            assert client.stdout is not None
            pid = int(client.stdout.readline())
            client.stdin.write(body)
            client.stdin.close()
            await _waiting(watcher, pid)
            client.kill()
        await watcher.execute("select pg_advisory_unlock(7)")

    # The server may go on without its client: the second proposal waits for it, and then hears what it did.
    await one_effect(database)


async def test_a_client_that_is_killed_between_locks_and_writing_has_written_nothing(
    database: store.Database, database_url: str
):
    await world.upload(database)
    await done(database, town("a", size=0))
    body = rows.text_of(await body_of(database, OPS, "k"))

    client = await asyncio.to_thread(
        subprocess.run, [sys.executable, "-c", JUDGED, database_url], input=body, text=True, check=False
    )

    assert client.returncode == -signal.SIGKILL
    await one_effect(database)


@pytest.fixture
def data_dir() -> Iterator[Path]:
    root = Path(tempfile.mkdtemp(prefix="ukai-crash-"))
    try:
        yield root / "postgres"
    finally:
        store.embedded.stop(root / "postgres")
        shutil.rmtree(root, ignore_errors=True)


async def test_a_server_that_is_killed_keeps_what_was_committed_and_nothing_else(data_dir: Path):
    url = await asyncio.to_thread(store.embedded.ensure, data_dir)
    await asyncio.to_thread(migrations.run, url)
    async with store.connect(url) as db:
        await world.upload(db)
        await done(db, town("a", size=0))
        for point in ("after_key", "after_apply", "before_commit"):
            async with writers(db, url, 1) as (writer,):
                await writer.start(*OPS, key="k", pause=point)
                await asyncio.to_thread(_kill_server, data_dir)
                assert outcome(await writer.answer()) in ("OperationalError", "AdminShutdown")
            await asyncio.to_thread(store.embedded.ensure, data_dir)
            async with store.connect(url) as fresh, fresh.transaction() as tx:
                assert await tx.value("select count(*) from node") == 1

    async with store.connect(url) as db:
        first = await done(db, *OPS, key="k")
        await asyncio.to_thread(_kill_server, data_dir)
    await asyncio.to_thread(store.embedded.ensure, data_dir)
    async with store.connect(url) as db:
        assert (await done(db, *OPS, key="k")).commit == first.commit
        await one_effect(db)


def _kill_server(data_dir: Path) -> None:
    """All of it: one that ends by itself, because the first process is gone, lets go of what another one waits for."""
    first = rig.pid_of(data_dir)
    for pid in (*(p for p in process.left_behind(data_dir) if p != first), first):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


async def _waiting(watcher: psycopg.AsyncConnection, pid: int) -> None:
    async with asyncio.timeout(20):
        while True:
            found = await watcher.execute("select 1 from pg_locks where pid = %s and not granted", (pid,))
            if await found.fetchone():
                return
            await asyncio.sleep(0.005)
