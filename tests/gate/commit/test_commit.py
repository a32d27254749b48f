from __future__ import annotations

import pytest

from tests.gate import auditor, world
from tests.gate.world import change, done, edge, house, propose, refused, remove, town
from ukai import gate, store
from ukai.gate.author import Author
from ukai.gate.limits import Limits


@pytest.fixture
async def db(database: store.Database) -> store.Database:
    await world.upload(database)
    return database


async def count(db: store.Database, what: str) -> int:
    async with db.transaction() as tx:
        return await tx.value(f"select count(*) from {what}")


async def node(db: store.Database, handle: str) -> dict:
    type, _, key = handle.partition("#")
    async with db.transaction() as tx:
        row = await tx.one(
            "select props, state, version, path, readers, field_versions from node"
            " where type = %s and key = %s and alive",
            (type, key),
        )
    assert row is not None, f"no {handle}"
    return dict(zip(("props", "state", "version", "path", "readers", "field_versions"), row, strict=True))


async def test_a_delta_lands_whole_and_says_what_it_made(db: store.Database):
    made = await done(db, town("a", "$a", size=3), *house(1, ref="$h", owner="kim"))

    assert made.nodes["$a"].handle == "Town#a"
    assert made.nodes["$h"].handle == "House#a:1"
    assert made.nodes["$h"].version == 1
    assert (await node(db, "House#a:1"))["path"] == "map/a/1"
    assert await auditor.violations(db) == {}


async def test_nothing_of_a_delta_lands_when_one_operation_is_refused(db: store.Database):
    await done(db, town("a"))

    codes = await refused(db, town("b"), change("Town#a", size=1), town("a"))

    assert codes == ["unique_violation"]
    assert (await node(db, "Town#a"))["props"] == {"name": "a"}
    assert await count(db, "node") == 1
    assert await count(db, "commit") == 1
    assert await auditor.violations(db) == {}


async def test_all_problems_come_back_at_once(db: store.Database):
    await done(db, town("a", seal="x"), town("b"), town("c"))
    await done(db, edge("road", "Town#a", "Town#b"))

    codes = await refused(
        db,
        change("Town#a", size=1, if_version=9),
        change("Town#b", seal="x"),
        change("Town#c", "ruined"),
        change("Town#nowhere", size=1),
        edge("road", "Town#a", "Town#b"),
    )

    assert sorted(codes) == ["conflict", "duplicate_edge", "invalid_transition", "unique_violation", "unknown_id"]


async def test_the_same_key_and_delta_give_the_same_answer_and_one_effect(db: store.Database):
    first = await done(db, town("a", "$a"), key="k")

    again = await done(db, town("a", "$a"), key="k")

    assert again.replayed
    assert (again.commit, again.nodes) == (first.commit, first.nodes)
    assert await count(db, "node") == 1


async def test_a_key_belongs_to_one_delta_and_one_author(db: store.Database):
    await done(db, town("a"), key="k")

    assert await refused(db, town("b"), key="k") == ["key_reused"]
    assert not (await done(db, town("b"), key="k", author=world.BOT)).replayed


async def test_a_refused_delta_leaves_its_key_free(db: store.Database):
    assert await refused(db, change("Town#a", size=1), key="k") == ["unknown_id"]

    assert not (await done(db, town("a"), key="k")).replayed


async def test_absent_keeps_and_null_clears(db: store.Database):
    await done(db, town("a", size=1, motto="m"))

    await done(db, change("Town#a", size=None))

    assert (await node(db, "Town#a"))["props"] == {"name": "a", "motto": "m"}


async def test_a_stale_write_of_other_fields_lands(db: store.Database):
    await done(db, town("a", size=1))
    await done(db, change("Town#a", motto="new"))

    await done(db, change("Town#a", size=2, if_version=1))

    found = await node(db, "Town#a")
    assert found["props"] == {"name": "a", "size": 2, "motto": "new"}
    assert (found["version"], found["field_versions"]) == (3, {"motto": 2, "size": 3})


async def test_a_stale_write_of_a_changed_field_is_a_conflict_that_names_field_author_and_time(db: store.Database):
    await done(db, town("a", size=1))
    await done(db, change("Town#a", size=2), author=world.BOT)

    outcome = await propose(db, change("Town#a", size=3, if_version=1))

    assert isinstance(outcome, gate.Rejected)
    (told,) = outcome.rejections
    assert (told.code, told.where, told.repair) == ("conflict", "/ops/0/if_version", "reread")
    assert told.expected_value["version"] == 2
    assert [(c["field"], c["author"]) for c in told.expected_value["changed"]] == [("size", "agent:surveyor")]
    assert told.expected_value["changed"][0]["at"].endswith("Z")


async def test_an_update_that_changes_nothing_counts_no_version(db: store.Database):
    await done(db, town("a", size=1))

    made = await done(db, change("Town#a", size=1))

    assert made.nodes["Town#a"].version == 1
    assert await count(db, "change") == 1


async def test_a_test_of_a_field_guards_the_write(db: store.Database):
    await done(db, town("a", size=1))

    assert await refused(db, change("Town#a", size=2, test={"size": 7})) == ["precondition_failed"]
    assert await refused(db, change("Town#a", size=2, test={"motto": "x"})) == ["precondition_failed"]
    assert await refused(db, change("Town#a", size=2, test={"state": "built"})) == ["precondition_failed"]
    await done(db, change("Town#a", size=2, test={"size": 1, "motto": None, "state": "planned"}))


async def test_states_move_along_their_transitions_from_where_the_node_is(db: store.Database):
    await done(db, town("a"))

    outcome = await propose(db, change("Town#a", "ruined"))
    await done(db, change("Town#a", "built"))
    await done(db, change("Town#a", "built"))
    await done(db, change("Town#a", "ruined"))

    assert isinstance(outcome, gate.Rejected)
    assert outcome.rejections[0].expected == "built"
    assert (await node(db, "Town#a"))["state"] == "ruined"
    assert (await node(db, "Town#a"))["version"] == 3


async def test_an_upsert_creates_then_updates(db: store.Database):
    ops = {"kind": "upsert_node", "node_type": "Town", "match": {"name": "a"}, "ref": "$t"}

    made = await done(db, {**ops, "set": {"size": 1}})
    again = await done(db, {**ops, "set": {"size": 2}, "to_state": "built"})

    assert made.nodes["$t"].id == again.nodes["$t"].id
    assert (await node(db, "Town#a"))["props"] == {"name": "a", "size": 2}
    assert (await node(db, "Town#a"))["state"] == "built"


async def test_an_upsert_finds_by_a_unique_field(db: store.Database):
    await done(db, town("a", seal="s"))

    await done(db, {"kind": "upsert_node", "node_type": "Town", "match": {"seal": "s"}, "set": {"size": 5}})
    codes = await refused(db, {"kind": "upsert_node", "node_type": "Town", "match": {"seal": "t"}, "set": {"size": 5}})

    assert (await node(db, "Town#a"))["props"]["size"] == 5
    assert codes == ["required_field"]


async def test_a_unique_value_is_free_again_once_its_holder_gives_it_up(db: store.Database):
    await done(db, town("a", seal="s"), town("b"))
    assert await refused(db, change("Town#b", seal="s")) == ["unique_violation"]

    await done(db, change("Town#a", seal=None))
    await done(db, change("Town#b", seal="s"))
    await done(db, remove("Town#b"))
    await done(db, town("c", seal="s"))

    assert await auditor.violations(db) == {}


async def test_two_holders_may_swap_a_unique_value_in_one_delta(db: store.Database):
    await done(db, town("a", seal="s"), town("b", seal="t"))

    await done(db, change("Town#a", seal="t"), change("Town#b", seal="s"))

    assert (await node(db, "Town#a"))["props"]["seal"] == "t"
    assert await auditor.violations(db) == {}


async def test_a_deleted_key_can_be_made_again_and_the_dead_one_is_named_when_missed(db: store.Database):
    await done(db, town("a"))
    await done(db, remove("Town#a"), author=world.BOT)

    outcome = await propose(db, change("Town#a", size=1))
    await done(db, town("a", size=2))

    assert isinstance(outcome, gate.Rejected)
    assert outcome.rejections[0].code == "deleted_target"
    assert "agent surveyor" in outcome.rejections[0].message
    assert (await node(db, "Town#a"))["version"] == 1


async def test_a_node_may_be_replaced_in_one_delta(db: store.Database):
    await done(db, town("a", size=1, seal="s"))

    await done(db, remove("Town#a"), town("a", seal="s"))

    assert (await node(db, "Town#a"))["props"] == {"name": "a", "seal": "s"}
    assert await auditor.violations(db) == {}


async def test_the_nearest_handles_are_offered_for_one_that_is_not_there(db: store.Database):
    await done(db, town("hamburg"), town("homburg"), town("berlin"))

    outcome = await propose(db, change("Town#hamburgh", size=1))

    assert isinstance(outcome, gate.Rejected)
    assert outcome.rejections[0].expected_value["nearest"][:2] == ["Town#hamburg", "Town#homburg"]


async def test_maximum_counts_stand_at_the_end_of_the_delta(db: store.Database):
    await done(db, town("a"), town("b"), town("c"), town("d"))
    await done(db, edge("road", "Town#a", "Town#b"), edge("road", "Town#a", "Town#c"))

    codes = await refused(db, edge("road", "Town#a", "Town#d"))
    await done(db, edge("road", "Town#a", "Town#b", "delete_edge"), edge("road", "Town#a", "Town#d"))

    assert codes == ["cardinality_max"]
    assert await auditor.violations(db) == {}


async def test_at_most_one_edge_is_a_claim_on_both_sides(db: store.Database):
    await done(db, town("a"), town("b"), town("c"))
    await done(db, edge("twin", "Town#a", "Town#b"))

    assert await refused(db, edge("twin", "Town#a", "Town#c")) == ["cardinality_max"]
    assert await refused(db, edge("twin", "Town#c", "Town#b")) == ["cardinality_max"]
    await done(db, edge("twin", "Town#a", "Town#b", "delete_edge"), edge("twin", "Town#a", "Town#c"))
    assert await auditor.violations(db) == {}


async def test_the_last_needed_edge_cannot_be_taken_away_but_can_be_replaced(db: store.Database):
    await done(db, town("a"), town("b"), *house(1))

    codes = await refused(db, edge("stands_in", "House#a:1", "Town#a", "delete_edge"))
    await done(
        db,
        edge("stands_in", "House#a:1", "Town#a", "delete_edge"),
        edge("stands_in", "House#a:1", "Town#b"),
    )

    assert codes == ["cardinality_min"]
    assert await auditor.violations(db) == {}


async def test_a_circle_is_refused_also_one_that_the_delta_closes_with_two_edges(db: store.Database):
    await done(db, town("a"), town("b"), town("c"))
    await done(db, edge("above", "Town#a", "Town#b"))

    assert await refused(db, edge("above", "Town#b", "Town#a")) == ["edge_cycle"]
    assert await refused(db, edge("above", "Town#b", "Town#c"), edge("above", "Town#c", "Town#a")) == ["edge_cycle"] * 2
    await done(db, edge("above", "Town#b", "Town#c"))
    assert await auditor.violations(db) == {}


async def test_deleting_follows_the_policy_of_each_edge(db: store.Database):
    await done(db, town("a"), town("b"), *house(1), *house(2, ref="$g"))
    await done(db, edge("road", "Town#a", "Town#b"), edge("twin", "Town#b", "Town#a"))

    blocked = await propose(db, remove("Town#b"))
    await done(db, remove("Town#a"))

    assert isinstance(blocked, gate.Rejected)
    (told,) = blocked.rejections
    assert (told.code, told.expected_value) == ("restricted_delete", {"count": 1, "sample": ["Town#a"]})
    assert await count(db, "node where alive") == 1
    assert await count(db, "edge where alive") == 0
    assert await auditor.violations(db) == {}


async def test_a_cascade_has_a_limit(db: store.Database):
    await done(db, town("a"), *house(1), *house(2, ref="$g"), *house(3, ref="$i"))

    assert await refused(db, remove("Town#a"), limits=Limits(follow=2)) == ["cascade_too_large"]


async def test_a_rule_sees_the_values_that_stand_in_the_database(db: store.Database):
    await done(db, town("a"), *house(1000, owner="kim"))

    codes = await refused(db, change("House#a:1000", owner=None))
    await done(db, change("House#a:1000", owner="ann"))

    assert codes == ["rule_violation"]


async def test_problems_of_rules_and_of_the_database_come_together(db: store.Database):
    await done(db, town("a"), *house(1000, owner="kim"))

    codes = await refused(db, change("House#a:1000", owner=None), town("a"))

    assert sorted(codes) == ["rule_violation", "unique_violation"]


async def test_paths_follow_the_fields_they_are_made_of(db: store.Database):
    await done(db, {"kind": "create_node", "ref": "$s", "node_type": "Sign", "set": {"text": "x"}})

    async with db.transaction() as tx:
        path, key = await tx.one("select path, key from node where type = 'Sign'")

    assert path == f"world/Sign/{key}"


async def test_readers_follow_the_neighbour_through_every_change(db: store.Database):
    await done(db, town("a", readers=["group:x"]), town("b", readers=["group:y"]), *house(1))
    assert (await node(db, "House#a:1"))["readers"] == ["group:x"]

    await done(db, change("Town#a", readers=["group:z", "group:x"]))
    assert (await node(db, "House#a:1"))["readers"] == ["group:x", "group:z"]

    await done(db, edge("stands_in", "House#a:1", "Town#a", "delete_edge"), edge("stands_in", "House#a:1", "Town#b"))
    assert (await node(db, "House#a:1"))["readers"] == ["group:y"]

    await done(db, change("Town#b", readers=None))
    assert (await node(db, "House#a:1"))["readers"] == []
    assert await auditor.violations(db) == {}


async def test_edges_carry_fields_versions_and_guards(db: store.Database):
    await done(db, town("a"), town("b"), edge("road", "Town#a", "Town#b", set={"width": 3}))

    road = ("road", "Town#a", "Town#b", "update_edge")
    await done(db, edge(*road, set={"name": "old"}))
    await done(db, edge(*road, set={"width": 4}, if_version=1))

    assert await refused(db, edge(*road, set={"name": "new"}, if_version=1)) == ["conflict"]
    assert await refused(db, edge(*road, set={"name": "new"}, test={"width": 3})) == ["precondition_failed"]
    assert await refused(db, edge("road", "Town#b", "Town#a", "update_edge", set={"width": 1})) == ["unknown_id"]
    assert await auditor.violations(db) == {}


async def test_a_dry_run_says_what_would_change_and_changes_nothing(db: store.Database):
    await done(db, town("a"), *house(1), *house(2, ref="$g"))

    preview = await done(db, remove("Town#a"), dry_run=True)

    assert sorted(c["handle"] for c in preview.would_change if c["kind"] == "node") == [
        "House#a:1",
        "House#a:2",
        "Town#a",
    ]
    assert await count(db, "node where alive") == 3
    assert await count(db, "commit") == 1


async def test_a_dry_run_gives_the_same_reasons_and_is_no_attempt(db: store.Database):
    assert await refused(db, change("Town#a", size=1), dry_run=True) == ["unknown_id"]
    assert await count(db, "attempt") == 0


async def test_a_refused_attempt_is_kept_with_its_reasons_and_number(db: store.Database):
    first = await propose(db, change("Town#a", size=1), author=world.BOT)
    second = await propose(db, change("Town#a", size="x"), author=world.BOT)

    assert isinstance(first, gate.Rejected)
    assert isinstance(second, gate.Rejected)
    assert (first.attempt, second.attempt) == (1, 2)
    async with db.transaction() as tx:
        kept = await tx.fetch("select number, codes, author_id, body->'ops'->0->'set' from attempt order by number")
    assert kept == [(1, ["unknown_id"], "surveyor", {"size": 1}), (2, ["type_mismatch"], "surveyor", {"size": "x"})]


async def test_sensitive_values_are_masked_in_what_is_kept_of_an_attempt(db: store.Database):
    await propose(db, change("House#a:1", secret="treasure"))

    async with db.transaction() as tx:
        kept = await tx.value("select body::text || findings::text from attempt")
    assert "treasure" not in kept


async def test_without_rights_nothing_is_allowed(db: store.Database):
    assert await refused(db, town("a"), rights=None) == ["forbidden_type"]


async def test_a_delta_that_updates_what_it_creates_makes_it_once(db: store.Database):
    await done(
        db, town("a", "$a"), {"kind": "update_node", "target": {"ref": "$a"}, "set": {"size": 2}, "to_state": "built"}
    )

    found = await node(db, "Town#a")
    assert (found["props"], found["state"], found["version"]) == ({"name": "a", "size": 2}, "built", 1)


async def test_the_same_node_under_two_names_is_refused(db: store.Database):
    made = await done(db, town("a", "$a"))
    by_id = {"kind": "update_node", "target": {"id": str(made.nodes["$a"].id)}, "set": {"size": 1}}

    assert await refused(db, change("Town#a", size=2), by_id) == ["duplicate_target"]


async def test_a_target_by_id_is_checked_like_any_other(db: store.Database):
    made = await done(db, town("a", "$a"))
    target = {"id": str(made.nodes["$a"].id)}

    await done(db, {"kind": "update_node", "target": target, "set": {"size": 1}})

    assert await refused(db, {"kind": "update_node", "target": target, "set": {"size": "x"}}) == ["type_mismatch"]
    nobody = {"id": "018f0000-0000-7000-8000-000000000000"}
    assert await refused(db, {"kind": "update_node", "target": nobody, "set": {"size": 1}}) == ["unknown_id"]


async def test_a_context_ref_means_what_the_run_holds(db: store.Database):
    await done(db, town("a"))
    op = {"kind": "update_node", "target": {"context_ref": "subject"}, "set": {"size": 1}}

    await done(db, op, context={"subject": "Town#a"})

    assert await refused(db, op, context={"other": "Town#a"}) == ["unknown_context_ref"]


async def test_a_batch_of_a_thousand_nodes_lands_in_one_commit(db: store.Database):
    items = [{"set": {"name": f"t{i}"}} for i in range(1000)]

    made = await done(db, {"kind": "create_nodes_batch", "node_type": "Town", "items": items})

    assert len(made.nodes) == 1000
    assert await count(db, "change") == 1000


async def test_the_server_refuses_any_other_isolation_level(db: store.Database, database_url: str):
    await done(db, town("a"))
    async with db.snapshot() as tx:
        with pytest.raises(Exception, match="READ COMMITTED"):
            await tx.value("select gate_commit('{}')")


async def test_another_process_uploads_and_the_next_proposal_knows(db: store.Database, database_url: str):
    await done(db, town("a"))
    newer = world.DOMAIN.replace(
        b"- {key: motto, kind: string}", b"- {key: motto, kind: string}\n      - {key: mayor, kind: string}"
    )
    async with store.connect(database_url) as other:
        await world.upload(other, newer)

    await done(db, change("Town#a", mayor="kim"))

    assert (await node(db, "Town#a"))["props"]["mayor"] == "kim"


async def test_an_author_is_one_of_four_kinds(db: store.Database):
    for kind in ("human", "agent", "workflow", "connector"):
        await done(db, town(kind), author=Author(kind=kind, id="x"))

    assert await count(db, "commit") == 4


async def test_where_values_come_from_is_kept_beside_who_wrote_them(db: store.Database):
    await done(db, town("a"), town("b"), provenance={"": {"source": "crm"}, "/ops/1": {"asserted_by": "kim"}})

    async with db.transaction() as tx:
        kept = dict(await tx.fetch("select key, provenance - 'at' from node"))

    assert kept == {
        "a": {"by": "human:ann@example.com", "source": "crm"},
        "b": {"by": "human:ann@example.com", "source": "crm", "asserted_by": "kim"},
    }
