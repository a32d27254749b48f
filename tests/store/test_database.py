"""Transactions as the rooms use them (X3)."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

import psycopg
import pytest

from tests.store import rig
from ukai import store
from ukai.kit.errors import PermanentError, TemporaryError
from ukai.store import address, embedded
from ukai.store import database as module
from ukai.store.failures import DatabaseAway, DatabaseBusy, DatabaseUnfit

INSERT = "insert into witness values (%s)"
NAMES = "select name from witness order by name"


async def test_what_a_transaction_wrote_stays_when_it_ends(database: store.Database):
    async with database.transaction() as tx:
        written = await tx.execute(INSERT, ("sales",))

    async with database.transaction() as tx:
        assert written == 1
        assert await tx.fetch("select name, length(name) from witness") == [("sales", 5)]
        assert await tx.one("select name from witness where name = %s", ("none",)) is None
        assert await tx.value("select count(*) from witness") == 1


async def test_what_a_failed_transaction_wrote_is_undone(database: store.Database):
    async def fail() -> None:
        async with database.transaction() as tx:
            await tx.execute(INSERT, ("sales",))
            raise RuntimeError

    with pytest.raises(RuntimeError):
        await fail()

    async with database.transaction() as tx:
        assert await tx.fetch(NAMES) == []


async def test_a_savepoint_undoes_what_failed_in_it_and_nothing_else(database: store.Database):
    async def fail(tx: store.Transaction) -> None:
        async with tx.savepoint():
            await tx.execute(INSERT, ("review",))
            await tx.execute(INSERT, ("sales",))

    async with database.transaction() as tx:
        await tx.execute(INSERT, ("sales",))
        with pytest.raises(psycopg.errors.UniqueViolation):
            await fail(tx)

    async with database.transaction() as tx:
        assert await tx.fetch(NAMES) == [("sales",)]


async def test_a_snapshot_sees_one_moment_and_cannot_write(database: store.Database):
    async with database.snapshot() as before:
        assert await before.fetch(NAMES) == []
        async with database.transaction() as tx:
            await tx.execute(INSERT, ("sales",))
        assert await before.fetch(NAMES) == []

        with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
            async with before.savepoint():
                await before.execute(INSERT, ("review",))


async def test_a_connection_that_served_a_snapshot_writes_again(database_url: str):
    async with store.connect(database_url, max_size=1) as db:
        async with db.snapshot() as tx:
            await tx.value("select 1")
        async with db.transaction() as tx:
            level = await tx.value("show transaction_isolation")
            await tx.execute(INSERT, ("sales",))

    assert level == "read committed"


async def test_every_session_has_our_time_zone_and_limits(database: store.Database):
    async with database.transaction() as tx:
        names = ("timezone", "statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout")
        known = [await tx.value("select current_setting(%s)", (name,)) for name in names]
        known.append(await tx.value("select current_setting('application_name')"))

    assert known == ["UTC", "1min", "10s", "2min", "ukai"]


async def test_a_percent_sign_without_parameters_is_only_a_percent_sign(database: store.Database):
    async with database.transaction() as tx:
        assert await tx.value("select 'a' like 'a%'") is True


async def test_a_lock_that_is_held_is_a_temporary_error(database: store.Database):
    async def lock_again() -> None:
        async with database.transaction() as tx:
            await tx.execute("set local lock_timeout = '50ms'")
            await tx.execute("lock table witness")

    async with database.transaction() as holder:
        await holder.execute("lock table witness")
        with pytest.raises(DatabaseBusy) as busy:
            await lock_again()

    assert isinstance(busy.value, TemporaryError)


async def test_a_connection_lost_in_a_transaction_is_a_temporary_error_that_says_so(
    database: store.Database, database_url: str
):
    async def be_cut_off() -> None:
        async with database.transaction() as tx:
            await tx.execute(INSERT, ("sales",))
            pid = await tx.value("select pg_backend_pid()")
            await asyncio.to_thread(rig.execute, database_url, f"select pg_terminate_backend({pid})")
            await tx.execute(INSERT, ("review",))

    with pytest.raises(DatabaseAway, match="is lost or refused") as away:
        await be_cut_off()

    assert isinstance(away.value, TemporaryError)
    async with database.transaction() as tx:
        assert await tx.fetch(NAMES) == []


async def test_an_embedded_server_that_was_killed_comes_back_under_an_open_pool(
    data_dir: Path, caplog: pytest.LogCaptureFixture
):
    async def reach() -> str:
        return await asyncio.to_thread(embedded.ensure, data_dir, rig.QUIET)

    async def ask() -> int:
        async with db.transaction() as tx:
            return await tx.value("select 1")

    caplog.set_level(logging.CRITICAL, "psycopg.pool")
    async with store.connect(reach) as db:
        assert await ask() == 1
        rig.kill_server(data_dir)

        with pytest.raises(DatabaseAway):
            await ask()

        assert await ask() == 1


async def test_a_restart_costs_one_failure_and_not_one_for_each_connection(
    data_dir: Path, caplog: pytest.LogCaptureFixture
):
    url = await asyncio.to_thread(embedded.ensure, data_dir, rig.QUIET)

    async def ask(db: store.Database) -> int:
        async with db.transaction() as tx:
            return await tx.value("select 1 from pg_sleep(0.1)")

    caplog.set_level(logging.CRITICAL, "psycopg.pool")
    async with store.connect(url, min_size=3, max_size=3) as db:
        await asyncio.gather(ask(db), ask(db), ask(db))
        rig.kill_server(data_dir)
        await asyncio.to_thread(embedded.ensure, data_dir, rig.QUIET)

        with pytest.raises(DatabaseAway):
            await ask(db)

        assert await asyncio.gather(ask(db), ask(db), ask(db)) == [1, 1, 1]


async def test_a_server_that_is_not_there_is_temporary_and_its_password_stays_ours(tmp_path: Path):
    url = f"postgresql://kim:s3cret%40@/ukai?host={tmp_path}"

    with pytest.raises(DatabaseAway) as away:
        async with store.connect(url):
            pass

    assert "kim:***@" in str(away.value)
    assert "s3cret" not in str(away.value)


@pytest.mark.parametrize("url", ["postgresql://kim:s3cret@/ukai?nonsense=1", "postgresql://kim:s3cret@[/x", "s3cret"])
async def test_what_is_no_address_is_permanent_and_its_password_stays_ours(url: str):
    with pytest.raises(DatabaseUnfit) as unfit:
        async with store.connect(url):
            pass

    assert isinstance(unfit.value, PermanentError)
    assert url == "s3cret" or "s3cret" not in str(unfit.value)
    assert unfit.value.__cause__ is None  # a traceback would print what the message leaves out


async def test_a_server_that_is_too_old_is_refused(database_url: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "OLDEST_MAJOR", 99)

    with pytest.raises(DatabaseUnfit, match="needs 99 or newer"):
        async with store.connect(database_url):
            pass


async def test_a_pgvector_that_is_too_old_is_refused(database_url: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "OLDEST_VECTOR", (0, 99))

    with pytest.raises(DatabaseUnfit, match="has pgvector 0"):
        async with store.connect(database_url):
            pass


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://kim:pw@db:5432/ukai", "postgresql://kim:***@db:5432/ukai"),
        ("postgresql://kim@db/ukai?password=pw&x=1", "postgresql://kim@db/ukai?password=***&x=1"),
        ("postgresql://kim@db/ukai?sslpassword=pw", "postgresql://kim@db/ukai?sslpassword=***"),
        ("host=db user=kim password=pw dbname=ukai", "host=db user=kim password=*** dbname=ukai"),
        ("host=db password='p w\\' x' dbname=ukai", "host=db password=*** dbname=ukai"),
        ("postgresql://kim@db/ukai", "postgresql://kim@db/ukai"),
        ("postgresql://kim:p:w/1@db/ukai", "postgresql://kim:***@db/ukai"),
        ("postgresql://kim:p@w@db/ukai", "postgresql://kim:***@db/ukai"),
    ],
)
def test_an_address_is_shown_without_its_password(url: str, shown: str):
    assert address.masked(url) == shown
