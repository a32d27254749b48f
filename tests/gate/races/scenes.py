"""Interleavings that must end well, each as a function that gives what went wrong. Sound: nothing, every time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

from tests.gate import auditor, world
from tests.gate.races import histories
from tests.gate.races.session import outcome, writers
from tests.gate.world import change, done, edge, house, refused, remove, town
from ukai import gate, store

Scene = Callable[[store.Database, str], Awaitable[list[str]]]


async def audited(db: store.Database, *wrong: str | None) -> list[str]:
    found = [w for w in wrong if w]
    return found + [f"{rule}: {rows}" for rule, rows in (await auditor.violations(db)).items()]


def expected(name: str, got: str, *allowed: str) -> str | None:
    return None if got in allowed else f"{name} came to {got!r}, expected {' or '.join(allowed)}"


async def the_last_place_is_given_once(db: store.Database, url: str) -> list[str]:
    """At most two roads: one is there, two writers add one each. The second waits, then counts again."""
    await done(db, *(town(n) for n in "abcd"), edge("road", "Town#a", "Town#b"))
    async with writers(db, url, 2) as (first, second):
        await first.start(edge("road", "Town#a", "Town#c"), pause="before_commit")
        await second.start(edge("road", "Town#a", "Town#d"))
        waited = second.waits()
        await first.let_go()
        one, two = outcome(await first.answer()), outcome(await second.answer())
    return await audited(
        db,
        None if waited else "the second did not wait",
        expected("the first", one, "committed"),
        expected("the second", two, "cardinality_max"),
    )


async def a_unique_value_is_taken_once(db: store.Database, url: str) -> list[str]:
    async with writers(db, url, 2) as (first, second):
        await first.start(town("a", seal="s"), pause="before_commit")
        await second.start(town("b", seal="s"))
        await first.let_go()
        one, two = outcome(await first.answer()), outcome(await second.answer())
    return await audited(db, expected("the first", one, "committed"), expected("the second", two, "unique_violation"))


async def a_key_is_taken_once(db: store.Database, url: str) -> list[str]:
    """The loser of a natural key finds out while writing, and begins again to say who was first."""
    async with writers(db, url, 2) as (first, second):
        await first.start(town("a", size=1), pause="before_commit")
        await second.start(town("a", size=2))
        await first.let_go()
        one, two = outcome(await first.answer()), outcome(await second.answer())
    return await audited(db, expected("the first", one, "committed"), expected("the second", two, "key"))


async def no_edge_leads_to_what_is_being_deleted(db: store.Database, url: str) -> list[str]:
    await done(db, town("a"), town("b"))
    async with writers(db, url, 2) as (first, second):
        await first.start(remove("Town#b"), pause="before_commit")
        await second.start(edge("twin", "Town#a", "Town#b"))
        await first.let_go()
        one, two = outcome(await first.answer()), outcome(await second.answer())
    return await audited(db, expected("the first", one, "committed"), expected("the second", two, "deleted_target"))


async def nothing_is_deleted_from_under_a_new_edge(db: store.Database, url: str) -> list[str]:
    """`road` refuses the deletion of its target; the edge is being made while the deletion is asked for."""
    await done(db, town("a"), town("b"))
    async with writers(db, url, 2) as (first, second):
        await first.start(edge("road", "Town#a", "Town#b"), pause="before_commit")
        await second.start(remove("Town#b"))
        await first.let_go()
        one, two = outcome(await first.answer()), outcome(await second.answer())
    again = " ".join(await refused(db, remove("Town#b"))) if two == "closure" else ""
    return await audited(
        db,
        expected("the first", one, "committed"),
        expected("the second", two, "closure"),
        expected("the second, once more", again, "restricted_delete"),
    )


async def a_cascade_that_grows_while_it_waits_begins_again(db: store.Database, url: str) -> list[str]:
    await done(db, town("a"), *house(1))
    async with writers(db, url, 2) as (first, second):
        await first.start(*house(2), pause="before_commit")
        await second.start(remove("Town#a"))
        await first.let_go()
        one, two = outcome(await first.answer()), outcome(await second.answer())
    return await audited(db, expected("the first", one, "committed"), expected("the second", two, "closure"))


async def a_stale_write_is_a_conflict_after_the_wait(db: store.Database, url: str) -> list[str]:
    await done(db, town("a", size=0))
    async with writers(db, url, 2) as (first, second):
        await first.start(change("Town#a", size=1, if_version=1), pause="before_commit")
        await second.start(change("Town#a", size=2, if_version=1))
        await first.let_go()
        one, two = outcome(await first.answer()), outcome(await second.answer())
    return await audited(db, expected("the first", one, "committed"), expected("the second", two, "conflict"))


async def both_writes_of_different_fields_stay(db: store.Database, url: str) -> list[str]:
    await done(db, town("a", size=0))
    async with writers(db, url, 2) as (first, second):
        await first.start(change("Town#a", size=1), pause="before_commit")
        await second.start(change("Town#a", motto="m"))
        await first.let_go()
        one, two = outcome(await first.answer()), outcome(await second.answer())
    async with db.transaction() as tx:
        props = await tx.value("select props from node where key = 'a'")
    return await audited(
        db,
        expected("the first", one, "committed"),
        expected("the second", two, "committed"),
        None if props == {"name": "a", "size": 1, "motto": "m"} else f"a write was lost: {props}",
    )


async def a_state_is_left_once(db: store.Database, url: str) -> list[str]:
    await done(db, town("a"))
    await done(db, change("Town#a", "built"))
    async with writers(db, url, 2) as (first, second):
        await first.start(change("Town#a", "ruined"), pause="before_commit")
        await second.start(change("Town#a", "ruined", test={"state": "built"}))
        await first.let_go()
        one, two = outcome(await first.answer()), outcome(await second.answer())
    return await audited(
        db, expected("the first", one, "committed"), expected("the second", two, "precondition_failed")
    )


async def two_in_opposite_order_do_not_wait_for_each_other(db: store.Database, url: str) -> list[str]:
    """Two strangers hold one node each; both writers want both. In id order the second stands behind the first."""
    await done(db, town("a"), town("b"))
    async with db.transaction() as tx:
        lower, upper = [k for (k,) in await tx.fetch("select key from node order by id")]
    async with writers(db, url, 4) as (first, second, one, two):
        for stranger, key in ((one, lower), (two, upper)):
            await stranger.watcher.execute("begin")
            await stranger.watcher.execute("select 1 from node where key = %s for no key update", (key,))
        await first.start(change(f"Town#{lower}", size=1), change(f"Town#{upper}", size=1))
        await second.start(change(f"Town#{upper}", size=2), change(f"Town#{lower}", size=2))
        await one.watcher.execute("rollback")
        await asyncio.gather(first.settled(), second.settled())
        await two.watcher.execute("rollback")
        got = [outcome(await first.answer()), outcome(await second.answer())]
    return await audited(db, *(expected("a writer", o, "committed") for o in got))


async def one_key_in_two_hands_has_one_effect(db: store.Database, url: str) -> list[str]:
    async with writers(db, url, 2) as (first, second):
        await first.start(town("a"), key="k", pause="before_commit")
        await second.start(town("a"), key="k")
        waited = second.waits()
        await first.let_go()
        one, two = await first.answer(), await second.answer()
    return await audited(
        db,
        None if waited else "the second did not wait for the first",
        expected("the first", outcome(one), "committed"),
        expected("the second", outcome(two), "replayed"),
        None if one.get("commit") == two.get("commit") else "the second heard of another commit",
    )


async def readers_are_not_taken_from_what_is_changing(db: store.Database, url: str) -> list[str]:
    await done(db, town("a", readers=["group:all"]))
    async with writers(db, url, 2) as (first, second):
        await first.start(*house(1), pause="before_commit")
        await second.start(change("Town#a", readers=["group:few"]))
        await first.let_go()
        one, two = outcome(await first.answer()), outcome(await second.answer())
    return await audited(
        db, expected("the first", one, "committed"), expected("the second", two, "committed", "closure")
    )


async def a_schema_does_not_change_under_a_commit(db: store.Database, url: str) -> list[str]:
    """An upload waits for the commits under way, and the next one hears of it."""
    newer = world.DOMAIN.replace(b"max_out: 2", b"max_out: 1")
    async with store.connect(url) as other, writers(db, url, 2) as (first, second):
        await first.start(town("a"), pause="after_schema")
        uploading = asyncio.create_task(world.upload(other, newer))
        waited = not (await asyncio.wait([uploading], timeout=0.05))[0]
        await second.start(town("b"))
        await first.let_go()
        one = outcome(await first.answer())
        await uploading
        two = outcome(await second.answer())
    return await audited(
        db,
        None if waited else "the upload did not wait",
        expected("the first", one, "committed"),
        expected("the second", two, "schema_changed"),
    )


async def lists_that_many_append_to_have_one_history(db: store.Database, url: str) -> list[str]:
    """Read two lists, append to one under `if_version` of both: every committed history must be serial."""
    await done(db, *(town(n) for n in "abc"))
    history: list[histories.Txn] = []
    counter = iter(range(10_000))

    async def client(number: int) -> None:
        for turn in range(20):
            mine, other = "abc"[(number + turn) % 3], "abc"[(number + 2 * turn + 1) % 3]
            start = time.monotonic()
            keys = sorted({mine, other})
            async with db.transaction() as tx:
                rows = await tx.fetch("select key, version, props from node where key = any (%s)", (keys,))
            found = {key: (version, props.get("log", [])) for key, version, props in rows}
            value = str(next(counter))
            ops = [
                change(f"Town#{k}", if_version=found[k][0], test={"log": found[k][1] or None}, **more)
                for k, more in ((k, {"log": [*found[k][1], value]} if k == mine else {}) for k in keys)
            ]
            made = await gate.submit(db, world.delta(ops), author=world.ANN, rights=gate.ALL, clock=world.CLOCK)
            reads = [("read", k, found[k][1]) for k in keys]
            history.append(
                histories.Txn(
                    id=int(value),
                    ops=[*reads, ("append", mine, value)],  # type: ignore[list-item]
                    start=start,
                    end=time.monotonic(),
                    ok=isinstance(made, gate.Committed),
                )
            )

    await asyncio.gather(*(client(n) for n in range(6)))
    async with db.transaction() as tx:
        last = await tx.fetch("select key, props->'log' from node")
    now = time.monotonic()
    final = [("read", key, log or []) for key, log in last]
    history.append(histories.Txn(id=-1, ops=final, start=now, end=now))  # type: ignore[arg-type]
    found = histories.anomalies(history)
    wrote = sum(1 for t in history if t.ok)
    return await audited(
        db, *(f"{name}: {n}" for name, n in found.items()), None if wrote > 10 else f"only {wrote} committed"
    )


SCENES: tuple[Scene, ...] = (
    the_last_place_is_given_once,
    a_unique_value_is_taken_once,
    a_key_is_taken_once,
    no_edge_leads_to_what_is_being_deleted,
    nothing_is_deleted_from_under_a_new_edge,
    a_cascade_that_grows_while_it_waits_begins_again,
    a_stale_write_is_a_conflict_after_the_wait,
    both_writes_of_different_fields_stay,
    a_state_is_left_once,
    two_in_opposite_order_do_not_wait_for_each_other,
    one_key_in_two_hands_has_one_effect,
    readers_are_not_taken_from_what_is_changing,
    a_schema_does_not_change_under_a_commit,
    lists_that_many_append_to_have_one_history,
)
