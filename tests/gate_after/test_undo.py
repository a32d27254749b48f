"""A commit taken back: what stood before stands again, or it is said who wrote there since (W11)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from tests.gate import world
from tests.gate_after import given
from ukai import gate, store
from ukai.gate import history, undo
from ukai.gate.author import Author

BOB = Author(kind="human", id="bob@example.com")


async def test_changed_fields_and_a_state_come_back_where_no_transition_leads(database: store.Database):
    await given.town(database, size=1)
    before = await given.graph(database)
    changed = await world.done(database, world.change("Town#a", "built", size=2, motto="on"))

    done = await given.undone(database, changed.commit)

    assert await given.graph(database) == before
    assert done.nodes["Town#a"].version == 3
    assert [c.op for c in await given.changes(database, "Town#a")] == ["update", "update", "create"]


async def test_what_was_made_goes_with_its_edges_and_what_was_deleted_comes_back_under_its_id(database: store.Database):
    await given.town(database)
    empty = await given.graph(database)
    made = await world.done(database, *world.house(7, owner="ann"))
    full = await given.graph(database)
    torn = await world.done(database, world.remove("Town#a"))  # takes the house along
    nothing = await given.graph(database)

    again = await given.undone(database, torn.commit)
    assert await given.graph(database) == full
    assert given.codes(await given.undo(database, torn.commit)) == ["already_undone"]
    await given.undone(database, again.commit)
    assert await given.graph(database) == nothing
    await given.undone(database, torn.commit)
    assert await given.graph(database) == full
    await given.undone(database, made.commit)
    assert await given.graph(database) == empty


async def test_edges_are_changed_deleted_and_made_back(database: store.Database):
    await world.upload(database)
    await world.done(database, world.town("a"), world.town("b"), world.edge("twin", "Town#a", "Town#b"))
    road = await world.done(database, world.edge("road", "Town#a", "Town#b", set={"width": 3}))
    before = await given.graph(database)
    wider = await world.done(database, world.edge("road", "Town#a", "Town#b", "update_edge", set={"width": 5}))
    gone = await world.done(
        database,
        world.edge("road", "Town#a", "Town#b", "delete_edge"),
        world.edge("twin", "Town#a", "Town#b", "delete_edge"),
    )

    await given.undone(database, gone.commit)
    await given.undone(database, wider.commit)

    assert await given.graph(database) == before
    await given.undone(database, road.commit)
    assert len((await given.graph(database))["edges"]) == 1


async def test_a_later_write_to_a_field_is_named_with_its_commit_author_and_time(database: store.Database):
    await given.town(database, size=1)
    first = await world.done(database, world.change("Town#a", size=2, motto="on"))
    later = await world.done(database, world.change("Town#a", size=3), author=BOB)

    refused = await given.undo(database, first.commit)

    assert isinstance(refused, gate.Rejected)
    [told] = refused.rejections
    assert (told.code, told.field, told.received) == ("conflict", "size", str(later.commit))
    assert told.expected_value["author"] == "human:bob@example.com"
    assert "size was changed afterwards, by human bob@example.com at 20" in told.message
    assert refused.attempt == 1  # recorded like any other
    await given.undone(database, later.commit)
    await given.undone(database, first.commit)  # in reverse order nothing stands in the way


async def test_an_undo_of_something_earlier_is_a_later_write_too(database: store.Database):
    await given.town(database, size=0)
    first = await world.done(database, world.change("Town#a", size=1))
    second = await world.done(database, world.change("Town#a", size=2))
    undone = await given.undone(database, second.commit)
    before = await given.undone(database, first.commit)  # size is 0 again

    [told] = given.rejections(await given.undo(database, undone.commit))

    assert (told.code, told.field, told.received) == ("conflict", "size", str(before.commit))
    await given.undone(database, before.commit)
    await given.undone(database, undone.commit)
    assert (await given.props(database, "Town#a"))["size"] == 2


async def test_a_later_write_to_another_field_is_kept(database: store.Database):
    await given.town(database, size=1)
    first = await world.done(database, world.change("Town#a", size=2))
    await world.done(database, world.change("Town#a", motto="on"))

    await given.undone(database, first.commit)

    assert (await given.props(database, "Town#a")) == {"name": "a", "readers": ["public"], "size": 1, "motto": "on"}


async def test_what_others_attached_or_name_is_not_torn_off(database: store.Database):
    made = await given.town(database)
    await world.done(database, *world.house(1))

    refused = await given.undo(database, made.commit)

    [told] = given.rejections(refused)
    assert told.code == "conflict"
    assert "Town#a has since been given the edge stands_in with House#a:1" in told.message


async def test_a_key_that_was_taken_again_is_in_the_way(database: store.Database):
    await given.town(database)
    gone = await world.done(database, world.remove("Town#a"))
    again = await world.done(database, world.town("a"))

    [told] = given.rejections(await given.undo(database, gone.commit))

    assert (told.code, told.received) == ("conflict", str(again.commit))
    assert "Town#a was made anew afterwards, by human ann" in told.message


async def test_unique_values_are_claimed_again_and_given_up(database: store.Database):
    await given.town(database, seal="x")
    gone = await world.done(database, world.remove("Town#a"))
    taken = await world.done(database, world.town("b", seal="x"))

    assert given.codes(await given.undo(database, gone.commit)) == ["unique_violation"]
    await given.undone(database, taken.commit)
    await given.undone(database, gone.commit)
    assert await world.refused(database, world.town("c", seal="x")) == ["unique_violation"]


async def test_a_dry_run_says_what_would_change_and_changes_nothing(database: store.Database):
    await given.town(database, size=1)
    changed = await world.done(database, world.change("Town#a", size=2))
    before = await given.graph(database)

    seen = await given.undo(database, changed.commit, dry_run=True)

    assert isinstance(seen, gate.Committed)
    assert [(c["fields"], c["before"], c["after"]) for c in seen.would_change] == [(["size"], {"size": 2}, {"size": 1})]
    assert await given.graph(database) == before
    await given.undone(database, changed.commit)


async def test_a_run_is_taken_back_whole_or_not_at_all(database: store.Database):
    await given.town(database, size=1)
    before = await given.graph(database)
    await world.done(database, world.change("Town#a", "built", size=2), author=world.BOT)
    await world.done(database, world.town("b"), world.edge("road", "Town#a", "Town#b"), author=world.BOT)
    back = await world.done(database, world.change("Town#b", motto="x"), author=world.BOT)
    await world.done(database, world.change("Town#a", size=3), author=world.BOT)
    await given.undone(database, back.commit)

    done = await given.undo(database, undo.Run(id="run-1"))

    assert isinstance(done, gate.Committed), given.rejections(done)
    assert await given.graph(database) == before
    assert given.codes(await given.undo(database, undo.Run(id="run-1"))) == ["nothing_to_undo"]
    await given.undone(database, done.commit)
    assert (await given.props(database, "Town#a"))["size"] == 3


async def test_an_authors_span_is_taken_back(database: store.Database):
    await given.town(database, size=1)
    start = world.CLOCK.now()
    await world.done(database, world.change("Town#a", size=2), author=BOB)
    await world.done(database, world.change("Town#a", size=3), author=BOB)

    span = undo.Span(author=BOB.id, since=start, until=start + timedelta(hours=1))
    done = await given.undo(database, span)

    assert isinstance(done, gate.Committed)
    assert (await given.props(database, "Town#a"))["size"] == 1


async def test_what_nobody_knows_or_changed_nothing_is_said(database: store.Database):
    await given.town(database, size=1)
    idle = await world.done(database, world.change("Town#a", size=1))

    assert given.codes(await given.undo(database, given.SOMETHING)) == ["unknown_commit"]
    assert given.codes(await given.undo(database, idle.commit)) == ["nothing_to_undo"]


async def test_rules_about_the_step_are_not_asked_and_those_about_the_node_are(database: store.Database):
    source = world.DOMAIN.replace(
        b"    states:\n      initial: [planned]",
        b"    rules:\n"
        b"      - id: grows\n"
        b'        require: "old == null || !has(old.size) || !has(new.size) || new.size >= old.size"\n'
        b'      - {id: named, require: "!has(new.motto) || has(new.size)", message: "a motto needs a size"}\n'
        b"    states:\n      initial: [planned]",
        1,
    )
    await world.upload(database, source)
    await world.done(database, world.town("a", size=1))
    grown = await world.done(database, world.change("Town#a", size=2))
    await given.undone(database, grown.commit)
    await world.done(database, world.town("b"))
    sized = await world.done(database, world.change("Town#b", size=5))
    await world.done(database, world.change("Town#b", motto="x"))

    assert given.codes(await given.undo(database, sized.commit)) == ["rule_violation"]


async def test_server_set_and_immutable_fields_come_back(database: store.Database):
    source = world.DOMAIN.replace(
        b"      - {key: size, kind: integer}\n",
        b"      - {key: size, kind: integer, immutable: true}\n      - {key: by, kind: string, server_set: author}\n",
        1,
    )
    await world.upload(database, source)
    await world.done(database, world.town("a", size=2))
    before = await given.graph(database)
    gone = await world.done(database, world.remove("Town#a"))

    await given.undone(database, gone.commit, author=BOB)

    assert await given.graph(database) == before
    assert (await given.props(database, "Town#a"))["by"] == world.ANN.id


async def test_the_past_is_read_through_an_undone_deletion(database: store.Database):
    await given.town(database, size=1)
    gone = await world.done(database, world.remove("Town#a"))
    between = world.CLOCK.now()
    await given.undone(database, gone.commit)

    async with database.transaction() as tx:
        past = await history.as_of(tx, "Town#a", between, rights=gate.ALL)
        now = await history.as_of(tx, "Town#a", world.CLOCK.now(), rights=gate.ALL)

    assert past is not None
    assert now is not None
    assert (past.alive, past.version, past.props["size"]) == (False, 1, 1)
    assert (now.alive, now.version) == (True, 2)


async def test_without_the_look_at_later_writes_out_of_order_undo_destroys_them(
    database: store.Database, monkeypatch: pytest.MonkeyPatch
):
    """The sabotage: with it gone, the undo above that must be refused is committed, over somebody's write."""
    await given.town(database, size=1)
    first = await world.done(database, world.change("Town#a", size=2))
    await world.done(database, world.change("Town#a", size=3), author=BOB)

    async def blind(*_: Any) -> list[Any]:
        return []

    monkeypatch.setattr("ukai.gate.guard.rows.later_writes", blind)
    done = await given.undo(database, first.commit)

    assert isinstance(done, gate.Committed)
    assert (await given.props(database, "Town#a"))["size"] == 1
