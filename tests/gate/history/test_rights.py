"""What is read back is read under rights, field by field: timeline, commit, feed, search, as-of (P3, W11)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.gate import world
from ukai import access, gate, store
from ukai.gate import feed, history, rows
from ukai.gate.rows import lookup
from ukai.kit import document

ACCESS = {
    "policies.yaml": b"""
policies:
  - {id: towns, allow: read, records: {types: [Town]}, to: [ben@example.com], fields: [name, size], and_owned: true}
  - {id: own, allow: read, records: {types: [Owner]}, to: [cy@example.com], where: {name: cy}, and_owned: true}
"""
}
OWNED = b"""
domain: owned
types:
  - {type: Owner, key: name, fields: [{key: name, kind: string, required: true}]}
  - {type: Thing, key: name, fields: [{key: name, kind: string, required: true}, {key: note, kind: string}]}
edges:
  - {edge: belongs_to, from: Thing, to: Owner, max_out: 1, owns: to}
"""


def rights(who: str) -> access.Rights:
    documents = {name: document.read(raw, name=name)[0] for name, raw in ACCESS.items()}
    files, findings = access.read(documents)
    assert findings == []
    return files.rights(files.audience([who]), "(direct)", channel="cli")


@pytest.fixture
async def town(database: store.Database) -> gate.Committed:
    await world.upload(database)
    ben = ["ben@example.com"]
    await world.done(database, world.town("a", motto="semper secretum", readers=ben), world.town("b", readers=ben))
    return await world.done(database, world.change("Town#a", motto="other", size=3), world.change("Town#b", motto="x"))


def told(changes: object) -> str:
    return str([c.as_json() for c in changes])  # type: ignore[attr-defined]


async def test_a_field_that_may_not_be_read_is_on_no_way_out(database: store.Database, town: gate.Committed):
    ben = rights("ben@example.com")

    async with database.transaction() as tx:
        timeline = await history.of_node(tx, "Town#a", rights=ben)
        commit = await history.of_commit(tx, town.commit, rights=ben)
        found = await history.search(tx, "secretum", rights=ben)
        past = await history.as_of(tx, "Town#a", world.CLOCK.now(), rights=ben)
    page = await feed.read(database, feed.BEGINNING, rights=ben)

    assert [c.fields for c in timeline] == [("size",), ("name",)]
    assert [(c.handle, c.fields) for c in commit] == [("Town#a", ("size",))]  # of Town#b nothing is left
    assert found == []
    assert past is not None
    assert (dict(past.props), past.state) == ({"name": "a", "size": 3}, None)
    assert [c.handle for c in page.changes] == ["Town#a", "Town#b", "Town#a"]
    assert all(word not in told([*timeline, *commit, *page.changes]) for word in ("secretum", "other", "planned"))


async def test_all_of_it_is_there_for_the_system(database: store.Database, town: gate.Committed):
    async with database.transaction() as tx:
        commit = await history.of_commit(tx, town.commit, rights=gate.ALL)
        found = await history.search(tx, "secretum", rights=gate.ALL)
        nothing = await history.of_commit(tx, town.commit, rights=None)

    assert [(c.handle, set(c.fields)) for c in commit] == [("Town#a", {"motto", "size"}), ("Town#b", {"motto"})]
    assert [c.op for c in found] == ["update", "create"]
    assert nothing == []


async def test_rights_that_come_by_way_of_an_owner_reach_the_history(database: store.Database):
    await world.upload(database, OWNED)
    ops = [
        {"kind": "create_node", "ref": f"${k}", "node_type": t, "set": {"name": n}}
        for k, t, n in (("o", "Owner", "cy"), ("t", "Thing", "mine"), ("u", "Thing", "nobody's"))
    ]
    ops.append({"kind": "create_edge", "edge_type": "belongs_to", "from": {"ref": "$t"}, "to": {"ref": "$o"}})
    done = await gate.submit(database, {"ops": ops}, author=world.ANN, rights=gate.ALL, clock=world.CLOCK)
    assert isinstance(done, gate.Committed)
    cy = rights("cy@example.com")

    async with database.transaction() as tx:
        timeline = await history.of_node(tx, "Thing#mine", rights=cy, edges=False)
    page = await feed.read(database, feed.BEGINNING, rights=cy)

    assert [dict(c.after) for c in timeline] == [{"name": "mine"}]
    assert {c.handle for c in page.changes} == {"Owner#cy", "Thing#mine", "Thing#mine -belongs_to-> Owner#cy"}
    async with database.transaction() as tx:  # and what a rejection offers in place of a key that is not there
        assert await rows.keys_near(tx, "Thing", ["nine"], AskedTogether(cy)) == ["mine"]  # type: ignore[arg-type]


class AskedTogether:
    """Rights that may be asked for many rows, and for none by itself."""

    def __init__(self, of: access.Rights) -> None:
        self.of = of

    def __getattr__(self, name: str) -> Any:
        return getattr(self.of, name)

    def sql(self, *_: Any) -> Any:
        raise AssertionError("each row was asked about its owner")


class AskedBySql:
    """Rights of a condition alone; nothing passes from owners."""

    def __init__(self, condition: str) -> None:
        self.condition = condition

    def sql(self, *_: Any) -> tuple[str, list[Any]]:
        return self.condition, []

    def sql_among(self, *_: Any) -> None:
        return None


async def test_keys_in_place_of_missing_ones_are_the_same_whoever_reads_and_few_are_looked_for_once(
    database: store.Database, monkeypatch: pytest.MonkeyPatch
):
    await world.upload(database, OWNED)
    missing = [f"k{n}x" for n in range(0, 3_000, 300)]
    read = "select seq_tup_read + idx_tup_fetch from pg_stat_xact_user_tables where relname = 'node'"

    async def near(condition: str) -> tuple[list[str], int]:
        async with database.transaction() as tx:
            before = await tx.value(read)
            found = await rows.keys_near(tx, "Thing", missing, AskedBySql(condition))  # type: ignore[arg-type]
            return sorted(found), await tx.value(read) - before

    async with database.transaction() as tx:
        await tx.execute(
            "insert into node (id, domain, type, key, path) select gen_random_uuid(), 'owned', 'Thing', 'k' || n, "
            "'things/' || n from generate_series(1, 3000) n"
        )
    few, cost = await near("n.path like 'things/2_7'")
    many, _ = await near("true")
    monkeypatch.setattr(lookup, "FEW", 0)
    by_each, dear = await near("n.path like 'things/2_7'")
    monkeypatch.setattr(lookup, "FEW", 9_000)
    at_once, _ = await near("true")

    assert few == by_each == [f"k2{n}7" for n in range(10)]
    assert many == at_once
    assert cost < 3 * 3_000 < dear


async def test_an_owner_of_many_is_asked_once_where_changes_are_read(database: store.Database):
    await world.upload(database, OWNED)
    ops = [{"kind": "create_node", "ref": "$o", "node_type": "Owner", "set": {"name": "cy"}}]
    for name in ("mine", "gone", "other"):
        ops.append({"kind": "create_node", "ref": f"${name}", "node_type": "Thing", "set": {"name": name}})
    ops += [
        {"kind": "create_edge", "edge_type": "belongs_to", "from": {"ref": f"${n}"}, "to": {"ref": "$o"}}
        for n in ("mine", "gone")
    ]
    done = await gate.submit(database, {"ops": ops}, author=world.ANN, rights=gate.ALL, clock=world.CLOCK)
    assert isinstance(done, gate.Committed)
    cy = AskedTogether(rights("cy@example.com"))

    async with database.transaction() as tx:
        commit = await history.of_commit(tx, done.commit, rights=cy)
    page = await feed.read(database, feed.BEGINNING, rights=cy, limit=2)
    rest = await feed.read(database, page.cursor, rights=cy, limit=1_000)

    told = [c.handle for c in commit]
    assert told == [
        "Owner#cy",
        "Thing#mine",
        "Thing#gone",
        *(f"Thing#{n} -belongs_to-> Owner#cy" for n in ("mine", "gone")),
    ]
    assert [c.handle for c in (*page.changes, *rest.changes)] == told

    edges = [{"kind": "delete_edge", "edge_type": "belongs_to", "from": {"handle": f"Thing#{n}"},
              "to": {"handle": "Owner#cy"}} for n in ("mine", "gone")]  # fmt: skip
    await gate.submit(
        database, {"ops": [*edges, world.remove("Owner#cy")]}, author=world.ANN, rights=gate.ALL, clock=world.CLOCK
    )
    later = await feed.read(database, rest.cursor, rights=cy)
    assert [(c.op, c.handle) for c in later.changes] == [("delete", "Owner#cy")]


@pytest.mark.parametrize("cursor", ["x", "a.b.c", "..", f"{{}}.{'9' * 40}.1", "{}.1.-1", "{}.١.1"])
async def test_a_cursor_that_is_none_is_gone_and_no_fault(database: store.Database, cursor: str):
    timeline = (await feed.end(database)).partition(".")[0]

    with pytest.raises(feed.Gone, match="it is no cursor of this feed"):
        await feed.read(database, cursor.replace("{}", timeline), rights=gate.ALL)
