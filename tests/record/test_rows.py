"""Runs in the database: durable while they happen, protected once sealed (P4.6, X3)."""

from __future__ import annotations

import asyncio
import dataclasses
from datetime import timedelta

import psycopg
import pytest

from tests.record import builders
from ukai import record, store
from ukai.record import rows

ANN = record.Sight(principal="ann@example.com")
BOB = record.Sight(principal="bob@example.com")
AUDITOR = record.Sight(principal="bob@example.com", audit=True)


async def kept(db: store.Database, n: int = 0, **changes: object) -> record.Run:
    recorder = await record.Recorder.begin(db, builders.start(n, **changes), clock=builders.clock())
    await recorder.add(builders.call())
    await recorder.add(record.Answer(markdown="Harbor pays $1.2M. Ask bob@example.com."))
    return await recorder.seal("answered")


async def test_a_turn_is_kept_and_read_back_whole(database: store.Database):
    run = await kept(database)

    async with database.snapshot() as tx:
        raw = await record.read(tx, run.run_id, ANN)
    assert raw is not None
    again, found = record.load(raw)
    assert (again, found) == (run, [])
    assert record.verify(run) == []


async def test_a_run_is_read_by_its_principal_and_by_auditors_only(database: store.Database):
    run = await kept(database)

    async with database.snapshot() as tx:
        assert await record.read(tx, run.run_id, BOB) is None
        assert await record.read(tx, run.run_id, AUDITOR) is not None
        assert await record.read(tx, "no-such-run", ANN) is None
        assert (await record.page(tx, BOB)).runs == ()
        assert [(s.run_id, s.question) for s in (await record.page(tx, AUDITOR)).runs] == [(run.run_id, run.question)]


async def test_a_list_comes_newest_first_in_pages(database: store.Database):
    for n in range(5):
        await kept(database, n, agent="deal-coach" if n != 2 else "other", case_id=f"case-{n % 2}", rep=n)

    async with database.snapshot() as tx:
        first = await record.page(tx, ANN, limit=2)
        second = await record.page(tx, ANN, limit=2, after=first.after)
        last = await record.page(tx, ANN, limit=2, after=second.after)
        filtered = await record.page(tx, ANN, agent="deal-coach", case_id="case-0", status="answered")

    listed = [s.run_id for part in (first, second, last) for s in part.runs]
    assert listed == [builders.run_id(n) for n in (4, 3, 2, 1, 0)]
    assert last.after is None
    assert [s.rep for s in filtered.runs] == [4, 0]


async def test_what_had_happened_is_there_when_the_process_dies(database: store.Database):
    recorder = await record.Recorder.begin(database, builders.start(), clock=builders.clock())
    await recorder.add(builders.call())
    await recorder.refer("composition", "cmp-1")

    async with database.transaction() as tx:
        early = await record.close_abandoned(
            tx, now=builders.AT + timedelta(minutes=1), silent_for=timedelta(minutes=5)
        )
    async with database.transaction() as tx:
        closed = await record.close_abandoned(tx, now=builders.AT + timedelta(hours=1), silent_for=timedelta(minutes=5))
        raw = await record.read(tx, builders.run_id(), ANN)

    assert early == []
    assert closed == [builders.run_id()]
    assert raw is not None
    run, _ = record.load(raw)
    assert run is not None
    assert (run.status, run.reason) == ("error", "abandoned: nothing was heard of it for 3600 s")
    assert [c.call_id for c in run.calls] == ["c1"]
    assert run.compositions == ("cmp-1",)
    assert record.verify(run) == []


async def test_a_turn_that_was_closed_as_abandoned_cannot_go_on(database: store.Database):
    recorder = await record.Recorder.begin(database, builders.start(), clock=builders.clock())
    async with database.transaction() as tx:
        await record.close_abandoned(tx, now=builders.AT + timedelta(hours=1), silent_for=timedelta(minutes=5))

    with pytest.raises(record.RunSealed):
        await recorder.add(builders.call())
    with pytest.raises(record.RunSealed):
        await recorder.seal("answered")


async def test_two_processes_close_an_abandoned_run_once(database: store.Database):
    for n in range(4):
        await record.Recorder.begin(database, builders.start(n), clock=builders.clock())

    async def close() -> list[str]:
        async with database.transaction() as tx:
            return await record.close_abandoned(
                tx, now=builders.AT + timedelta(hours=1), silent_for=timedelta(minutes=5)
            )

    closed = await asyncio.gather(close(), close(), close())

    assert sorted(one for part in closed for one in part) == [builders.run_id(n) for n in range(4)]


SABOTAGE = [
    "update run set status = 'blocked'",
    "update run set record = '{}'",
    "update run set principal = 'eve@example.com'",
    "delete from run",
    "truncate run cascade",
    "insert into run_event (run_id, seq, at, kind, data) select run_id, 9, now(), 'note', '{}' from run",
]


@pytest.mark.parametrize("statement", SABOTAGE)
async def test_the_database_itself_refuses_to_change_a_sealed_run(database: store.Database, statement: str):
    run = await kept(database)

    async def sabotage() -> None:
        async with database.transaction() as tx:
            await tx.execute(statement)

    with pytest.raises(psycopg.Error) as refused:
        await sabotage()

    assert refused.value.sqlstate == rows.SEALED
    async with database.snapshot() as tx:
        assert await record.read(tx, run.run_id, ANN) == record.dumps(run)


@pytest.mark.parametrize("statement", SABOTAGE[:4])
async def test_without_its_guard_the_database_would_obey(database: store.Database, statement: str):
    """The guard proven: dropped, the same statements pass."""
    await kept(database)

    async with database.transaction() as tx:
        await tx.execute("drop trigger run_guard on run")
        assert await tx.execute(statement) == 1


async def test_entries_are_folded_into_the_record_when_it_is_sealed(database: store.Database):
    await kept(database)

    async with database.snapshot() as tx:
        assert await tx.value("select count(*) from run_event") == 0


async def test_old_runs_are_deleted_and_others_stay(database: store.Database):
    await kept(database, 1)
    await record.Recorder.begin(database, builders.start(2), clock=builders.clock())

    async with database.transaction() as tx:
        none = await record.retain(tx, since=builders.AT)
        one = await record.retain(tx, since=builders.AT + timedelta(days=1))
        left = await record.page(tx, ANN)

    assert (none, one) == (0, 1)
    assert [s.run_id for s in left.runs] == [builders.run_id(2)]


async def test_after_retention_the_guard_stands_again_in_the_same_transaction(database: store.Database):
    await kept(database)

    async def retain_and_delete() -> None:
        async with database.transaction() as tx:
            await record.retain(tx, since=builders.AT)
            await tx.execute("delete from run")

    with pytest.raises(psycopg.Error):
        await retain_and_delete()


async def test_an_erased_person_leaves_tombstones_and_masks(database: store.Database):
    hers = await kept(database, 1)
    his = await kept(database, 2, principal="bob@example.com", question="Ask ann@example.com or joann@example.com")
    other = await kept(database, 3, principal="cid@example.com", audience=(), question="joann@example.com?")

    async with database.transaction() as tx:
        erased = await record.erase(tx, "ann@example.com", at=builders.AT)
        gone = await record.read(tx, hers.run_id, AUDITOR)
        masked = await record.read(tx, his.run_id, BOB)
        untouched = await record.read(tx, other.run_id, AUDITOR)
        listed = {s.run_id: s for s in (await record.page(tx, AUDITOR)).runs}

    assert erased == record.Erased(removed=1, masked=1)
    assert gone is None
    assert listed[hers.run_id].principal == "erased"
    assert listed[hers.run_id].erased_at == builders.AT
    assert masked is not None
    run, _ = record.load(masked)
    assert run is not None
    assert run.question == "Ask *************** or joann@example.com"
    assert record.verify(run) == []
    assert run.sha256 != his.sha256
    assert untouched == record.dumps(other)


async def test_a_run_under_way_is_masked_too(database: store.Database):
    recorder = await record.Recorder.begin(
        database, builders.start(principal="bob@example.com", question="ann@example.com?"), clock=builders.clock()
    )
    await recorder.add(builders.call(text="written by ann@example.com"))

    async with database.transaction() as tx:
        await record.erase(tx, "ann@example.com", at=builders.AT)
        left = await tx.value(
            "select count(*) from run left join run_event using (run_id) "
            "where start::text like '%%ann@%%' or data::text like '%%ann@%%'"
        )

    assert left == 0


async def test_characters_that_jsonb_refuses_are_kept(database: store.Database):
    text = "a\x00b \ud800 é 😀"
    recorder = await record.Recorder.begin(database, builders.start(question=text), clock=builders.clock())
    await recorder.add(builders.call(text=text))
    run = await recorder.seal("answered")

    async with database.snapshot() as tx:
        raw = await record.read(tx, run.run_id, ANN)
        listed = (await record.page(tx, ANN)).runs

    assert raw == record.dumps(run)
    assert run.question == "a\x00b \ufffd é 😀"
    assert [s.question for s in listed] == ["a\ufffdb \ufffd é 😀"]


def test_a_run_can_be_compared_field_by_field():
    a, b = builders.finished(), builders.finished()

    assert a == b
    assert dataclasses.replace(a, status="error") != b
