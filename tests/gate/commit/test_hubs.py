"""What hangs on a node does not make a write to it slower (X6)."""

from __future__ import annotations

from tests.gate import world
from tests.gate.world import change, done, edge, town
from ukai import store

MANY = 3_000


async def fetched(db: store.Database) -> int:
    """Rows of `edge` that indexes have led to, as far as the only connection of the pool has caused it."""
    async with db.statements() as tx:
        await tx.value("select pg_stat_force_next_flush()")
        return int(await tx.value("select idx_tup_fetch from pg_stat_user_tables where relname = 'edge'"))


async def test_an_edge_to_a_hub_is_found_without_reading_the_others(database_url: str, database: store.Database):
    await world.upload(database)
    await done(database, town("hub"), town("new"))
    async with database.transaction() as tx:
        await tx.execute(
            "insert into node (id, domain, type, key, path) "
            "select gen_random_uuid(), domain, type, 't' || i, 't' || i from node, generate_series(1, %s) i "
            "where key = 'hub'",
            (MANY,),
        )
        await tx.execute(
            "insert into edge (id, domain, type, src, dst) select gen_random_uuid(), t.domain, 'road', t.id, h.id "
            "from node t, node h where h.key = 'hub' and t.key like 't%%'",
        )
    async with store.connect(database_url, max_size=1) as db:
        before = await fetched(db)

        await done(db, change("Town#hub", size=1), edge("road", "Town#new", "Town#hub"))

        assert await fetched(db) - before < 10
