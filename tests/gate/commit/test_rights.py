"""Rights are asked for on the record as it stands under the locks, and never tell what may not be read (P3, W3)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.gate import world
from tests.gate.world import change, done, edge, house, propose, remove, town
from ukai import access, gate, store
from ukai.kit import document

POLICIES = b"""
policies:
  - {id: ann-all, allow: read, records: {types: ["*"]}, to: [ann@example.com]}
  - {id: ann-writes, allow: write, records: {types: ["*"]}, fields: ["*"], transitions: ["*->*"], to: [ann@example.com]}
  - {id: ben-reads, allow: read, records: {types: [Town], paths: ["map/a/**", "map/a"]}, to: [ben@example.com]}
  - id: ben-sizes
    allow: write
    records: {types: [Town], paths: ["map/a"]}
    fields: [size, road]
    to: [ben@example.com]
  - id: ben-builds
    allow: write
    records: {types: [Town], paths: ["map/a"]}
    transitions: ["planned->built"]
    to: [ben@example.com]
"""


def rights(who: str) -> access.Rights:
    documents = {"policies.yaml": document.read(POLICIES, name="policies.yaml")[0]}
    files, findings = access.read(documents)
    assert findings == [], findings
    return files.rights(files.audience([who]), "(direct)", channel="cli")


@pytest.fixture
async def db(database: store.Database) -> store.Database:
    await world.upload(database)
    both = ["ann@example.com", "ben@example.com"]
    await done(database, town("a", size=1, readers=both), town("b", size=1, readers=both), *house(1))
    return database


async def codes(db: store.Database, *ops: world.Op, who: str = "ben@example.com") -> list[str]:
    outcome = await propose(db, *ops, rights=rights(who))
    return [] if isinstance(outcome, gate.Committed) else [r.code for r in outcome.rejections]


async def test_a_field_that_may_be_written_is_written(db: store.Database):
    assert await codes(db, change("Town#a", size=2)) == []


async def test_another_field_of_the_same_record_is_not(db: store.Database):
    assert await codes(db, change("Town#a", size=2, motto="m")) == ["forbidden_field"]
    assert await codes(db, change("Town#a", motto="m")) == ["forbidden_row"]


async def test_a_transition_is_a_right_of_its_own(db: store.Database):
    assert await codes(db, change("Town#a", "built")) == []
    assert await codes(db, change("Town#a", "ruined", size=3)) == ["forbidden_transition"]


async def test_what_may_not_be_read_is_answered_as_if_it_were_not_there(db: store.Database):
    hidden = await propose(db, change("Town#b", size=2, if_version=9), rights=rights("ben@example.com"))
    absent = await propose(db, change("Town#c", size=2, if_version=9), rights=rights("ben@example.com"))

    assert isinstance(hidden, gate.Rejected)
    assert isinstance(absent, gate.Rejected)
    said = [[str(r).replace("Town#b", "Town#?").replace("received b", "received ?") for r in hidden.rejections]]
    assert said == [[str(r).replace("Town#c", "Town#?").replace("received c", "received ?") for r in absent.rejections]]


_SEAL = "seal-{}"
OPS: dict[str, Callable[[str], world.Op]] = {
    "delete": lambda name: remove(f"Town#{name}"),
    "edge from": lambda name: edge("road", f"Town#{name}", "Town#a"),
    "edge to": lambda name: edge("road", "Town#a", f"Town#{name}"),
    "edge not allowed": lambda name: edge("twin", "Town#a", f"Town#{name}"),
    "edge gone": lambda name: edge("road", f"Town#{name}", "Town#a", "delete_edge"),
    "upsert": lambda name: {"kind": "upsert_node", "node_type": "Town", "match": {"name": name}, "set": {"size": 2}},
    "create": lambda name: town(name, seal=_SEAL.format(name)),
}


@pytest.mark.parametrize("way", OPS)
async def test_counts_of_edges_and_taken_keys_do_not_tell_that_a_hidden_record_is_there(db: store.Database, way: str):
    await done(
        db, change("Town#b", seal=_SEAL.format("b")), edge("road", "Town#b", "Town#a"), edge("road", "Town#a", "Town#b")
    )

    hidden = await propose(db, OPS[way]("b"), rights=rights("ben@example.com"))
    absent = await propose(db, OPS[way]("c"), rights=rights("ben@example.com"))

    assert isinstance(hidden, gate.Rejected)
    assert isinstance(absent, gate.Rejected)
    said = [str(r).replace("#b", "#?").replace("received b", "received ?") for r in hidden.rejections]
    assert said == [str(r).replace("#c", "#?").replace("received c", "received ?") for r in absent.rejections]


async def test_a_field_that_may_not_be_read_cannot_be_guessed_with_a_test(db: store.Database):
    mine = (
        POLICIES
        + b"""
  - {id: no-size, deny: read, records: {types: [Town]}, fields: [size], to: [ben@example.com]}
"""
    )

    said: list[list[str]] = []
    for guess in (1, 2):
        op = {**change("Town#a", road=None), "set": {}, "test": {"size": guess}}
        outcome = await propose(db, op, rights=_from(mine), dry_run=True)
        assert isinstance(outcome, gate.Rejected)
        said.append([str(r) for r in outcome.rejections])

    assert said[0] == said[1]
    assert "forbidden_field" in said[0][0]


async def test_the_holder_of_a_taken_value_is_named_only_to_those_who_may_read_it(db: store.Database):
    await done(db, change("Town#b", seal="s"))
    files = POLICIES.replace(b"fields: [size, road]", b"fields: [size, road, seal]")

    outcome = await propose(db, change("Town#a", seal="s"), rights=_from(files))

    assert isinstance(outcome, gate.Rejected)
    (told,) = outcome.rejections
    assert told.code == "unique_violation"
    assert "Town#b" not in str(told.as_json())


async def test_an_edge_is_a_field_of_the_record_it_leaves(db: store.Database):
    assert await codes(db, edge("twin", "Town#a", "Town#a")) == ["forbidden_row"]
    assert await codes(db, edge("road", "Town#a", "Town#a")) == []


async def test_deleting_and_creating_are_asked_for_too(db: store.Database):
    assert await codes(db, remove("Town#a")) == ["forbidden_row"]
    assert await codes(db, town("c")) == ["forbidden_row"]
    assert await codes(db, town("c", readers=["ann@example.com"]), who="ann@example.com") == []
    assert await codes(db, remove("Town#c"), who="ann@example.com") == []


async def test_nothing_is_written_when_one_part_is_forbidden(db: store.Database):
    assert await codes(db, change("Town#a", size=7), remove("Town#a")) != []

    async with db.transaction() as tx:
        assert await tx.value("select props->>'size' from node where key = 'a' and type = 'Town'") == "1"


def _from(policies: bytes) -> access.Rights:
    files, findings = access.read({"policies.yaml": document.read(policies, name="policies.yaml")[0]})
    assert findings == []
    return files.rights(files.audience(["ben@example.com"]), "(direct)", channel="cli")
