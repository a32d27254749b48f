"""Old records brought to a new schema through the gate (W11)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from tests.gate import world
from ukai import gate, store
from ukai.app import migrate
from ukai.gate import domains, reform


async def ran(db: store.Database, compute: reform.Compute, *, dry_run: bool = False) -> reform.Reformed:
    return await reform.reform(
        db, "Town", compute, author=world.ANN, rights=gate.ALL, clock=world.CLOCK, dry_run=dry_run
    )


def doubled(row: Mapping[str, Any]) -> Mapping[str, Any] | str | None:
    if row["name"] == "c":
        return None
    return {"motto": str(row["size"] * 2)} if row["size"] < 100 else {"motto": 7}


async def test_what_cannot_follow_costs_only_itself_and_a_second_run_goes_on(
    database: store.Database, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(reform, "BATCH", 3)
    await world.upload(database)
    await world.done(
        database, *(world.town(n, size=s) for n, s in zip("abcdefg", (1, 2, 3, 100, 5, 6, 7), strict=True))
    )

    seen = await ran(database, doubled, dry_run=True)
    done = await ran(database, doubled)
    again = await ran(database, doubled)

    assert (seen.changed, seen.left_out, seen.refused) == (5, 1, 1)
    assert (done.changed, done.unchanged, done.left_out, done.refused) == (5, 0, 1, 1)
    assert [name for name, _ in done.why] == ["Town#d"]
    assert (again.changed, again.unchanged, again.refused) == (0, 5, 1)
    async with database.transaction() as tx:
        commits = await tx.value("select count(distinct commit) from change where op = 'update'")
    assert commits == 3  # one a batch


async def test_a_file_is_held_against_the_types(database: store.Database):
    await world.upload(database)
    catalogue = await domains.known(database)
    raw = b"""
migration: m
types:
  - {type: Twn, set: {size: "1"}}
  - {type: Town, where: "row.sise > 1", set: {moto: "'x'", size: "row.size +"}}
"""
    found, findings = migrate.read(raw, catalogue, gate.ALL, name="m.yaml")

    assert found is None
    assert [(f.code, f.where) for f in findings] == [
        ("unknown_type", "m.yaml:4:12"),
        ("unknown_field", "m.yaml:5:47"),
        ("unknown_field", "m.yaml:5:25"),
        ("invalid_expression", "m.yaml:5:66"),
    ]
