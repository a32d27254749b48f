"""What a pull brings in, what it does when it comes again, and what it leaves alone (W3, W11)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.connect import world
from ukai import gate, store
from ukai.connect import definition, pull, rows
from ukai.gate import bulk

CSV = "id,name,ARR,owner,team,modified\n1,Acme,1250.5,ann,emea,2026-01-01\n2,Bolt,,bob,amer,2026-01-02\n"


@pytest.fixture
async def db(database: store.Database) -> store.Database:
    await world.upload(database)
    return database


async def test_rows_become_records_with_where_they_come_from(db: store.Database, tmp_path: Path):
    world.write(tmp_path, CSV)
    made = world.connector(
        map={"key": "row.id", "set": {"name": "row.name", "arr": "number(row.ARR)"}, "state": "'closed'"},
        readers=["'group:' + row.team", "['group:leads']"],
        provenance={"asserted_by": "row.owner", "at": "row.modified"},
    )

    report = await world.pulled(db, tmp_path, made)

    assert report.counts == {"read": 2, "written": 2, "refused": 0, "nodes_created": 2}
    assert await world.nodes(db) == {
        "1": {"id": "1", "name": "Acme", "arr": "1250.5", "readers": ["group:emea", "group:leads"]},
        "2": {"id": "2", "name": "Bolt", "readers": ["group:amer", "group:leads"]},
    }
    async with db.transaction() as tx:
        row = await tx.one("select state, readers, provenance from node where key = '1'")
    assert row is not None
    assert (row[0], row[1]) == ("closed", ["group:emea", "group:leads"])
    sources = {"by": "connector:service:crm", "asserted_by": "ann", "at": "2026-01-01", "place": "a.csv:2"}
    assert row[2] == sources | {"connector": "crm"}


async def test_of_long_values_a_few_rows_make_a_batch(
    db: store.Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    world.write(tmp_path, "id,name\n" + "".join(f"{n},{'x' * 100}\n" for n in range(5)))
    monkeypatch.setattr(pull, "MOST", 200)
    sizes: list[int] = []

    async def submit_many(db: store.Database, lots: AsyncIterator[bulk.Lot], **more: Any) -> None:
        async def seen() -> AsyncIterator[bulk.Lot]:
            async for lot in lots:
                sizes.append(len(lot.proposals))
                yield lot

        await submitted(db, seen(), **more)

    submitted = bulk.submit_many
    monkeypatch.setattr(bulk, "submit_many", submit_many)

    report = await world.pulled(db, tmp_path)

    assert (report.counts["written"], sizes) == (5, [2, 2, 1])


async def test_the_same_again_changes_nothing_and_a_change_changes_one(db: store.Database, tmp_path: Path):
    world.write(tmp_path, CSV)
    await world.pulled(db, tmp_path)
    before = await world.changes(db)

    again = await world.pulled(db, tmp_path)
    world.write(tmp_path, CSV.replace("Bolt", "Bolt & Co"))
    changed = await world.pulled(db, tmp_path)
    forced = await world.pulled(db, tmp_path, full=True)

    assert again.counts == {"read": 2, "written": 0, "unchanged": 2, "refused": 0}
    assert changed.counts == {"read": 2, "written": 1, "unchanged": 1, "refused": 0, "nodes_updated": 1}
    assert forced.counts == {"read": 2, "written": 2, "refused": 0}
    assert await world.changes(db) == before + 1


async def test_a_cursor_passes_over_what_is_old(db: store.Database, tmp_path: Path):
    made = world.connector(cursor="row.modified")
    world.write(tmp_path, CSV)
    await world.pulled(db, tmp_path, made)

    world.write(tmp_path, CSV.replace("Acme", "Acme!").replace("Bolt", "Bolt!") + "3,Core,,x,y,2026-01-03\n")
    report = await world.pulled(db, tmp_path, made)
    nothing = await world.pulled(db, tmp_path, made)

    assert report.counts == {
        "read": 3,
        "written": 2,
        "skipped": 1,
        "refused": 0,
        "nodes_created": 1,
        "nodes_updated": 1,
    }
    assert nothing.counts == {"read": 3, "written": 0, "skipped": 2, "unchanged": 1, "refused": 0}


async def test_what_a_full_pull_does_not_have_any_more_is_deleted_where_the_connector_says_so(
    db: store.Database, tmp_path: Path
):
    keeps, deletes = world.connector(), world.connector(missing="tombstone")
    world.write(tmp_path, CSV)
    await world.pulled(db, tmp_path, keeps)
    world.write(tmp_path, "id,name\n1,Acme\n")

    kept = await world.pulled(db, tmp_path, keeps)
    assert "missing" not in kept.counts
    gone = await world.pulled(db, tmp_path, deletes)

    assert gone.counts["missing"] == gone.counts["nodes_deleted"] == 1
    assert list(await world.nodes(db)) == ["1"]
    assert "missing" not in (await world.pulled(db, tmp_path, deletes)).counts


@pytest.mark.parametrize(
    ("text", "said"), [("id,name\n", "no row at all"), ("id,name\n1,Acme\n,Nobody\n", "a row whose key is not known")]
)
async def test_nothing_is_deleted_by_a_pull_that_may_have_missed_something(
    db: store.Database, tmp_path: Path, text: str, said: str
):
    made = world.connector(missing="tombstone")
    world.write(tmp_path, CSV)
    await world.pulled(db, tmp_path, made)
    world.write(tmp_path, text)

    report = await world.pulled(db, tmp_path, made)

    assert list(await world.nodes(db)) == ["1", "2"]
    assert [f.code for f in report.findings] == ["missing_not_known"]
    assert said in report.findings[0].message


async def test_edges_follow_the_row_and_leave_those_of_others(db: store.Database, tmp_path: Path):
    for name in ("ann", "bob"):
        await _done(db, {"kind": "create_node", "node_type": "Person", "set": {"name": name, "email": f"{name}@x"}})
    made = world.connector(
        edges=[
            {"edge": "owned_by", "to": {"node_type": "Person", "match": {"email": "row.owner + '@x'"}}},
            {"edge": "partner_of", "to": {"node_type": "Account", "match": {"id": "split(row.partners, ' ')"}}},
        ]
    )
    world.write(tmp_path, "id,name,owner,partners\n1,A,ann,\n2,B,bob,1\n3,C,ann,1 2\n")
    await world.pulled(db, tmp_path, made)
    await _done(db, _edge("partner_of", "Account#1", "Account#3"))
    first = await world.edges(db)

    world.write(tmp_path, "id,name,owner,partners\n1,A!,bob,\n2,B,bob,1\n3,C,ann,2\n")
    report = await world.pulled(db, tmp_path, made)

    assert first == [
        "1 -owned_by-> ann", "1 -partner_of-> 3", "2 -owned_by-> bob", "2 -partner_of-> 1",
        "3 -owned_by-> ann", "3 -partner_of-> 1", "3 -partner_of-> 2",
    ]  # fmt: skip
    assert await world.edges(db) == [
        "1 -owned_by-> bob", "1 -partner_of-> 3", "2 -owned_by-> bob", "2 -partner_of-> 1",
        "3 -owned_by-> ann", "3 -partner_of-> 2",
    ]  # fmt: skip
    assert report.counts["refused"] == 0


async def test_a_row_may_name_one_that_comes_later(db: store.Database, tmp_path: Path):
    made = world.connector(
        edges=[{"edge": "partner_of", "to": {"node_type": "Account", "match": {"id": "row.partner"}}}]
    )
    world.write(tmp_path, "id,name,partner\n1,A,2\n2,B,3\n3,C,\n4,D,nowhere\n")

    report = await world.pulled(db, tmp_path, made)

    assert await world.edges(db) == ["1 -partner_of-> 2", "2 -partner_of-> 3"]
    assert (report.counts["read"], report.counts["written"], report.counts["refused"]) == (4, 3, 1)
    assert [(h.key, h.codes) for h in await world.held(db)] == [("4", ("unknown_id",))]


async def test_of_two_rows_about_one_record_the_second_needs_a_cursor(db: store.Database, tmp_path: Path):
    world.write(tmp_path, "id,name,at\n1,old,1\n1,old,1\n1,new,2\n")

    without = await world.pulled(db, tmp_path)
    names = [n["name"] for n in (await world.nodes(db)).values()]
    await world.pulled(db, tmp_path, world.connector(cursor="number(row.at)"), full=True)

    assert without.counts == {"read": 3, "written": 1, "unchanged": 1, "refused": 1, "nodes_created": 1}
    assert names == ["old"]
    assert [n["name"] for n in (await world.nodes(db)).values()] == ["new"]
    assert await world.held(db) == []  # what it says is in now


async def test_repeats_are_found_over_batches_too(db: store.Database, tmp_path: Path):
    many = "".join(f"{n},n\n" for n in range(1_200))
    world.write(tmp_path, f"id,name\n{many}7,n\n8,other\n")

    report = await world.pulled(db, tmp_path)
    full = await world.pulled(db, tmp_path, full=True)

    assert report.counts == {"read": 1_202, "written": 1_200, "unchanged": 1, "refused": 1, "nodes_created": 1_200}
    assert full.counts == {"read": 1_202, "written": 1_200, "unchanged": 1, "refused": 1}


@pytest.mark.parametrize(
    ("types", "stands", "codes"),
    [
        ("discard_row", {}, ["type_mismatch"]),
        ("evolve", {"1": {"id": "1", "name": "A", "seats": 12}}, []),
        ("discard_value", {"1": {"id": "1", "name": "A"}}, []),
    ],
)
async def test_a_value_that_does_not_fit_goes_the_way_of_its_mode(
    db: store.Database, tmp_path: Path, types: str, stands: dict[str, object], codes: list[str]
):
    made = world.connector(
        map={"key": "row.id", "set": {"name": "row.name", "seats": "row.seats"}}, mode={"types": types}
    )
    world.write(tmp_path, "id,name,seats\n1,A,12\n")

    await world.pulled(db, tmp_path, made)

    assert await world.nodes(db) == stands
    assert [c for h in await world.held(db) for c in h.codes] == codes


async def test_a_frozen_connector_stops_at_what_does_not_fit(db: store.Database, tmp_path: Path):
    made = world.connector(
        map={"key": "row.id", "set": {"name": "row.name", "seats": "row.seats"}}, mode={"types": "freeze"}
    )
    world.write(tmp_path, "id,name,seats\n1,A,\n2,B,many\n")

    report = await world.pulled(db, tmp_path, made)

    assert report.is_failed
    assert [f.code for f in report.findings] == ["value_misfit"]
    assert report.findings[0].where == "a.csv:3"


@pytest.mark.parametrize(
    ("columns", "names", "severities"),
    [
        ("evolve", ["A!"], ["note"]),
        ("discard_value", ["A!"], ["note"]),
        ("discard_row", ["A"], []),
        ("freeze", ["A"], ["error"]),
    ],
)
async def test_a_new_column_goes_the_way_of_its_mode(
    db: store.Database, tmp_path: Path, columns: str, names: list[str], severities: list[str]
):
    made = world.connector(mode={"columns": columns})
    world.write(tmp_path, "id,name\n1,A\n")
    await world.pulled(db, tmp_path, made)
    world.write(tmp_path, "id,name,extra\n1,A!,x\n")

    report = await world.pulled(db, tmp_path, made)

    assert [n["name"] for n in (await world.nodes(db)).values()] == names
    assert [f.severity for f in report.findings] == severities
    assert [h.codes for h in await world.held(db)] == ([("new_column",)] if columns == "discard_row" else [])


async def test_a_column_that_is_not_there_stops_the_pull(db: store.Database, tmp_path: Path):
    world.write(tmp_path, "id,nmae\n1,A\n")

    report = await world.pulled(db, tmp_path)

    assert [(f.code, f.hint) for f in report.findings] == [("unknown_column", "did you mean 'nmae'?")]
    assert await world.nodes(db) == {}


async def test_a_dry_run_writes_nothing_and_says_what_would_be(db: store.Database, tmp_path: Path):
    world.write(tmp_path, CSV + "3,,,,,\n")

    report = await world.pulled(db, tmp_path, dry_run=True)

    assert report.counts == {"read": 3, "written": 2, "refused": 1, "nodes_created": 2}
    assert report.as_json()["status"] == "valid"
    assert [r.place for r in report.refused] == ["a.csv:4"]
    assert (await world.nodes(db), await world.held(db)) == ({}, [])
    async with db.transaction() as tx:
        assert await tx.value("select count(*) from pull") == 0


async def test_rows_of_the_quarantine_come_in_when_their_reason_is_gone(db: store.Database, tmp_path: Path):
    world.write(tmp_path, "id,name\n1,\n2,B\n")
    made = world.connector()
    await world.pulled(db, tmp_path, made)
    held = await world.held(db)
    assert [(h.key, h.codes, h.source) for h in held] == [("1", ("null_not_allowed",), '{"id": "1", "name": null}')]

    still = await pull.retry(world.bench(db, tmp_path), made, held)
    named = world.connector(map={"key": "row.id", "set": {"name": "coalesce(row.name, 'unnamed')"}})
    now = await pull.retry(world.bench(db, tmp_path), named, held)

    assert (still, now) == (0, 1)
    assert await world.held(db) == []
    assert (await world.nodes(db))["1"]["name"] == "unnamed"


async def test_a_row_that_is_refused_every_time_waits_once(db: store.Database, tmp_path: Path):
    world.write(tmp_path, "id,name\n1,\n")

    for _ in range(3):
        await world.pulled(db, tmp_path)

    (held,) = await world.held(db)
    assert held.tries == 3


async def test_a_repaired_row_takes_its_elder_out_of_quarantine(db: store.Database, tmp_path: Path):
    world.write(tmp_path, "id,name\n1,\n")
    await world.pulled(db, tmp_path)
    world.write(tmp_path, "id,name\n1,A\n")

    await world.pulled(db, tmp_path)

    assert await world.held(db) == []


async def test_two_pulls_of_one_connector_do_not_meet(db: store.Database, tmp_path: Path):
    world.write(tmp_path, CSV)
    async with db.statements() as tx:
        await rows.lock(tx, "crm")

        with pytest.raises(pull.Busy):
            await world.pulled(db, tmp_path)

        await rows.unlock(tx, "crm")
    assert not (await world.pulled(db, tmp_path)).is_failed


async def _done(db: store.Database, *ops: object) -> None:
    outcome = await gate.submit(db, {"ops": list(ops)}, author=world.ANN, rights=gate.ALL, clock=world.CLOCK)
    assert isinstance(outcome, gate.Committed), outcome


def _edge(type: str, source: str, target: str) -> dict[str, object]:
    return {"kind": "create_edge", "edge_type": type, "from": {"handle": source}, "to": {"handle": target}}


def test_definitions_are_values():
    assert isinstance(world.connector(), definition.Connector)
