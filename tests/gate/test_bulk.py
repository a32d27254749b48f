"""Many deltas through the door at once: each judged alone, a batch in one commit, a mistake at its own cost (W11)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest

from tests.gate import world
from ukai import gate, store
from ukai.gate import audit, bulk, rows


async def lots(*parts: Sequence[Any], key: str = "") -> AsyncIterator[bulk.Lot]:
    for n, part in enumerate(parts):
        proposals = [bulk.Proposal(delta=world.delta(ops)) for ops in part]
        yield bulk.Lot(key=f"{key}:{n}" if key else "", proposals=proposals)


async def sent(db: store.Database, *parts: Sequence[Any], key: str = "", **more: Any) -> list[bulk.Batch]:
    """Rows (lists of operations), lot by lot."""
    found: list[bulk.Batch] = []
    more.setdefault("rights", gate.ALL)
    await bulk.submit_many(db, lots(*parts, key=key), author=world.BOT, clock=world.CLOCK, done=found.append, **more)
    return found


def codes(batch: bulk.Batch) -> list[list[str]]:
    return [[r.code for r in told if r.severity == "error"] for told in batch.rejections]


async def towns(db: store.Database) -> list[str]:
    async with db.transaction() as tx:
        return [k for (k,) in await tx.fetch("select key from node where type = 'Town' and gone = 0 order by key")]


async def test_a_refused_row_costs_only_itself_whoever_refuses_it(database: store.Database):
    await world.upload(database)
    await world.done(database, world.town("old", seal="s"))

    (batch,) = await sent(
        database,
        [
            [world.town("a")],
            [world.town("b", size="tall")],  # the schema
            [world.town("c", seal="s")],  # the store
            [world.edge("road", "Town#a", "Town#nowhere")],  # the store
            [world.town("d")],
            ["nonsense"],  # the form
        ],
    )

    assert codes(batch) == [[], ["type_mismatch"], ["unique_violation"], ["unknown_id"], [], ["object_expected"]]
    assert batch.rejections[1][0].where == "/ops/0/set/size"
    assert await towns(database) == ["a", "d", "old"]
    assert batch.changes == {("node", "create"): 2}


async def test_rows_of_a_batch_may_name_each_other_and_each_has_refs_of_its_own(database: store.Database):
    await world.upload(database)

    (batch,) = await sent(database, [[world.town("a")], world.house(1), world.house(2), world.house(3, town="gone")])

    assert codes(batch) == [[], [], [], ["unknown_id"]]
    assert batch.changes == {("node", "create"): 3, ("edge", "create"): 2}


async def test_two_changes_of_one_record_come_one_after_the_other(database: store.Database):
    await world.upload(database)
    await world.done(database, world.town("a"))
    named = {"kind": "upsert_node", "node_type": "Town", "match": {"name": "a"}}

    (batch,) = await sent(
        database, [[{**named, "set": {"size": n}}] for n in (1, 2, 3)] + [[world.change("Town#a", motto="m")]]
    )

    assert codes(batch) == [[], [], [], []]
    async with database.transaction() as tx:
        assert await tx.value("select props->>'size' from node where key = 'a'") == "3"
        assert await tx.value("select count(*) from change where op = 'update'") == 4


async def test_of_two_rows_that_want_one_value_the_first_has_it(database: store.Database):
    await world.upload(database)
    rows_ = [[world.town(f"t{n}", seal=f"s{n // 2}")] for n in range(20)]

    (batch,) = await sent(database, rows_)

    assert codes(batch) == [[], ["unique_violation"]] * 10


async def test_a_lot_has_one_effect_under_its_key_and_only_the_first_writes_along(database: store.Database):
    await world.upload(database)
    along: list[int] = []

    async def count(tx: store.Transaction, batch: bulk.Batch) -> None:
        along.append(len(batch.rejections))

    for _ in range(2):
        (batch,) = await sent(database, [[world.town("a")], [world.town("b")]], key="k", along=count)

    assert batch.replayed
    assert along == [2]
    assert await towns(database) == ["a", "b"]


async def test_what_is_written_along_stands_or_falls_with_the_batch(database: store.Database):
    await world.upload(database)

    async def fail(tx: store.Transaction, batch: bulk.Batch) -> None:
        raise ValueError("the caller's own")

    with pytest.raises(ValueError, match="own"):
        await sent(database, [[world.town("a")]], along=fail)

    assert await towns(database) == []


async def test_rules_are_judged_over_what_stands_and_rights_are_asked(database: store.Database):
    await world.upload(database)
    await world.done(database, world.town("a"), *world.house(1))
    number = {"kind": "upsert_node", "node_type": "House", "match": {"town": "a", "number": 1}}

    (ruled,) = await sent(
        database,
        [
            [{**number, "set": {"owner": "kim"}}],
            [{"kind": "upsert_node", "node_type": "House", "match": {"town": "a", "number": 2000}, "set": {}}],
        ],
    )
    (refused,) = await sent(database, [[world.town("b")]], rights=None)

    assert codes(ruled)[0] == []
    assert "rule_violation" in codes(ruled)[1]
    assert codes(refused) == [["forbidden_type"]]


async def test_a_dry_run_judges_and_writes_nothing(database: store.Database):
    await world.upload(database)

    (batch,) = await sent(database, [[world.town("a")], [world.town("b", size="x")]], dry_run=True)

    assert codes(batch) == [[], ["type_mismatch"]]
    assert batch.changes == {("node", "create"): 1}
    assert await towns(database) == []


async def test_refused_rows_are_one_recorded_attempt_with_what_was_refused(database: store.Database):
    await world.upload(database)

    await sent(database, [[world.town("a", size="x")], [world.town("b")], [world.town("c", motto=1)]])

    async with database.transaction() as tx:
        (attempt,) = await audit.attempts(tx)
        assert await rows.top_codes(tx, rows.Window(), 5) == [("surveyor", "type_mismatch", 1)]
    assert attempt.body["refused"] == 2
    assert [r["ops"][0]["set"]["name"] for r in attempt.body["rows"]] == ["a", "c"]


async def test_too_much_for_one_program_is_written_in_halves(database: store.Database):
    """Records whose readers follow a town are many together and few each."""
    await world.upload(database)
    for name in ("a", "b"):
        await world.done(database, world.town(name, readers=["public"]))
        await world.done(database, *(op for n in range(6) for op in world.house(n, town=name, ref=f"$h{n}")))
    limits = gate.bulk.limits_.Limits(follow=8)

    (batch,) = await sent(
        database, [[world.change(f"Town#{n}", readers=["group:x"])] for n in ("a", "b")], limits=limits
    )

    assert codes(batch) == [[], []]


async def test_what_follows_from_a_refused_row_is_refused_with_it_in_one_step(
    database: store.Database, monkeypatch: pytest.MonkeyPatch
):
    await world.upload(database)
    await world.done(database, world.town("stands"))
    tries: list[int] = []
    commit_within = rows.commit_within

    async def counting(tx: store.Transaction, body: Any, judge: Any) -> Any:
        tries.append(len(body["nodes"]))
        return await commit_within(tx, body, judge)

    monkeypatch.setattr(rows, "commit_within", counting)
    chain = [
        [world.town(f"t{n}", ref="$t"), _road({"ref": "$t"}, f"Town#t{n - 1}" if n else "Town#nowhere")]
        for n in range(8)
    ]
    updated = {"kind": "upsert_node", "node_type": "Town", "match": {"name": "stands"}, "to_state": "ruined"}

    (batch,) = await sent(
        database, [*chain, [updated], [world.town("fine", ref="$t"), _road({"ref": "$t"}, "Town#stands")]]
    )

    assert codes(batch) == [*[["unknown_id"]] * 8, ["invalid_transition"], []]
    assert len(tries) == 2
    assert batch.rejections[3][0].where == "/ops/1/to/handle"


def _road(source: dict[str, str], target: str) -> world.Op:
    return {"kind": "create_edge", "edge_type": "above", "from": source, "to": {"handle": target}}
