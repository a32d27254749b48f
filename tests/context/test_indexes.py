"""`get_index`: a team's own code sees the records of a named index that the caller may read, and no others (P1.7)."""

from __future__ import annotations

from typing import Any

from tests.context import world
from tests.context.world import ANN, BEN, MIRA, TESS, firm, memo
from ukai import store
from ukai.context import indexes


async def company(db: store.Database) -> world.World:
    w = await world.opened(db)
    await w.write(
        firm("alder", name="Alder Works", tier="gold", floor="7", description="gates and doors"),
        firm("birch", name="Birch Yard", tier="tin", description="gates and yards"),
        firm("bare", name="Bare", tier="gold"),
        firm("cedar", BEN, name="Cedar Mills", tier="gold", description="gates and gates"),
        *memo("m", "alder", "gates", secret="gates"),
    )
    await w.follow()
    return w


async def matches(w: world.World, who: str = ANN, said: str = "gates", **more: Any) -> list[dict[str, Any]]:
    arguments: dict[str, Any] = {
        "type": "Firm", "where": {"tier": ["gold", "tin"]}, "text": ["description"], "metadata": ["name", "floor"],
        "top_k": 10, "filter": None, "vector": w.cache.embedder.embed([said])[0],
    } | more  # fmt: skip
    for _ in range(2):
        async with w.db.snapshot() as tx:
            found, missing = await indexes.query(tx, reader=world.reader(who), cache=w.cache, **arguments)
        await w.cache.embed_cached(w.db, missing)
    return [m["metadata"] for m in found]


async def test_the_nearest_readable_records_come_with_what_may_be_read_of_them(database: store.Database):
    w = await company(database)

    assert await matches(w) == [{"name": "Alder Works"}, {"name": "Birch Yard"}]
    assert (await matches(w, BEN)) == [{"name": "Cedar Mills"}]
    assert {"name": "Alder Works", "floor": "7"} in await matches(w, MIRA)


async def test_a_list_in_where_means_any_of_its_values_and_a_value_itself(database: store.Database):
    w = await company(database)

    assert await matches(w, where={"tier": "tin"}) == [{"name": "Birch Yard"}]
    assert await matches(w, where={"tier": ["gold"]}) == [{"name": "Alder Works"}]
    assert await matches(w, where={"tier": []}) == []
    assert await matches(w, filter={"tier": "gold"}) == [{"name": "Alder Works"}]


async def test_the_filter_of_the_code_narrows_the_index_and_never_widens_it(database: store.Database):
    w = await company(database)

    assert await matches(w, where={"tier": "tin"}, filter={"tier": "gold"}) == []


async def test_a_filter_over_what_may_not_be_read_matches_nothing(database: store.Database):
    w = await company(database)

    assert await matches(w, filter={"floor": "7"}) == []
    assert await matches(w, MIRA, filter={"floor": "7"}) == [{"name": "Alder Works", "floor": "7"}]


async def test_a_record_whose_text_may_not_be_read_does_not_count(database: store.Database):
    w = await company(database)

    assert await matches(w, TESS) == []
    assert await matches(w, type="Memo", where={}, text=["secret"], metadata=["id"]) == []
    assert await matches(w, type="Memo", where={}, text=["body"], metadata=["id", "secret"]) == [{"id": "m"}]


async def test_top_k_bounds_what_comes_back(database: store.Database):
    w = await company(database)

    assert len(await matches(w, top_k=1)) == 1
    assert await matches(w, top_k=0) == []
    assert await matches(w, top_k=-1) == []
