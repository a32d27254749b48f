"""A database for the time of one call, and nothing of it afterwards."""

from __future__ import annotations

import psycopg
import pytest

from tests.store import rig
from ukai import store
from ukai.store import failures, scratch


def databases(url: str) -> set[str]:
    with psycopg.connect(url) as connection:
        return {str(row[0]) for row in connection.execute("select datname from pg_database")}


def test_beside_another_one_it_is_empty_migrated_and_dropped(database_url: str):
    before = databases(database_url)

    with scratch.beside(database_url) as url:
        rig.execute(url, "insert into feed default values on conflict do nothing")
        during = databases(database_url)

    assert len(during - before) == 1
    assert databases(database_url) == before


def test_it_is_dropped_when_the_work_fails_with_a_connection_open(database_url: str):
    before = databases(database_url)

    def fail() -> None:
        with scratch.beside(database_url) as url:
            held.append(psycopg.connect(url))
            raise ZeroDivisionError

    held: list[psycopg.Connection[object]] = []
    with pytest.raises(ZeroDivisionError):
        fail()
    held[0].close()

    assert databases(database_url) == before


def test_whoever_may_not_create_one_is_told(database_url: str):
    rig.execute(database_url, "create role scratch_nobody login")
    try:
        poor = psycopg.conninfo.make_conninfo(database_url, user="scratch_nobody")
        with pytest.raises(failures.DatabaseUnfit, match="CREATEDB"), scratch.beside(poor):
            pass
    finally:
        rig.execute(database_url, "drop role scratch_nobody")


async def test_alone_it_is_a_server_that_ends_with_the_work():
    with scratch.alone() as url:
        async with store.connect(url) as db, db.transaction() as tx:
            assert await tx.value("select count(*) from node") == 0

    with pytest.raises(failures.DatabaseAway):
        async with store.connect(url):
            pass
