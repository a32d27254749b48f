"""Which records a question names, and what a refusal tells of those that may not be read (P3.5)."""

from __future__ import annotations

import random

import pytest

from tests.context import world
from tests.context.world import ANN, BEN, MIRA, TESS, firm, memo
from ukai import store
from ukai.context import names, rows, told
from ukai.context.scope import Scope


async def company(db: store.Database) -> world.World:
    w = await world.opened(db)
    await w.write(
        firm("alder", name="Alder Works", tier="told"),
        firm("birch", name="Birch Yard"),
        firm("birch2", name="Birch Labs"),
        firm("low", name="gate"),
        firm("cedar", BEN, name="Cedar Mills", tier="told", floor="77.31"),
        firm("dorn", BEN, name="Dorn Hall"),
        firm("elm", BEN, name="Elmwood Press", tier="told"),
        *memo("10", "alder", "x", title="The gate waits"),
        *memo("11", "cedar", "x", title="Secret Matter"),
    )
    await w.follow()
    return w


async def named(w: world.World, question: str, who: str = ANN, scope: Scope | None = None) -> dict[str, str]:
    async with w.db.snapshot() as tx:
        found = await names.named(tx, question, reader=world.reader(who, scope), types=w.types)
    return {n.node.handle: n.said for n in found}


async def tells(w: world.World, question: str, who: str = ANN, more: str = "") -> list[tuple[str, dict[str, str]]]:
    async with w.db.snapshot() as tx:
        found = await told.told(tx, question, reader=world.reader(who, more=more), types=w.types)
    return [(t.said, dict(t.fields)) for t in found]


@pytest.mark.parametrize(
    ("question", "handles"),
    [
        ("Where do we stand with Alder Works?", {"Firm#alder"}),
        ("where do we stand with alder works?", {"Firm#alder"}),
        ("What does ALDER WORKS' gate cost?", {"Firm#alder"}),
        ("What about Alder?", {"Firm#alder"}),
        ("what about alder?", set()),
        ("What about Birch?", set()),
        ("What about Birch Yard?", {"Firm#birch"}),
        ("Compare Alder Works and Birch Labs", {"Firm#alder", "Firm#birch2"}),
        ("Does the gate wait?", set()),
        ("the gate waits", {"Memo#10"}),
        ("Open Firm#birch2.", {"Firm#birch2"}),
        ("Open Memo#10/body, please", {"Memo#10"}),
        ("Open memo 10", {"Memo#10"}),
        ("Open Memo#99 and Nothing#1 and Firm#", set()),
        ("Where do we stand with Cedar Mills?", set()),
        ("Open Firm#cedar and memo 11", set()),
        ("Secret Matter", set()),
        ("", set()),
        ("?!", set()),
    ],
)
async def test_what_a_question_names(database: store.Database, question: str, handles: set[str]):
    w = await company(database)

    assert set(await named(w, question)) == handles


async def test_a_hidden_record_of_the_same_name_makes_no_name_ambiguous(database: store.Database):
    w = await company(database)
    await w.write(firm("alder2", BEN, name="Alder Hidden"), firm("alder3", BEN, name="Alder Works"))
    await w.follow()

    assert await named(w, "What about Alder?") == {"Firm#alder": "Alder"}
    assert await named(w, "What about Alder Works?") == {"Firm#alder": "Alder Works"}
    assert set(await named(w, "What about Alder Works?", MIRA)) == {"Firm#alder", "Firm#alder3"}
    assert await named(w, "What about Alder?", MIRA) == {}


async def test_a_record_outside_the_scope_of_the_agent_is_not_named(database: store.Database):
    w = await company(database)

    assert await named(w, "Alder Works and Birch Yard", scope=Scope(globs=("firms/birch",))) == {
        "Firm#birch": "Birch Yard"
    }


async def test_the_question_without_its_names_is_what_is_asked(database: store.Database):
    w = await company(database)
    async with database.snapshot() as tx:
        found = await names.named(tx, "Why does Alder Works' gate wait?", reader=world.reader(), types=w.types)

    assert names.without("Why does Alder Works' gate wait?", found) == "Why does ' gate wait?"
    assert names.without("Alder Works?", found) == "Alder Works?"


async def test_of_what_is_hidden_only_the_listed_fields_are_told(database: store.Database):
    w = await company(database)

    assert await tells(w, "Where do we stand with Cedar Mills?") == [("Cedar Mills", {"owner": BEN})]
    assert await tells(w, "And Cedar?") == [("Cedar", {"owner": BEN})]
    await w.write(firm("birch3", BEN, name="Birch Hall", tier="told"))
    await w.follow()
    assert await tells(w, "And Birch?") == []
    assert await tells(w, "And Birch Hall?") == [("Birch Hall", {"owner": BEN})]


@pytest.mark.parametrize(
    ("question", "who"),
    [
        ("Where do we stand with Dorn Hall?", ANN),
        ("Where do we stand with Nobody Here?", ANN),
        ("Where do we stand with Alder Works?", ANN),
        ("Secret Matter", ANN),
        ("Firm#cedar", ANN),
        ("Where do we stand with Cedar Mills?", TESS),
        ("Where do we stand with Cedar Mills?", MIRA),
        ("Where do we stand with Cedar Mills?", "stranger@x.example"),
        ("cedar?", ANN),
        ("", ANN),
    ],
)
async def test_of_what_nothing_is_listed_nothing_is_told(database: store.Database, question: str, who: str):
    """Hidden, absent and open look the same."""
    w = await company(database)

    assert await tells(w, question, who) == []


async def test_a_refusal_says_no_more_of_a_name_than_the_question_did(database: store.Database):
    w = await company(database)
    await w.write(firm("odd", BEN, name="Odd & Even (in DISPUTE)", tier="told"))
    await w.follow()

    said = [said for said, _ in await tells(w, "what about odd even in dispute?")]

    assert said == ["odd even in dispute"]


async def test_what_may_not_be_told_moves_nothing_that_is_told(database: store.Database):
    w = await company(database)
    questions = ["And Cedar?", "Cedar Mills", "Elmwood Press and Cedar", "Dorn Hall", "Alder"]
    before = [await tells(w, q) for q in questions]
    rng = random.Random(5)

    for i in range(6):
        name = rng.choice(["Cedar House", "Cedar Mills", "Elmwood Press", "Alder Works", "Dorn"])
        await w.write(firm(f"h{i}", BEN, name=name), *memo(f"h{i}", "cedar", "x", title=rng.choice(["Cedar", "Dorn"])))
        await w.follow()
        assert [await tells(w, q) for q in questions] == before, name


async def test_however_much_that_is_hidden_is_so_called_a_refusal_tells_what_it_may(
    database: store.Database, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(names, "MOST_CALLED", 3)
    w = await company(database)
    questions = ["Cedar Mills", "And Cedar?", "Elmwood Press"]
    before = [await tells(w, q) for q in questions]

    await w.write(
        *(firm(f"{name[0].lower()}-{n}", BEN, name=name) for n in range(5) for name in ("Cedar Mills", "Elmwood Press"))
    )
    await w.follow()

    assert before[0] == [("Cedar Mills", {"owner": BEN})]
    assert [await tells(w, q) for q in questions] == before


async def test_a_name_that_may_not_be_read_makes_no_first_word_ambiguous(database: store.Database):
    """Zed sees keys of firms and not what they are called; of elm nothing."""
    w = await company(database)
    about = f"to: [{ZED}], records: {{types: [Firm]}}"
    rules = f"""{KEYS}  - {{id: elm, deny: read, {about}, where: {{key: elm}}, fields: [key, tier]}}
  - {{id: hint, tell: [owner], {about}, where: {{tier: told}}}}
"""
    before = await tells(w, "And Elmwood?", ZED, rules)

    await w.write(firm("elm2", name="Elmwood Hidden"))
    await w.follow()

    assert before == [("Elmwood", {"owner": BEN})]
    assert await tells(w, "And Elmwood?", ZED, rules) == before


@pytest.mark.parametrize(("fields", "expected"), [("name, title", {"Talk#t"}), ("title", set()), ("name", set())])
async def test_a_hidden_name_does_not_tell_by_a_title_whether_it_is_there(
    database: store.Database, fields: str, expected: set[str]
):
    """Yan may read titles of talks: a talk that has a name is not called by its title."""
    w = await company(database)
    policy = f"id: yan, allow: read, records: {{types: [Talk]}}, to: [yan@x.example], fields: [id, {fields}]"
    reader = world.reader("yan@x.example", more=f"\n  - {{{policy}}}\n")
    found: list[set[str]] = []
    for ops in (world.talk("t", "alder", "x", title="Kickoff Call"), [world.change("Talk#t", name="Hidden Name")]):
        await w.write(*ops)
        await w.follow()
        async with w.db.snapshot() as tx:
            asked = await names.named(tx, "What of the Kickoff Call?", reader=reader, types=w.types)
        found.append({n.node.handle for n in asked})

    assert found == [expected, set()]


async def test_a_name_that_is_said_as_a_whole_stands_before_those_that_begin_alike(
    database: store.Database, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(names, "MOST_CALLED", 3)
    w = await company(database)
    await w.write(*(op for n in range(5) for op in memo(f"z{n}", "alder", title=f"Alder A{n}")))
    await w.follow()

    assert (await named(w, "What tier has Alder Works?"))["Firm#alder"] == "Alder Works"


ZED = "zed@x.example"
KEYS = f"""
  - {{id: keys, allow: read, records: {{types: [Firm]}}, to: [{ZED}], fields: [key, tier]}}
  - {{id: whole, allow: read, records: {{types: [Memo]}}, to: [{ZED}]}}
"""


async def test_a_name_that_the_reader_may_not_read_names_nothing_and_takes_no_place(
    database: store.Database, monkeypatch: pytest.MonkeyPatch
):
    """Zed may read memos as a whole, and of firms not what they are called."""
    monkeypatch.setattr(names, "MOST_CALLED", 3)
    w = await company(database)
    await w.write(*(firm(f"z{n}", name="Alder Works") for n in range(5)))
    await w.write(*memo("z", "birch", "x", title="Alder Works", readers=["public"]))
    await w.follow()
    reader = world.reader(ZED, more=KEYS)

    async with w.db.snapshot() as tx:
        found = await names.named(tx, "What about Alder Works?", reader=reader, types=w.types)
        seen = await rows.called(tx, reader.clause, folded=["alder works"], first=[], limit=9)

    assert len(seen) == 7
    assert [n.node.handle for n in found] == ["Memo#z"]


@pytest.mark.parametrize("space", ["\t\n", "\x0b\x0c\r", "\x1c\x1d\x1e\x1f", "\x85\xa0", "\u1680\u2000\u200a\u3000"])
async def test_a_name_is_known_by_its_field_whatever_space_is_in_it(database: store.Database, space: str):
    w = await company(database)
    await w.write(firm("elm", TESS, name=f"{space}Elm{space} Hall Works{space}"))
    await w.follow()

    assert await named(w, "Elm Hall Works", TESS) == {"Firm#elm": "Elm Hall Works"}
