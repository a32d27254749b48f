from __future__ import annotations

import base64
from datetime import UTC, datetime, timedelta

import pytest

from tests.gate import world
from tests.gate.history.test_history import Only
from tests.gate.races.session import outcome, writers
from tests.gate.world import change, done, edge, town
from ukai import gate, store
from ukai.gate import feed, history
from ukai.kit.clock import FixedClock

START = datetime(2026, 11, 1, tzinfo=UTC)


@pytest.fixture
async def db(database: store.Database) -> store.Database:
    await world.upload(database)
    return database


async def everything(db: store.Database, cursor: str = feed.BEGINNING, **more: object) -> tuple[list[str], str]:
    found: list[str] = []
    while True:
        page = await feed.read(db, cursor, rights=more.get("rights", gate.ALL), limit=2)  # type: ignore[arg-type]
        found += [f"{c.op} {c.handle}" for c in page.changes]
        cursor = page.cursor
        if not page.more:
            return found, cursor


async def test_every_change_comes_once_and_in_order(db: store.Database):
    await done(db, town("a"), town("b"), town("c"))
    first, cursor = await everything(db)
    await done(db, change("Town#a", size=1))
    await done(db, edge("twin", "Town#a", "Town#b"))

    rest, cursor = await everything(db, cursor)

    assert first == ["create Town#a", "create Town#b", "create Town#c"]
    assert rest == ["update Town#a", "create Town#a -twin-> Town#b"]
    assert (await everything(db, cursor))[0] == []


async def test_a_change_that_commits_late_is_not_passed(db: store.Database, database_url: str):
    """The early writer takes its numbers first and commits last; the reader looks in between."""
    async with writers(db, database_url, 2) as (early, late):
        await early.start(town("early"), pause="before_commit")
        await late.start(town("late"))
        assert outcome(await late.answer()) == "committed"

        between, cursor = await everything(db)
        await early.let_go()
        assert outcome(await early.answer()) == "committed"
        after, _ = await everything(db, cursor)

    assert sorted(between + after) == ["create Town#early", "create Town#late"]
    assert "create Town#early" in after


async def test_a_reader_sees_only_what_it_may_read_and_still_gets_on(db: store.Database):
    await done(db, town("b"))
    await done(db, town("a"), edge("twin", "Town#a", "Town#b"))

    before, _ = await everything(db)
    seen, cursor = await everything(db, rights=Only())
    nothing = await feed.read(db, feed.BEGINNING, rights=None)

    assert seen == ["create Town#a"]
    assert len(before) == 3
    assert (await everything(db, cursor))[0] == []  # what is hidden was passed, also for who sees all
    assert nothing.changes == ()


async def test_a_reader_may_begin_at_the_end(db: store.Database):
    await done(db, town("a"))
    cursor = await feed.end(db)
    await done(db, town("b"))

    assert (await everything(db, cursor))[0] == ["create Town#b"]


async def test_what_was_let_go_is_gone_for_old_cursors_and_old_looks_back(db: store.Database):
    clock = FixedClock(START)
    await done(db, town("a"), clock=clock)
    old = (await feed.read(db, feed.BEGINNING, rights=gate.ALL)).cursor
    clock.advance(timedelta(days=1))
    await done(db, change("Town#a", size=1), clock=clock)
    clock.advance(timedelta(days=1))
    await done(db, change("Town#a", size=2), clock=clock)

    let_go = await feed.forget(db, START + timedelta(days=1, hours=12))

    assert let_go == 2
    with pytest.raises(feed.Gone, match="older than what is kept"):
        await feed.read(db, old, rights=gate.ALL)
    assert (await everything(db))[0] == ["update Town#a"]
    async with db.transaction() as tx:
        with pytest.raises(history.Gone):
            await history.as_of(tx, "Town#a", START + timedelta(hours=1), rights=gate.ALL)
        past = await history.as_of(tx, "Town#a", START + timedelta(days=1, hours=13), rights=gate.ALL)
    assert past is not None
    assert past.props["size"] == 1


async def test_a_cursor_from_before_a_restore_is_gone_and_the_feed_goes_on(db: store.Database):
    await done(db, town("a"))
    old = await feed.end(db)
    async with db.transaction() as tx:
        # What a restore leaves: rows of transactions that this cluster has not counted to yet.
        await tx.execute("update change set xid = '9000000000'")
        await tx.execute("update commit set xid = '9000000000'")
        await tx.execute("update feed set cluster = 1")

    with pytest.raises(feed.Gone, match="restored"):
        await feed.read(db, old, rights=gate.ALL)
    assert (await everything(db))[0] == ["create Town#a"]
    cursor = await feed.end(db)
    await done(db, town("b"))
    assert (await everything(db, cursor))[0] == ["create Town#b"]


async def test_a_cursor_does_not_tell_whether_anything_hidden_was_written_nor_how_much(db: store.Database):
    await done(db, town("a"))
    first = [(await feed.read(db, feed.BEGINNING, rights=Only())).cursor for _ in range(2)]
    await done(db, town("b"), town("c"))
    after = [(await feed.read(db, first[0], rights=Only())).cursor for _ in range(2)]
    async with db.transaction() as tx:
        xid, seq = await tx.one("select xid::text, seq from change order by change.xid desc, seq desc limit 1") or ()

    assert len({*first, *after}) == 4
    assert len({len(cursor) for cursor in (*first, *after)}) == 1
    raw = base64.urlsafe_b64decode(after[0].partition(".")[2])
    assert int(xid).to_bytes(8) not in raw
    assert int(seq).to_bytes(8) not in raw


async def test_a_cursor_that_somebody_has_changed_is_none_and_one_from_before_they_were_sealed_is_one(
    db: store.Database,
):
    await done(db, town("a"))
    cursor = await feed.end(db)
    async with db.transaction() as tx:
        said = await tx.one("select timeline, c.xid::text, c.seq from feed, change c")
    await done(db, town("b"))

    assert said is not None
    assert (await everything(db, ".".join(map(str, said))))[0] == ["create Town#b"]
    for at in range(len(said[0]) + 1, len(cursor), 9):
        with pytest.raises(feed.Gone, match="no cursor of this feed"):
            await feed.read(db, f"{cursor[:at]}{'A' if cursor[at] != 'A' else 'B'}{cursor[at + 1 :]}", rights=gate.ALL)


async def test_what_is_no_cursor_is_gone(db: store.Database):
    for text in ("x", "a.b.c", "1.2", "5cf37eb2.-1.0"):
        with pytest.raises(feed.Gone):
            await feed.read(db, text, rights=gate.ALL)
