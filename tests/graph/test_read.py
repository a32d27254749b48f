from __future__ import annotations

import pytest

from tests.gate import world
from tests.gate.world import done, edge, house, remove, town
from ukai import store
from ukai.graph import read

HIDING_B = ("n.key <> %s", ["b"])


@pytest.fixture
async def db(database: store.Database) -> store.Database:
    await world.upload(database)
    await done(database, town("a", size=1), town("b", size=1), town("c"), *house(1))
    await done(database, edge("road", "Town#a", "Town#b"), edge("road", "Town#a", "Town#c"))
    return database


async def test_a_node_is_found_by_its_handle_and_by_its_id(db: store.Database):
    async with db.transaction() as tx:
        found = await read.node(tx, "Town#a", allowed=read.EVERYTHING)
        assert found is not None
        same = await read.node(tx, found.id, allowed=read.EVERYTHING)

    assert found == same
    assert (found.handle, found.path, found.state, dict(found.props)) == (
        "Town#a",
        "map/a",
        "planned",
        {"name": "a", "size": 1},
    )
    assert found.provenance["by"] == "human:ann@example.com"


async def test_what_may_not_be_read_or_no_longer_lives_is_not_there(db: store.Database):
    await done(db, edge("road", "Town#a", "Town#c", "delete_edge"), remove("Town#c"))

    async with db.transaction() as tx:
        assert await read.node(tx, "Town#b", allowed=HIDING_B) is None
        assert await read.node(tx, "Town#c", allowed=read.EVERYTHING) is None
        assert await read.node(tx, "no handle", allowed=read.EVERYTHING) is None


async def test_many_handles_are_read_at_once_and_parts_stand_for_their_record(db: store.Database):
    async with db.transaction() as tx:
        found = await read.nodes(tx, ["Town#a", "Town#b/size", "Town#zz", "?"], allowed=read.EVERYTHING)

    assert {text: n.handle for text, n in found.items()} == {"Town#a": "Town#a", "Town#b/size": "Town#b"}


async def test_neighbours_come_with_their_edges_both_ways(db: store.Database):
    async with db.transaction() as tx:
        a = await read.node(tx, "Town#a", allowed=read.EVERYTHING)
        assert a is not None
        out = await read.neighbours(tx, a.id, allowed=read.EVERYTHING)
        seen = await read.neighbours(tx, a.id, allowed=HIDING_B)
        into = await read.neighbours(tx, a.id, out=False, edges=["stands_in"], allowed=read.EVERYTHING)

    assert [(e.type, n.handle) for e, n in out] == [("road", "Town#b"), ("road", "Town#c")]
    assert [n.handle for _, n in seen] == ["Town#c"]
    assert [(e.type, n.handle) for e, n in into] == [("stands_in", "House#a:1")]


async def test_a_list_goes_on_behind_the_last_handle(db: store.Database):
    async with db.transaction() as tx:
        first = await read.page(tx, read.Filter(types=["Town"], limit=2), allowed=read.EVERYTHING)
        rest = await read.page(
            tx, read.Filter(types=["Town"], limit=2, after=first[-1].handle), allowed=read.EVERYTHING
        )
        below = await read.page(tx, read.Filter(under="map/a"), allowed=read.EVERYTHING)
        small = await read.page(tx, read.Filter(where={"size": 1}), allowed=HIDING_B)

    assert [n.handle for n in first + rest] == ["Town#a", "Town#b", "Town#c"]
    assert [n.handle for n in below] == ["House#a:1", "Town#a"]
    assert [n.handle for n in small] == ["Town#a"]


async def test_types_are_counted(db: store.Database):
    async with db.transaction() as tx:
        assert await read.counts(tx, allowed=read.EVERYTHING) == {"House": 1, "Town": 3}
