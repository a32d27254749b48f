from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from tests.gate import world
from tests.gate.world import change, done, edge, house, propose, remove, town
from ukai import gate, store
from ukai.access import decision, record
from ukai.access.write import Reach
from ukai.gate import audit, history
from ukai.kit.clock import FixedClock

START = datetime(2026, 11, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


@dataclass(frozen=True)
class Only:
    """Rights over towns and houses whose key is not hidden, without the field `motto`."""

    hidden: str = "b"

    def may_write(self, type: str, fields: Any, transition: Any = None, record: Any = None) -> decision.Decision:
        return decision.Decision(allowed=True, reason="test")

    def read(self, record: record.Record, field: str | None = None) -> decision.Decision:
        return decision.Decision(allowed=record.key != self.hidden and field != "motto", reason="test")

    def sql(self, alias: str = "n", owning: Any = ()) -> tuple[str, list[Any]]:
        return f"{alias}.key <> %s", [self.hidden]

    def sql_among(self, *_: Any, **__: Any) -> None:
        return None

    def readable(self, type: str, fields: frozenset[str]) -> frozenset[str]:
        return fields - {"motto"}

    def writable(self, type: str, fields: frozenset[str]) -> Reach:
        return Reach(fields=fields)


@pytest.fixture
async def db(database: store.Database) -> store.Database:
    await world.upload(database)
    return database


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock(START)


async def test_a_timeline_tells_what_changed_from_what_to_what_by_whom(db: store.Database, clock: FixedClock):
    await done(db, town("a", size=1), clock=clock)
    clock.advance(HOUR)
    await done(db, change("Town#a", "built", size=2, motto="m"), author=world.BOT, clock=clock)

    async with db.transaction() as tx:
        newest, oldest = await history.of_node(tx, "Town#a", rights=gate.ALL)

    assert (oldest.op, dict(oldest.after)) == ("create", {"name": "a", "size": 1, "state": "planned"})
    assert (newest.op, newest.version, newest.at) == ("update", 2, START + HOUR)
    assert dict(newest.before) == {"size": 1, "state": "planned"}
    assert dict(newest.after) == {"size": 2, "motto": "m", "state": "built"}
    assert (newest.author.kind, newest.author.id, newest.author.run) == ("agent", "surveyor", "run-1")


async def test_a_timeline_has_the_edges_of_the_node_and_outlives_it(db: store.Database):
    await done(db, town("a"), town("c"), edge("twin", "Town#a", "Town#c"))
    await done(db, remove("Town#a"))

    async with db.transaction() as tx:
        told = [(c.op, c.handle) for c in await history.of_node(tx, "Town#a", rights=gate.ALL)]

    assert told == [
        ("delete", "Town#a"),
        ("delete", "Town#a -twin-> Town#c"),
        ("create", "Town#a -twin-> Town#c"),
        ("create", "Town#a"),
    ]


async def test_a_timeline_shows_no_field_and_no_neighbour_that_may_not_be_read(db: store.Database):
    await done(db, town("a", motto="m", size=1), town("b"), town("c"))
    await done(db, edge("twin", "Town#a", "Town#b"), edge("road", "Town#a", "Town#c"))

    async with db.transaction() as tx:
        told = await history.of_node(tx, "Town#a", rights=Only())
        hidden = await history.of_node(tx, "Town#b", rights=Only())
        nobody = await history.of_node(tx, "Town#a", rights=None)

    assert [c.handle for c in told] == ["Town#a -road-> Town#c", "Town#a"]
    assert told[-1].fields == ("name", "size", "state")
    assert (hidden, nobody) == ([], [])


async def test_a_timeline_comes_in_pages(db: store.Database):
    await done(db, town("a"))
    for size in range(5):
        await done(db, change("Town#a", size=size))

    async with db.transaction() as tx:
        first = await history.of_node(tx, "Town#a", rights=gate.ALL, window=history.Window(limit=4))
        rest = await history.of_node(
            tx, "Town#a", rights=gate.ALL, window=history.Window(limit=4, before=first[-1].seq)
        )

    assert [len(first), len(rest)] == [4, 2]


async def test_a_node_is_seen_as_it_was(db: store.Database, clock: FixedClock):
    await done(db, town("a", size=1), clock=clock)
    clock.advance(HOUR)
    await done(db, change("Town#a", "built", size=2, motto="m"), clock=clock)
    clock.advance(HOUR)
    await done(db, change("Town#a", size=None), clock=clock)
    clock.advance(HOUR)
    await done(db, remove("Town#a"), clock=clock)

    async def at(hours: float) -> tuple[Any, ...] | None:
        async with db.transaction() as tx:
            past = await history.as_of(tx, "Town#a", START + hours * HOUR, rights=gate.ALL)
        return past and (dict(past.props), past.state, past.version, past.alive)

    assert await at(-1) is None
    assert await at(0.5) == ({"name": "a", "size": 1}, "planned", 1, True)
    assert await at(1) == ({"name": "a", "size": 2, "motto": "m"}, "built", 2, True)
    assert await at(2.5) == ({"name": "a", "motto": "m"}, "built", 3, True)
    assert await at(4) == ({"name": "a", "motto": "m"}, "built", 3, False)


async def test_a_handle_means_the_node_that_lived_then(db: store.Database, clock: FixedClock):
    await done(db, town("a", size=1), clock=clock)
    clock.advance(HOUR)
    await done(db, remove("Town#a"), clock=clock)
    clock.advance(HOUR)
    await done(db, town("a", size=2), clock=clock)

    async with db.transaction() as tx:
        then = await history.as_of(tx, "Town#a", START + HOUR / 2, rights=gate.ALL)
        now = await history.as_of(tx, "Town#a", START + 3 * HOUR, rights=gate.ALL)

    assert then is not None
    assert now is not None
    assert (then.props["size"], now.props["size"]) == (1, 2)


async def test_the_words_of_history_are_found_before_and_after_they_are_indexed(db: store.Database):
    await done(db, town("a", motto="quiet rivers"), *house(1))
    await done(db, change("Town#a", motto="loud harbours"))

    async def found(text: str, rights: Any = gate.ALL) -> list[tuple[str, str]]:
        async with db.transaction() as tx:
            return [(c.op, c.handle) for c in await history.search(tx, text, rights=rights)]

    fresh = await found("rivers"), await found("harbours"), await found('"loud harbours"')
    indexed = await history.index(db)
    assert fresh == ([("update", "Town#a"), ("create", "Town#a")], [("update", "Town#a")], [("update", "Town#a")])
    assert indexed > 0
    assert (await found("rivers"), await found("harbours"), await found('"loud harbours"')) == fresh
    assert await history.index(db) == 0
    await done(db, change("Town#a", motto="late words"))
    assert await found("late") == [("update", "Town#a")]
    assert await found("rivers", Only()) == []


async def test_all_changes_of_one_commit_are_told_in_order(db: store.Database):
    made = await done(db, town("a"), *house(1))

    async with db.transaction() as tx:
        told = [(c.op, c.kind) for c in await history.of_commit(tx, made.commit, rights=gate.ALL)]

    assert told[:3] == [("create", "node"), ("create", "node"), ("create", "edge")]


async def test_who_wrote_what_is_counted_with_what_was_refused(db: store.Database):
    await done(db, town("a"), *house(1))
    await done(db, change("Town#a", size=1))
    await propose(db, change("Town#a", size="x"), author=world.BOT)
    await done(db, change("Town#a", size=2), author=world.BOT)
    await propose(db, change("Town#nowhere", size=1))

    async with db.transaction() as tx:
        human, agent = await history.shares(tx)
        named = await history.shares(tx, by_author=True)
        codes = await audit.top_codes(tx, window=history.NOW)

    assert (human.kind, human.commits, human.refused, human.first_pass) == ("human", 2, 1, 1.0)
    assert (agent.kind, agent.commits, agent.changes, agent.refused, agent.first_pass) == ("agent", 1, 1, 1, 0.0)
    assert {s.id for s in named} == {"ann@example.com", "surveyor"}
    assert {c for _, c, _ in codes} == {"type_mismatch", "unknown_id"}


async def test_refused_attempts_can_be_read_back(db: store.Database):
    await propose(db, change("Town#a", size="x"), author=world.BOT)

    async with db.transaction() as tx:
        (attempt,) = await audit.attempts(tx, run="run-1")

    assert (attempt.number, attempt.codes, attempt.author) == (1, ("type_mismatch",), world.BOT)
    assert attempt.body["ops"][0]["set"] == {"size": "x"}
    assert isinstance(attempt.id, UUID)
