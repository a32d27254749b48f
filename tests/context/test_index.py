"""Passages follow the graph: nothing is passed over, and whoever is killed in the middle leaves nothing half (X3)."""

from __future__ import annotations

import asyncio
from typing import Any

import psycopg
import pytest

from tests.context import world
from ukai import gate, store
from ukai.context import index, rows
from ukai.context.rows import embedded, views
from ukai.gate import feed


async def texts(db: store.Database) -> dict[str, str]:
    async with db.snapshot() as tx:
        found = await tx.fetch(
            "select n.type || '#' || n.key || '/' || p.part, p.text from passage p join node n on n.id = p.node"
        )
    return {str(handle): str(text) for handle, text in found}


async def called(db: store.Database) -> set[str]:
    async with db.snapshot() as tx:
        return {str(r[0]) for r in await tx.fetch("select name from called")}


async def test_what_is_written_changed_and_deleted_is_followed(database: store.Database):
    w = await world.opened(database)
    await w.write(world.firm("a", name="Alder Works"), *world.memo("m", "a", "The first word."))
    await w.follow()
    assert await texts(database) == {"Firm#a/name": "Alder Works", "Memo#m/body": "The first word."}

    await w.write(world.change("Memo#m", body="The second word."), world.firm("a", name="Birch Works"))
    await w.follow()
    assert await texts(database) == {"Firm#a/name": "Birch Works", "Memo#m/body": "The second word."}
    assert await called(database) == {"Birch Works"}

    await w.write(world.remove("Memo#m"))
    await w.follow()
    assert await texts(database) == {"Firm#a/name": "Birch Works"}


async def test_where_nothing_changed_nothing_is_read(database: store.Database):
    w = await world.opened(database)
    await w.write(world.firm("a", name="Alder Works"))
    first = await w.follow()

    assert first == index.Followed(nodes=1, passages=1)
    assert await index.catch_up(database, w.types) == index.Followed(nodes=0, passages=0)


async def test_a_transaction_that_began_earlier_and_commits_later_is_not_passed_over(database: store.Database):
    w = await world.opened(database)
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def slow() -> None:
        async with database.transaction() as tx:
            await tx.value("select pg_current_xact_id()")  # its place in the feed is taken from here on
            begun.set()
            await go_on.wait()
            await _changed_by_hand(tx, "late", "Late Works")

    late = asyncio.create_task(slow())
    await begun.wait()
    await w.write(world.firm("soon", name="Soon Works"))
    await w.follow()
    assert await called(database) == {"Soon Works"}
    go_on.set()
    await late
    await w.follow()

    assert await called(database) == {"Soon Works", "Late Works"}


async def _changed_by_hand(tx: store.Transaction, key: str, name: str) -> None:
    """What a commit leaves, in a transaction that the test holds open: the gate opens its own."""
    await tx.execute(
        "insert into node (id, domain, type, key, path, props) values (gen_random_uuid(), 'trade', 'Firm', %s, %s, "
        "jsonb_build_object('key', %s::text, 'name', %s::text))",
        (key, f"firms/{key}", key, name),
    )
    await tx.execute(
        "insert into change (seq, xid, commit, op, kind, id, domain, type, handle, version, fields, at) "
        "select (select max(seq) + 1000 from change), pg_current_xact_id(), gen_random_uuid(), 'create_node', 'node', "
        "id, 'trade', 'Firm', 'Firm#' || key, 1, '{}', now() from node where key = %s",
        (key,),
    )


async def test_nothing_is_passed_over_where_the_numbers_of_transactions_grow_by_a_digit(
    database: store.Database, monkeypatch: pytest.MonkeyPatch
):
    w = await world.opened(database)
    await w.write(*(world.firm(f"f{i}", name=f"Firm Number {i}") for i in range(6)))
    async with database.transaction() as tx:
        await tx.execute(
            "update change set xid = (97 + numbered.n)::text::xid8 from "
            "(select seq, row_number() over (order by seq) as n from change) numbered where numbered.seq = change.seq"
        )
    monkeypatch.setattr(index, "BATCH", 2)

    await w.follow()

    assert await called(database) == {f"Firm Number {i}" for i in range(6)}


class Killed(BaseException):
    """The process ends here."""


@pytest.mark.parametrize("step", ["changed", "nodes", "save_passages", "save_names", "move_index"])
async def test_killed_in_the_middle_and_called_again_the_passages_are_whole(
    database: store.Database, monkeypatch: pytest.MonkeyPatch, step: str
):
    w = await world.opened(database)
    await w.write(world.firm("a", name="Alder Works"), *world.memo("m", "a", "A word."))
    monkeypatch.setattr(index, "BATCH", 1)
    original: Any = getattr(rows, step)
    count = 0

    async def dies(*args: Any, **named: Any) -> Any:
        nonlocal count
        result = await original(*args, **named)
        count += 1
        if count == 2:
            raise Killed
        return result

    monkeypatch.setattr(rows, step, dies)
    with pytest.raises(Killed):
        await w.follow()
    monkeypatch.setattr(rows, step, original)
    await w.follow()

    assert await texts(database) == {"Firm#a/name": "Alder Works", "Memo#m/body": "A word."}


async def test_several_at_once_do_the_work_once(database: store.Database):
    w = await world.opened(database)
    await w.write(*(world.firm(f"f{i}", name=f"Firm Number {i}") for i in range(20)))

    done = await asyncio.gather(*(index.catch_up(database, w.types) for _ in range(4)))

    assert sum(d.nodes for d in done) == 20
    assert len(await texts(database)) == 20


async def test_a_database_that_was_moved_to_another_cluster_is_read_once_more(database: store.Database):
    w = await world.opened(database)
    await w.write(world.firm("a", name="Alder Works"))
    await w.follow()
    async with database.transaction() as tx:  # as a restore elsewhere leaves it: counted from another number
        await tx.execute("update passage_cursor set cluster = 1, xid = '900000000'")
        await tx.execute("update feed set cluster = 1")
        await tx.execute("update change set xid = '899999999'")

    await feed.end(database)
    await w.write(world.firm("b", name="Birch Works"))
    await w.follow()

    assert await called(database) == {"Alder Works", "Birch Works"}
    assert await index.catch_up(database, w.types) == index.Followed(nodes=0, passages=0)


async def test_a_name_that_nobody_can_say_does_not_stop_the_others(database: store.Database):
    w = await world.opened(database)
    long = "".join(chr(0x4E00 + i * 7 % 20_000) for i in range(3_000))
    await w.write(world.firm("long", name=long), world.firm("a", name="Alder Works"))

    await w.follow()

    assert await called(database) == {"Alder Works"}


async def test_a_type_that_is_no_longer_declared_has_no_passages(database: store.Database):
    w = await world.opened(database)
    await w.write(world.firm("a", name="Alder Works"), *world.memo("m", "a", "A word."))

    await index.catch_up(database, {"Firm": w.types["Firm"]})

    assert set(await texts(database)) == {"Firm#a/name"}


async def test_embedding_stops_at_its_limit_and_goes_on_where_it_stopped(database: store.Database):
    w = await world.opened(database)
    same = [op for i in range(5) for op in world.memo(f"s{i}", "a", "The same words.")]
    others = [op for i in range(5) for op in world.memo(f"o{i}", "a", f"Words of number {i}.")]
    await w.write(world.firm("a"), *same, *others)
    await index.catch_up(database, w.types)
    reported: list[int] = []

    first = await index.embed(database, w.cache, limit=2)
    rest = await index.embed(database, w.cache, progress=reported.append)

    async with database.snapshot() as tx:
        assert await embedded.waiting(tx, "hashed", 10) == []
        assert await tx.value("select count(*) from embedding") == 6
    assert (first, rest) == (2, 8)
    assert reported == sorted(reported)


async def test_a_question_embeds_some_passages_while_few_are_missing_and_none_where_many_are(database: store.Database):
    w = await world.opened(database)
    await w.write(world.firm("a"), *[op for i in range(6) for op in world.memo(f"s{i}", "a", "The same words.")])
    await index.catch_up(database, w.types)

    assert await index.embed_few(database, w.cache, limit=2, among=5) == 0
    assert [await index.embed_few(database, w.cache, limit=4, among=6) for _ in range(3)] == [4, 2, 0]


async def test_texts_from_before_texts_were_numbered_keep_their_vectors_and_those_of_them_that_wait_come_first(
    database: store.Database,
):
    w = await world.opened(database)
    await w.write(world.firm("a"), *world.memo("m", "a", "Embedded."))
    await w.follow()
    await w.write(*world.memo("o", "a", "Waiting."))
    await index.catch_up(database, w.types)
    async with database.transaction() as tx:  # as an upgrade leaves it
        await tx.execute("update passage set arrived = 0")
        await tx.execute("delete from embedded")
    await w.write(*world.memo("n", "a", "New."))
    await index.catch_up(database, w.types)

    async with database.snapshot() as tx:
        assert await embedded.count_without_vector(tx, "hashed", 9) == 2
        assert [text for _, text in await embedded.waiting(tx, "hashed", 9)] == ["Waiting."]
        assert await embedded.reached(tx, "hashed") == 0
    assert await index.embed_few(database, w.cache, limit=1, among=2) == 1
    async with database.snapshot() as tx:
        assert [text for _, text in await embedded.waiting(tx, "hashed", 9)] == ["New."]
    assert await index.embed(database, w.cache) == 1
    assert await index.waiting(database, w.cache) == 0


async def test_what_is_open_in_another_database_of_the_server_holds_nothing_back_and_what_is_open_here_does(
    database: store.Database, postgres_url: str
):
    w = await world.opened(database)
    await w.write(world.firm("a", name="Alder Works"))

    async def settled() -> tuple[int, int, bool]:
        """Of two looks: how many records are read again, how many changes the feed tells, and whether views hold."""
        await index.catch_up(database, w.types)
        again = await index.catch_up(database, w.types)
        async with database.snapshot() as tx:
            position = await views.position(tx)
        return again.nodes, len((await feed.read(database, "", rights=gate.ALL)).changes), position.is_settled

    async with await psycopg.AsyncConnection.connect(postgres_url) as other:
        await other.execute("select pg_current_xact_id()")
        await w.write(world.firm("b", name="Birch Works"))
        elsewhere = await settled()
        async with database.transaction() as here:
            await here.value("select pg_current_xact_id()")
            await w.write(world.firm("c", name="Cedar Works"))
            open_here = await settled()
        ended = await settled()

    assert elsewhere == (0, 2, True)
    assert open_here == (1, 2, False)
    assert ended == (0, 3, True)
