"""Sixteen writers on one node: nothing is lost without an error, and nobody is turned away."""

from __future__ import annotations

import asyncio

from tests.gate import auditor, world
from tests.gate.world import change, done, edge, town
from ukai import store

WRITERS, TURNS = 16, 4


async def test_every_write_of_a_hot_node_counts(database_url: str):
    async with store.connect(database_url, max_size=WRITERS) as db:
        await world.upload(db)
        await done(db, town("hub"))

        async def write(number: int) -> None:
            for turn in range(TURNS):
                await done(db, change("Town#hub", size=100 * number + turn))

        await asyncio.gather(*(write(n) for n in range(WRITERS)))

        async with db.transaction() as tx:
            version = await tx.value("select version from node where key = 'hub'")
        assert version == 1 + WRITERS * TURNS
        assert await auditor.violations(db) == {}


async def test_edges_to_a_hub_do_not_stand_in_each_others_way(database_url: str):
    async with store.connect(database_url, max_size=WRITERS) as db:
        await world.upload(db)
        await done(db, town("hub"), *(town(f"t{n}") for n in range(WRITERS)))

        await asyncio.gather(*(done(db, edge("road", f"Town#t{n}", "Town#hub")) for n in range(WRITERS)))

        async with db.transaction() as tx:
            assert await tx.value("select version from node where key = 'hub'") == 1
        assert await auditor.violations(db) == {}
