"""Undo, preview, rules and suggestions under rights that are not all (P3.1, W3, W11)."""

from __future__ import annotations

import asyncio
from typing import Any

from tests.gate import world
from tests.gate_after import given
from ukai import gate, store
from ukai.access import decision, record
from ukai.access.write import Reach
from ukai.gate import undo

YES, NO = (decision.Decision(allowed=allowed, reason="test") for allowed in (True, False))


class Clerk:
    """Writes towns but builds none to ruins, never reads a motto, knows nothing of signs, and not the town `h`."""

    def may_write(self, type: str, fields: Any, transition: Any = None, record: Any = None) -> decision.Decision:
        return NO if type == "Sign" or transition == ("built", "ruined") else YES

    def read(self, record: record.Record, field: str | None = None) -> decision.Decision:
        return NO if record.key == "h" or field == "motto" or record.type == "Sign" else YES

    def sql(self, alias: str = "n", owning: Any = ()) -> tuple[str, list[Any]]:
        return f"({alias}.key <> %s and {alias}.type <> 'Sign')", ["h"]

    def sql_among(self, *_: Any, **__: Any) -> None:
        return None

    def readable(self, type: str, fields: frozenset[str]) -> frozenset[str]:
        return frozenset() if type == "Sign" else fields - {"motto"}

    def writable(self, type: str, fields: frozenset[str]) -> Reach:
        return Reach(fields=frozenset() if type == "Sign" else fields)


CLERK = Clerk()


async def test_whoever_may_take_a_step_may_take_it_back(database: store.Database):
    await given.town(database)
    built = await world.done(database, world.change("Town#a", "built"))
    ruined = await world.done(database, world.change("Town#a", "ruined"))

    assert given.codes(await given.undo(database, ruined.commit, rights=CLERK)) == ["forbidden_transition"]
    await given.undone(database, ruined.commit)
    await given.undone(database, built.commit, rights=CLERK)


async def test_of_hidden_records_nothing_is_undone_or_told(database: store.Database):
    await given.town(database)
    hidden = await world.done(database, world.town("h"))
    both = await world.done(database, world.change("Town#a", size=1), world.change("Town#h", size=1))

    assert given.codes(await given.undo(database, hidden.commit, rights=CLERK)) == ["unknown_commit"]
    told = given.rejections(await given.undo(database, both.commit, rights=CLERK))
    assert [r.code for r in told] == ["forbidden_row"]
    assert "#h" not in str(told)
    assert given.codes(await given.undo(database, both.commit, rights=None)) == ["forbidden_type"]


async def test_a_preview_keeps_what_may_not_be_read(database: store.Database):
    await given.town(database, motto="secret", size=1)
    changed = await world.done(database, world.change("Town#a", motto="other", size=2))

    seen = await given.undo(database, changed.commit, rights=CLERK, dry_run=True)
    wrote = await world.propose(database, world.change("Town#a", motto="x", size=3), rights=CLERK, dry_run=True)

    assert isinstance(seen, gate.Committed)
    assert isinstance(wrote, gate.Committed)
    assert [c["fields"] for c in (*seen.would_change, *wrote.would_change)] == [["size"], ["size"]]
    assert "secret" not in str(seen.would_change) + str(wrote.would_change)


async def test_a_later_write_that_may_not_be_read_is_told_without_its_field(database: store.Database):
    await given.town(database)
    first = await world.done(database, world.change("Town#a", motto="x", size=1))
    await world.done(database, world.change("Town#a", motto="y"))

    [told] = given.rejections(await given.undo(database, first.commit, rights=CLERK))

    assert (told.code, told.field) == ("conflict", "")
    assert "motto" not in str(told.as_json())


async def test_a_rule_over_what_may_not_be_read_tells_no_value(database: store.Database):
    source = world.DOMAIN.replace(
        b"    states:\n      initial: [planned]",
        b"    rules: [{id: quiet, require: \"new.size < 9 || new.motto == 'big'\", message: big towns say so}]\n"
        b"    states:\n      initial: [planned]",
        1,
    )
    await world.upload(database, source)
    await world.done(database, world.town("a", motto="secret", size=1))

    refused = await world.propose(database, world.change("Town#a", size=9), rights=CLERK)
    open_ = await world.propose(database, world.change("Town#a", size=9))

    [told], [whole] = given.rejections(refused), given.rejections(open_)
    assert (told.code, told.received) == ("rule_violation", "-")
    assert "secret" not in str(told.as_json())
    assert "secret" in whole.received


async def test_a_hidden_type_is_no_type_and_is_not_suggested(database: store.Database):
    await given.town(database)
    sign = {"kind": "create_node", "node_type": "Sign", "set": {"txt": "x"}}
    sing = {"kind": "create_node", "node_type": "Sing", "set": {}}

    told = given.rejections(await world.propose(database, sign, sing, rights=CLERK))

    assert [r.code for r in told] == ["unknown_type", "unknown_type"]
    assert "Sign" not in str([r.as_json() for r in told[1:]])
    assert told[0].expected == "Town, House"


async def test_edges_are_tested_and_counted_by_those_who_may_read_them(database: store.Database):
    await given.town(database)
    await world.done(database, *(world.town(n) for n in "bch"))
    roads = [world.edge("road", "Town#a", "Town#b", set={"width": 3}), world.edge("road", "Town#a", "Town#h")]
    await world.done(database, *roads)

    [told] = given.rejections(await world.propose(database, world.edge("road", "Town#a", "Town#c"), rights=CLERK))
    [gone] = given.rejections(await world.propose(database, world.edge("twin", "Town#a", "Town#b", "delete_edge")))

    assert (told.code, told.received, told.expected_value["holders"]) == ("cardinality_max", "more than 2", ["Town#b"])
    assert "h" not in str(told.expected_value["holders"])
    assert gone.message == "there is no edge twin from Town#a to Town#b"


async def test_an_empty_delta_is_refused_and_a_wrong_reference_names_its_type(database: store.Database):
    await given.town(database)

    assert await world.refused(database) == ["malformed_delta"]
    edge = {"kind": "create_edge", "edge_type": "road", "from": {"ref": "$x"}, "to": {"handle": "Town#a"}}
    [told] = given.rejections(await world.propose(database, edge))
    assert (told.code, told.type) == ("unresolved_ref", "road")


async def test_two_who_undo_the_same_at_once_have_one_effect(database: store.Database):
    await given.town(database, size=1)
    changed = await world.done(database, world.change("Town#a", size=2))

    answers = await asyncio.gather(*(given.undo(database, changed.commit) for _ in range(4)))

    assert sorted(isinstance(a, gate.Committed) for a in answers) == [False, False, False, True]
    assert {c for a in answers if isinstance(a, gate.Rejected) for c in given.codes(a)} == {"already_undone"}
    assert (await given.props(database, "Town#a"))["size"] == 1
    assert isinstance(await given.undo(database, undo.Run(id="nobody")), gate.Rejected)
