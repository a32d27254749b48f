"""A stricter schema against data that stands: what would fail is counted, and old data may stay (W11)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tests.gate import world
from tests.gate_after import given
from ukai import gate, store
from ukai.gate import domains, impact
from ukai.gate.rights import ALL

STRICT = (
    world.DOMAIN.replace(b"{key: size, kind: integer}", b"{key: size, kind: integer, required: true, max: 10}", 1)
    .replace(b"{key: motto, kind: string}", b"{key: motto, kind: string, unique: true}", 1)
    .replace(b"values: [planned, built, ruined]", b"values: [planned, ruined]", 1)
    .replace(b"transitions: [{from: planned, to: built}, {from: built, to: ruined}]", b"transitions: []", 1)
    .replace(b"max_out: 2", b"max_out: 1", 1)
    .replace(b"new.number < 1000 ||", b"new.number < 5 ||", 1)
)


@dataclass(frozen=True)
class OnlyTown:
    """Rights over everything, of which one town may be read."""

    key: str

    def sql(self, alias: str = "n", owning: Any = ()) -> tuple[str, list[Any]]:
        return f"{alias}.key = %s", [self.key]

    def sql_among(self, *_: Any, **__: Any) -> None:
        return None


async def filled(db: store.Database) -> None:
    await world.upload(db)
    await world.done(db, *(world.town(name, size=size) for name, size in (("a", 1), ("b", 11), ("c", 12))))
    await world.done(db, world.town("d"), world.town("e", size=99, motto="x"))
    await world.done(db, world.town("f", size=2, motto="x"))  # later: the second to hold a value is the one that fails
    await world.done(db, world.change("Town#a", "built"))
    await world.done(db, world.edge("road", "Town#a", "Town#b"), world.edge("road", "Town#a", "Town#c"))
    await world.done(db, *world.house(1), *world.house(7, ref="$i"))


async def test_what_would_fail_is_counted_by_part_with_examples(database: store.Database):
    await filled(database)

    found = await impact.of(database, world.domain(STRICT), rights=ALL)

    assert {(b.type, b.part, b.code, b.count, b.examples) for b in found.broken} == {
        ("Town", "size", "out_of_range", 3, ("Town#b", "Town#c", "Town#e")),
        ("Town", "size", "required_field", 1, ("Town#d",)),
        ("Town", "motto", "unique_violation", 1, ("Town#f",)),
        ("Town", "state", "state_unknown", 1, ("Town#a",)),
        ("House", "rule owned", "rule_violation", 1, ("House#a:7",)),
        ("road", "out", "cardinality", 1, ("Town#a",)),
    }
    assert found.failing == 7
    assert next(found.lines()) == "world version 2: 7 nodes would fail, of 8 records looked at"


async def test_examples_are_only_of_what_the_uploader_may_read(database: store.Database):
    await filled(database)

    found = await impact.of(database, world.domain(STRICT), rights=OnlyTown("c"))  # type: ignore[arg-type]

    assert {e for b in found.broken for e in b.examples} == {"Town#c"}
    assert found.failing == 7


async def test_what_fails_already_is_told_apart_and_an_unchanged_type_is_not_looked_at(database: store.Database):
    await filled(database)
    await world.upload(database, STRICT)
    stricter = STRICT.replace(b"max: 10", b"max: 5", 1)

    found = await impact.of(database, world.domain(stricter), rights=ALL)

    assert [(b.part, b.count, b.new) for b in found.broken if b.code == "out_of_range"] == [("size", 3, 0)]
    assert not any(b.type == "House" for b in found.broken)
    assert found.failing == 0


async def test_trying_an_upload_changes_nothing(database: store.Database):
    await filled(database)

    tried = await domains.tried(database, world.domain(STRICT))

    assert tried.changed
    assert (await domains.known(database, fresh=True)).domains["world"].version == 1


async def test_old_data_stays_until_what_is_wrong_is_touched(database: store.Database):
    await filled(database)
    await world.upload(database, STRICT)

    kept = await world.done(database, world.change("House#a:7", secret="s"))  # the rule was broken before
    other = await world.done(database, world.change("Town#b", motto="new"))  # so was size

    assert [w.code for w in kept.warnings] == ["rule_violation"]
    assert other.warnings == ()
    assert await world.refused(database, world.change("Town#b", size=20)) == ["out_of_range"]
    assert await world.refused(database, *world.house(9)) == ["rule_violation"]


async def test_a_rule_that_only_warns_does_not_stop_an_update(database: store.Database):
    source = world.DOMAIN.replace(b'has(new.owner)", message', b'has(new.owner)", severity: warning, message', 1)
    await world.upload(database, source)
    await world.done(database, world.town("a"), *world.house(1))
    await world.done(database, world.change("House#a:1", owner="x"))
    big = await world.done(database, *world.house(1001))

    done = await world.done(database, world.change("House#a:1001", owner=None))

    assert [w.severity for w in (*big.warnings, *done.warnings)] == ["warning", "warning"]


async def test_a_dry_run_of_a_migration_is_no_attempt(database: store.Database):
    await given.town(database, size=1)

    seen = await world.propose(database, world.change("Town#a", size=2), dry_run=True)

    assert isinstance(seen, gate.Committed)
