"""A new node may be named by the handle that its key will give it, wherever its ref could stand."""

from __future__ import annotations

from tests.gate import world
from ukai import store


async def test_an_edge_that_a_new_node_needs_names_it_by_its_handle(database: store.Database):
    await world.upload(database)
    house = {"kind": "create_node", "node_type": "House", "set": {"town": "a", "number": 1}}

    done = await world.done(database, world.town("a"), house, world.edge("stands_in", "House#a:1", "Town#a"))

    assert done.nodes["House#a:1"].version == 1


async def test_a_new_node_whose_edge_names_another_is_refused(database: store.Database):
    await world.upload(database)
    houses = [{"kind": "create_node", "node_type": "House", "set": {"town": "a", "number": n}} for n in (1, 2)]

    refused = await world.refused(database, world.town("a"), *houses, world.edge("stands_in", "House#a:1", "Town#a"))

    assert refused == ["cardinality_min"]
