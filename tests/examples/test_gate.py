"""The company enters through the gate, in bulk, and enters only once."""

from __future__ import annotations

from datetime import UTC, datetime

from tests.examples import sample
from ukai import gate, store
from ukai.gate import author, domains, rights
from ukai.kit.clock import FixedClock

INTAKE = author.Author(kind="connector", id="service:intake")
CLOCK = FixedClock(datetime(2026, 11, 20, 8, tzinfo=UTC))


async def uploaded(db: store.Database) -> None:
    for domain in sample.domains():
        done = await domains.upload(db, domain, author=INTAKE, at=CLOCK.now())
        assert done.findings == ()


async def test_all_records_are_committed_and_a_second_run_replays_them(database: store.Database):
    await uploaded(database)
    proposed = list(sample.generator().deltas(sample.company()))

    first = [await gate.submit(database, delta, author=INTAKE, rights=rights.ALL, clock=CLOCK) for delta in proposed]
    again = [await gate.submit(database, delta, author=INTAKE, rights=rights.ALL, clock=CLOCK) for delta in proposed]

    assert [f.rejections[:2] for f in first if isinstance(f, gate.Rejected)] == []
    assert all(isinstance(done, gate.Committed) and done.replayed for done in again)
    async with database.transaction() as tx:
        assert await tx.value("select count(*) from node where alive", ()) == len(sample.company())
        edges = sum(len(made["edges"]) for made in sample.company())
        assert await tx.value("select count(*) from edge where alive", ()) == edges
