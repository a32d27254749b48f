"""The law of bulk: rows in lots of any size leave what the same rows leave one by one, and the same are refused.

One thing is meant to differ, and is left out here: a row of a lot may name a record that a later row makes.
"""

from __future__ import annotations

import random
from typing import Any

import pytest

from tests.gate import world
from tests.gate.test_bulk import codes, sent
from ukai import gate, store

TOWNS = ("a", "b", "c", "d")


def row(rng: random.Random) -> list[world.Op]:
    """A change of a small world, often of what other rows change too, often wrong."""
    one, other = rng.choice(TOWNS), rng.choice(TOWNS)
    kind = rng.randrange(10)
    if kind < 3:
        seal = {"seal": rng.choice("xyz")} if rng.random() < 0.3 else {}
        return [world.town(one, size=rng.randrange(3), **seal)]
    if kind < 5:
        named = {"kind": "upsert_node", "node_type": "Town", "match": {"name": one}}
        return [{**named, "set": {"size": rng.choice([1, 2, "tall"]), "motto": rng.choice(["m", None])}}]
    if kind == 5:
        return [world.change(f"Town#{one}", rng.choice(["built", "ruined"]), motto="n")]
    if kind == 6:
        return [world.remove(f"House#{one}:{rng.choice([1, 2])}")]
    if kind == 7:
        return world.house(rng.choice([1, 2, 1500]), town=one, **({"owner": "kim"} if rng.random() < 0.5 else {}))
    type = rng.choice(["road", "twin", "above"])
    return [world.edge(type, f"Town#{one}", f"Town#{other}", rng.choice(["create_edge", "create_edge", "delete_edge"]))]


async def state(db: store.Database) -> list[tuple[Any, ...]]:
    async with db.transaction() as tx:
        nodes = await tx.fetch(
            "select type, key, path, readers, props, state, version from node where gone = 0 order by type, key"
        )
        edges = await tx.fetch(
            """select e.type, s.key, d.key, e.version
               from edge e join node s on s.id = e.src join node d on d.id = e.dst
               where e.gone = 0 order by 1, 2, 3"""
        )
        claims = await tx.fetch(
            "select type, name, case when value like '\"%%' then value end from claim order by 1, 2, 3", ()
        )
    return [*nodes, *edges, *claims]


@pytest.mark.parametrize("seed", range(5))
async def test_bulk_is_as_one_by_one(database: store.Database, seed: int):
    await world.upload(database)
    rng = random.Random(seed)
    rows = [*([world.town(name)] for name in TOWNS), *(row(rng) for _ in range(36))]
    one_by_one: list[list[str]] = []
    for ops in rows:
        outcome = await world.propose(database, *ops)
        one_by_one.append(sorted({r.code for r in outcome.rejections}) if isinstance(outcome, gate.Rejected) else [])
    expected = await state(database)
    async with database.transaction() as tx:
        for table in ("edge", "claim", "passage", "called", "change", "node"):
            await tx.execute(f"delete from {table}")

    cuts = sorted(rng.sample(range(1, 40), 3))
    parts = [rows[a:b] for a, b in zip([0, *cuts], [*cuts, 40], strict=True)]
    refused = [sorted(set(c)) for batch in await sent(database, *parts) for c in codes(batch)]

    assert [bool(r) for r in refused] == [bool(r) for r in one_by_one], list(
        zip(rows, one_by_one, refused, strict=True)
    )
    assert await state(database) == expected
