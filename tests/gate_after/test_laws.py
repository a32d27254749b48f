"""Random stories with everything the small world has: cascades, moved edges, unique values, inherited readers (W11)."""

from __future__ import annotations

import random

import pytest

from tests.gate import world
from tests.gate_after import given
from ukai import gate, store

TOWNS, SEALS = "abcde", ["s", "t", None]


def operation(dice: random.Random) -> list[world.Op]:
    a, b = dice.sample(TOWNS, 2)
    number, kind = dice.randrange(3), dice.choice(["road", "twin", "above"])
    some = {
        "size": dice.randrange(9),
        "seal": dice.choice(SEALS),
        "readers": dice.choice([["public"], [], ["group:x"]]),
    }
    made = [world.town(a, **{k: v for k, v in some.items() if v is not None})]
    return dice.choice(
        [
            made,
            made,
            [world.change(f"Town#{a}", size=number)],
            [world.change(f"Town#{a}", size=dice.choice([None, 1, 2]))],
            [world.change(f"Town#{a}", seal=some["seal"], readers=some["readers"])],
            [world.change(f"Town#{a}", dice.choice(["built", "ruined"]), motto=b)],
            [world.remove(f"Town#{a}")],
            world.house(number, town=a),
            [world.change(f"House#{a}:{number}", owner=b)],
            [world.remove(f"House#{a}:{number}")],
            [world.edge(kind, f"Town#{a}", f"Town#{b}")],
            [world.edge(kind, f"Town#{a}", f"Town#{b}", "delete_edge")],
            [world.edge("road", f"Town#{a}", f"Town#{b}", "update_edge", set={"width": number})],
            [
                world.edge("stands_in", f"House#{a}:{number}", f"Town#{a}", "delete_edge"),
                world.edge("stands_in", f"House#{a}:{number}", f"Town#{b}"),
            ],
        ]
    )


async def begun(db: store.Database) -> None:
    await world.upload(db)
    await world.done(db, *(world.town(name, readers=["public"], size=1) for name in TOWNS[:4]))
    await world.done(db, *world.house(0), *world.house(1, ref="$i"))


async def told(db: store.Database, dice: random.Random, length: int) -> list[gate.Committed]:
    """Commits that changed something."""
    found: list[gate.Committed] = []
    for _ in range(length):
        ops = [*operation(dice), *(operation(dice) if dice.random() < 0.15 else [])]
        outcome = await world.propose(db, *ops)
        if isinstance(outcome, gate.Committed):
            found.append(outcome)
    async with db.transaction() as tx:
        changing = {c for (c,) in await tx.fetch("select distinct commit from change")}
    return [c for c in found if c.commit in changing]


@pytest.mark.parametrize("seed", [1, 2, 3])
async def test_any_story_undone_in_reverse_never_was(database: store.Database, seed: int):
    dice = random.Random(seed)
    await begun(database)
    before = await given.graph(database)
    commits = await told(database, dice, 60)
    after = await given.graph(database)

    undone = [await given.undone(database, c.commit) for c in reversed(commits)]
    assert await given.graph(database) == before
    for one in reversed(undone):
        await given.undone(database, one.commit)

    assert len(commits) > 10
    assert await given.graph(database) == after


@pytest.mark.parametrize("seed", [4, 5])
async def test_undone_in_any_order_each_is_taken_back_or_says_why_and_all_come_to_the_beginning(
    database: store.Database, seed: int
):
    dice = random.Random(seed)
    await begun(database)
    before = await given.graph(database)
    left = [c.commit for c in await told(database, dice, 60)]
    while left:
        dice.shuffle(left)
        kept = []
        for commit in left:
            standing = await given.graph(database)
            outcome = await given.undo(database, commit)
            if isinstance(outcome, gate.Rejected):
                assert outcome.rejections
                assert all(r.code != "internal" and r.message for r in outcome.rejections)
                assert await given.graph(database) == standing
                kept.append(commit)
        assert len(kept) < len(left)
        left = kept

    assert await given.graph(database) == before
