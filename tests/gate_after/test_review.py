"""What the loop gives up and what only a human may decide waits as an ordinary record (W5, W6)."""

from __future__ import annotations

from datetime import timedelta

from tests.gate import world
from tests.gate_after import given
from ukai import gate, store
from ukai.gate import history, loop, review
from ukai.kit.clock import FixedClock

HELD = {"domain": "world", "ops": [{"kind": "update_node", "target": {"context_ref": "town"}, "set": {"size": 9}}]}


async def held(db: store.Database, delta: object = HELD) -> review.Item:
    await given.town(db, size=1)
    name = await review.hold(
        db,
        reason="stopped",
        summary="a town grows",
        reviewers=["group:leads"],
        author=world.BOT,
        clock=world.CLOCK,
        delta=delta,
        context={"town": "Town#a"},
    )
    found = await review.item(db, name, rights=gate.ALL)
    assert found is not None
    return found


async def decided(db: store.Database, item: review.Item, **more: object) -> gate.Committed | gate.Rejected:
    return await review.approve(db, item, author=world.ANN, rights=gate.ALL, clock=world.CLOCK, **more)  # type: ignore[arg-type]


async def test_an_approved_change_lands_with_the_item_as_the_approvers(database: store.Database):
    item = await held(database)

    done = await decided(database, item, note="fine")

    assert isinstance(done, gate.Committed), done.rejections
    assert (await given.props(database, "Town#a"))["size"] == 9
    [change, *_] = await given.changes(database, "Town#a")
    assert (change.author.id, change.commit) == ("ann@example.com", done.commit)
    after = await review.item(database, item.handle, rights=gate.ALL)
    assert after is not None
    assert (after.state, after.by, after.fields["note"]) == ("approved", "human:ann@example.com", "fine")
    assert await review.items(database, rights=gate.ALL) == []


async def test_nothing_is_approved_twice(database: store.Database):
    item = await held(database)
    await decided(database, item)

    assert given.codes(await decided(database, item)) == ["precondition_failed"]


async def test_a_change_that_is_still_wrong_leaves_the_item_open_and_may_be_corrected(database: store.Database):
    item = await held(database, {"ops": [world.change("Town#a", size="big")]})

    refused = await decided(database, item)
    done = await decided(database, item, instead={"ops": [world.change("Town#a", size=7)]})

    assert given.codes(refused) == ["type_mismatch"]
    assert isinstance(done, gate.Committed)
    assert (await given.props(database, "Town#a"))["size"] == 7


async def test_what_is_rejected_writes_nothing_else_and_can_be_undone(database: store.Database):
    item = await held(database)

    done = await review.decline(database, item, author=world.ANN, rights=gate.ALL, clock=world.CLOCK, note="no")
    assert isinstance(done, gate.Committed)
    assert (await given.props(database, "Town#a"))["size"] == 1
    await given.undone(database, done.commit)

    assert [i.state for i in await review.items(database, rights=gate.ALL)] == ["open"]


async def test_what_nobody_decides_expires(database: store.Database):
    item = await held(database)

    assert await review.expire(database, clock=world.CLOCK) == 0
    assert await review.expire(database, clock=FixedClock(world.CLOCK.now() + timedelta(days=31))) == 1
    found = await review.item(database, item.handle, rights=gate.ALL)
    assert found is not None
    assert found.state == "expired"


async def test_what_the_loop_gives_up_waits_with_every_attempt(database: store.Database):
    await given.town(database)
    tally = loop.Tally(retries=0)
    refused = await world.propose(database, world.change("Town#a", size="x"), author=world.BOT)
    assert isinstance(refused, gate.Rejected)
    escalated = tally.add({"ops": [world.change("Town#a", size="x")]}, refused.rejections)
    assert escalated is not None

    name = await review.hold_escalated(
        database, escalated, reviewers=["ann@example.com"], author=world.BOT, clock=world.CLOCK
    )

    item = await review.item(database, name, rights=gate.ALL)
    assert item is not None
    assert item.fields["attempts"][0]["rejections"][0]["code"] == "type_mismatch"
    assert (item.fields["proposer"], item.fields["run"]) == ("surveyor", "run-1")
    async with database.transaction() as tx:
        [made] = await history.of_node(tx, name, rights=gate.ALL)
    assert made.author == world.BOT


async def test_whatever_a_model_sent_can_wait(database: store.Database):
    await given.town(database)
    deep: object = "x\0\ud800"
    for _ in range(300):
        deep = [deep]
    nasty = {"ops": [{"kind": "update_node", "set": {"size": deep, "seal": float("inf"), "log": 10**5_000}}]}
    refused = await world.propose(database, author=world.BOT, rights=None)
    assert isinstance(refused, gate.Rejected)
    escalated = loop.Tally(retries=0).add(nasty, refused.rejections)
    assert escalated is not None

    await review.hold_escalated(database, escalated, reviewers=["ann@example.com"], author=world.BOT, clock=world.CLOCK)

    [item] = await review.items(database, rights=gate.ALL)
    assert item.fields["delta"]["ops"][0]["set"]["seal"] == "inf"
