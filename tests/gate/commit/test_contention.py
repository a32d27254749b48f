"""Other writers in the way: waited for, begun again, and said so when it takes too long (W9)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta

import psycopg
import pytest

from tests.gate import world
from tests.gate.races.session import somebody_waits, writers
from tests.gate.world import change, done, propose, refused, town
from ukai import gate, store
from ukai.gate import audit
from ukai.gate.limits import Limits

HURRY = Limits(lock_s=0.02)


@pytest.fixture
async def db(database: store.Database) -> store.Database:
    await world.upload(database)
    await done(database, town("a", size=0), town("b", size=0))
    return database


@pytest.fixture
async def stranger(database_url: str) -> AsyncIterator[psycopg.AsyncConnection]:
    async with await psycopg.AsyncConnection.connect(database_url) as connection:
        yield connection


async def test_a_lock_that_is_not_let_go_makes_busy_which_is_to_be_sent_again(
    db: store.Database, stranger: psycopg.AsyncConnection
):
    await stranger.execute("select 1 from node where key = 'a' for update")

    outcome = await propose(db, change("Town#a", size=1), limits=HURRY)
    await stranger.rollback()

    assert isinstance(outcome, gate.Rejected)
    assert [(r.code, r.repair, r.status) for r in outcome.rejections] == [("busy", "resend", 503)]
    await done(db, change("Town#a", size=1), limits=HURRY)


async def test_the_same_is_true_when_rules_are_judged_under_the_locks(
    db: store.Database, stranger: psycopg.AsyncConnection
):
    await done(db, *world.house(1))
    await stranger.execute("select 1 from node where type = 'House' for update")

    assert await refused(db, change("House#a:1", owner="kim"), limits=HURRY) == ["busy"]


async def test_a_writer_that_waits_in_time_lands(db: store.Database, stranger: psycopg.AsyncConnection):
    await stranger.execute("select 1 from node where key = 'a' for update")
    waiting = asyncio.create_task(done(db, change("Town#a", size=1)))
    await somebody_waits(db)
    await stranger.rollback()

    await waiting


async def test_a_key_under_way_elsewhere_is_in_progress(db: store.Database, database_url: str):
    async with writers(db, database_url, 1) as (first,):
        await first.start(town("c"), key="k", pause="before_commit")

        codes = await refused(db, town("c"), key="k", limits=HURRY)
        await first.let_go()
        await first.answer()

    assert codes == ["in_progress"]
    assert (await done(db, town("c"), key="k")).replayed


async def test_a_deadlock_with_a_stranger_is_begun_again_and_nobody_hears_of_it(
    db: store.Database, stranger: psycopg.AsyncConnection
):
    async with db.transaction() as tx:
        lower, upper = [k for (k,) in await tx.fetch("select key from node order by id")]
    await stranger.execute("set deadlock_timeout = '10s'")
    await stranger.execute("select 1 from node where key = %s for update", (upper,))
    both = asyncio.create_task(done(db, change("Town#a", size=1), change("Town#b", size=1), limits=Limits(lock_s=20)))
    await somebody_waits(db)
    held = asyncio.create_task(stranger.execute("select 1 from node where key = %s for update", (lower,)))
    await held
    await stranger.rollback()

    await both


async def test_an_attempt_that_cannot_be_recorded_is_an_error_with_the_reasons(
    db: store.Database, stranger: psycopg.AsyncConnection
):
    await stranger.execute("alter table attempt rename to away")
    await stranger.commit()

    with pytest.raises(audit.AuditFailed) as failed:
        await propose(db, change("Town#nowhere", size=1))

    assert [r.code for r in failed.value.rejections] == ["unknown_id"]


async def test_old_attempts_and_keys_are_let_go(db: store.Database):
    await done(db, town("c"), key="k")
    await refused(db, town("c"))
    later = world.CLOCK.now() + timedelta(days=1)

    assert await audit.forget(db, attempts_before=later, keys_before=later) == (1, 1)
    assert await refused(db, town("c"), key="k") == ["unique_violation"]
