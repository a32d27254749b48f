"""Search, one record, a list, what is related: the reader's own part of the graph, and no trace of the rest (P3.1)."""

from __future__ import annotations

import random
from typing import Any

import pytest

from tests.context import world
from tests.context.world import ANN, BEN, MIRA, TESS, firm, memo, month, talk
from ukai import store
from ukai.context import reading
from ukai.context import search as searching
from ukai.kit import canonical, handle

QUESTIONS = (
    "Why did Alder Works stop the rollout?",
    "What is said about the depot gate?",
    "How many calls did Alder make in March 2026?",
    "cedar",
    "Cedar Mills and the walrus",
    "Memo#b0",
    "memo b1",
    "",
    "zebra",
)


async def company(db: store.Database) -> world.World:
    w = await world.opened(db)
    await w.write(
        firm("alder", name="Alder Works", floor="77.31", tier="told", tags=["x", "y"], description="A maker of gates."),
        firm("birch", name="Birch Yard", description="A yard near the depot."),
        firm("cedar", BEN, name="Cedar Mills", floor="12.00", tier="told", description="A mill."),
        *memo("a1", "alder", "The rollout stopped because the gate waits.", title="Rollout", at="2026-03-02T08:00:00Z"),
        *memo("a2", "alder", "The depot has one gate.", secret="walrus"),
        *memo("a3", "alder", "For managers: the rollout is a walrus.", readers=["group:managers"]),
        *memo("c1", "cedar", "The cedar walrus rollout."),
        *talk("t1", "alder", ("Ada", "We wait."), ("Bo", "For the gate."), title="Call in March"),
        *month("alder", "2026-03", 4_000),
        *month("cedar", "2026-03", 9_000),
    )
    await w.write(world.edge("rival", "Firm#alder", "Firm#cedar"), world.edge("rival", "Firm#alder", "Firm#birch"))
    await w.follow()
    return w


async def found(w: world.World, query: str, who: str = ANN, **more: Any) -> list[reading.Item]:
    async with w.db.snapshot() as tx:
        return await reading.search(tx, w.library, more.pop("reader", world.reader(who)), query=query, **more)


async def read(w: world.World, name: str, who: str = ANN) -> reading.Item | None:
    parsed = handle.parse(name)
    assert parsed is not None
    async with w.db.snapshot() as tx:
        return await reading.read(tx, w.library, world.reader(who), name=parsed)


async def listed(w: world.World, type: str, who: str = ANN, **more: Any) -> list[str]:
    async with w.db.snapshot() as tx:
        return [i.handle for i in await reading.listed(tx, w.library, world.reader(who), type=type, **more)]


async def related(w: world.World, name: str, who: str = ANN, **more: Any) -> list[str]:
    parsed = handle.parse(name)
    assert parsed is not None
    async with w.db.snapshot() as tx:
        return [i.handle for i in await reading.related(tx, w.library, world.reader(who), name=parsed, **more)]


async def test_a_search_gives_what_was_named_then_passages_and_all_of_the_readers_own(database: store.Database):
    w = await company(database)

    items = await found(w, "Why did Alder Works stop the rollout?", limit=4)

    assert items[0].handle == "Firm#alder"
    assert "Memo#a1/body" in [i.handle for i in items[1:3]]
    assert {i.handle.partition("/")[0] for i in items} <= {
        "Firm#alder", "Firm#birch", "Memo#a1", "Memo#a2", "Talk#t1", "Month#alder:2026-03",
    }  # fmt: skip
    assert "77.31" not in canonical.dumps([i.as_json() for i in items])


@pytest.mark.parametrize(
    ("question", "months"),
    [
        ("How did the calls of Alder Works develop between March and May 2026?", {"2026-03", "2026-05"}),
        ("How many calls did Alder Works make in March 2026?", {"2026-03"}),
        ("How many calls did Alder Works make in March?", {"2025-03", "2026-03"}),
        ("How many calls did Alder Works make on 2026-05-02?", {"2026-05"}),
        ("How many visits did Alder Works pay in March 2026?", set()),
        ("How many calls did the mill make in March 2026?", set()),
    ],
)
async def test_a_question_for_figures_gets_the_months_that_it_speaks_of(
    database: store.Database, question: str, months: set[str]
):
    w = await company(database)
    await w.write(*(op for m in ("2025-03", "2026-04", "2026-05") for op in month("alder", m, 1)))

    items = await found(w, question)

    assert {i.handle.rpartition(":")[2] for i in items if i.handle.startswith("Month#")} == months


async def test_a_field_that_no_policy_lists_is_read_by_nobody(database: store.Database):
    w = await company(database)

    item = await read(w, "Memo#a2")

    assert item is not None
    assert "walrus" not in canonical.dumps(item.as_json())
    assert await read(w, "Memo#a2/secret") is None
    assert await read(w, "Firm#alder/floor") is None
    assert await read(w, "Firm#alder/description", TESS) is None
    assert (await read(w, "Firm#alder/floor", MIRA) or reading.Item(handle="")).fields == {"floor": "77.31"}


async def test_a_passage_of_a_field_that_may_not_be_read_is_not_found(database: store.Database):
    w = await company(database)

    items = await found(w, "A maker of gates at Alder Works", TESS)

    assert [i.handle for i in items if i.handle.startswith("Firm#alder")] == ["Firm#alder", "Firm#alder/name"]
    assert "maker" not in canonical.dumps([i.as_json() for i in items])


@pytest.mark.parametrize("is_whole", [True, False])
async def test_passages_of_fields_that_may_not_be_read_count_nowhere_and_take_no_place(
    database: store.Database, monkeypatch: pytest.MonkeyPatch, is_whole: bool
):
    """Tess may read a description of her own firms alone."""
    own = (
        '\n  - {id: own, allow: read, records: {types: [Firm]}, to: ["group:analysts"], where: {owner: caller.email}}\n'
    )
    reader = world.reader(TESS, more=own)
    monkeypatch.setattr(searching, "WHOLE_SCOPE", 10 if is_whole else 3)
    monkeypatch.setattr(searching, "CANDIDATES", 3)
    w = await company(database)
    await w.write(*(firm(f"q{n}", name=f"Zebra {n}") for n in range(5)), firm("own", TESS, description="A zebra."))
    await w.follow()

    before = [i.as_json() for i in await found(w, "zebra", reader=reader)]
    await w.write(*(world.change(f"Firm#{key}", description="A zebra. " * 900) for key in ("alder", "birch", "cedar")))
    await w.follow()

    assert [i.as_json() for i in await found(w, "zebra", reader=reader)] == before
    assert "Firm#own/description" in {i["handle"] for i in before}


async def test_what_is_hidden_and_what_is_not_there_are_read_alike(database: store.Database):
    w = await company(database)

    for hidden, absent in [("Firm#cedar", "Firm#elm"), ("Memo#a3", "Memo#a9"), ("Memo#c1/body", "Memo#c9/body")]:
        assert await read(w, hidden) is None
        assert await read(w, absent) is None
        assert await related(w, hidden) == await related(w, absent) == []


async def test_one_part_of_a_record_is_read_by_its_handle(database: store.Database):
    w = await company(database)
    await w.write(*talk("long", "alder", "long words " * 800))
    await w.follow()

    turn, date, cut = await read(w, "Talk#t1/turn/2"), await read(w, "Memo#a1/at"), await read(w, "Talk#long/turn/1")

    assert turn is not None
    assert (turn.title, turn.text) == ("Call in March · Alder Works", "Bo: For the gate.")
    assert date is not None
    assert date.fields == {"at": "2026-03-02T08:00:00Z"}
    assert cut is not None
    assert cut.text.split() == ["Ada:", *(["long", "words"] * 800)]
    assert await read(w, "Talk#t1/turn/3") is None
    assert await read(w, "Talk#t1/turn") is None


async def test_a_record_that_was_not_followed_yet_is_read_as_it_stands(database: store.Database):
    w = await company(database)
    await w.write(world.change("Memo#a1", body="Now another."))

    item = await read(w, "Memo#a1")
    hit = next(i for i in await found(w, "Why did the rollout stop?") if i.handle.startswith("Memo#a1/body"))

    assert item is not None
    assert "Now another." in item.text
    assert "stopped because" in hit.text, "the passage is as old as the index, and checked against the graph"


async def test_what_was_taken_away_since_it_was_indexed_is_not_found(database: store.Database):
    w = await company(database)
    await w.write(world.change("Memo#a1", readers=["group:managers"]), world.remove("Memo#a2"))

    handles = {i.handle.partition("/")[0] for q in QUESTIONS for i in await found(w, q)}

    assert not handles & {"Memo#a1", "Memo#a2"}


async def test_a_list_is_in_the_order_of_keys_and_goes_on_behind_the_last(database: store.Database):
    w = await company(database)
    await w.write(*(op for i in range(7) for op in memo(f"n{i}", "birch", "x")))

    assert await listed(w, "Memo", limit=4) == ["Memo#a1", "Memo#a2", "Memo#n0", "Memo#n1"]
    assert await listed(w, "Memo", limit=4, after="n1") == ["Memo#n2", "Memo#n3", "Memo#n4", "Memo#n5"]
    assert await listed(w, "Memo", limit=0) == ["Memo#a1"]
    assert len(await listed(w, "Memo", limit=10_000)) == 9


async def test_a_filter_matches_the_fields_that_may_be_read(database: store.Database):
    w = await company(database)

    assert await listed(w, "Firm", where={"name": "Alder Works"}) == ["Firm#alder"]
    assert await listed(w, "Firm", where={"tags": ["y"]}) == ["Firm#alder"]
    assert await listed(w, "Memo", where={"firm": "alder"}) == ["Memo#a1", "Memo#a2"]
    assert await listed(w, "Firm", MIRA, where={"floor": "77.31"}) == ["Firm#alder"]
    assert await listed(w, "Firm", TESS, where={"tier": "told"}) == ["Firm#alder", "Firm#cedar"]


@pytest.mark.parametrize(
    ("type", "where", "who"),
    [
        ("Firm", {"floor": "77.31"}, ANN),
        ("Firm", {"floor": "77.31", "name": "Alder Works"}, ANN),
        ("Memo", {"secret": "walrus"}, ANN),
        ("Memo", {"secret": "walrus"}, MIRA),
        ("Firm", {"owner": ANN}, TESS),
        ("Firm", {"key": "cedar"}, ANN),
        ("Nothing", {}, ANN),
    ],
)
async def test_a_filter_over_what_may_not_be_read_matches_nothing(
    database: store.Database, type: str, where: dict[str, Any], who: str
):
    w = await company(database)

    assert await listed(w, type, who, where=where) == []


async def test_a_filter_over_a_hidden_field_finds_the_same_whatever_it_holds(database: store.Database):
    """Also where there are more records than one page of the store: no length of a page tells."""
    w = await company(database)
    await w.write(*(firm(f"f{i:03}", floor="1") for i in range(120)))
    right = await listed(w, "Firm", where={"floor": "1"}), await listed(w, "Firm", where={"floor": "2"})

    assert right == ([], [])


async def test_what_is_related_is_what_may_be_seen_at_the_other_end(database: store.Database):
    w = await company(database)

    assert await related(w, "Firm#alder") == [
        "Firm#birch", "Memo#a1", "Memo#a2", "Month#alder:2026-03", "Talk#t1",
    ]  # fmt: skip
    assert await related(w, "Firm#alder", edges=["rival"]) == ["Firm#birch"]
    assert await related(w, "Firm#alder", MIRA, edges=["rival"]) == ["Firm#birch", "Firm#cedar"]
    assert await related(w, "Firm#alder", limit=2) == ["Firm#birch", "Memo#a1"]
    assert await related(w, "Memo#a1/body", edges=["memo_of"]) == ["Firm#alder"]


async def test_the_title_tells_of_an_owner_only_what_may_be_seen_of_it(database: store.Database):
    w = await company(database)

    mine, theirs = await read(w, "Month#alder:2026-03", TESS), await read(w, "Month#alder:2026-03", ANN)

    assert mine is not None
    assert mine.title == "alder:2026-03 · Alder Works"
    assert theirs is not None
    assert theirs.fields == {"firm": "alder", "month": "2026-03", "calls": 4_000}


async def everything(w: world.World, who: str) -> str:
    """All that search says to all questions, scores and counts included, as bytes that are compared."""
    said: list[Any] = []
    for question in QUESTIONS:
        said.append([i.as_json() for i in await found(w, question, who)])
        said.append([i.as_json() for i in await found(w, question, who, type="Memo", limit=3)])
        async with w.db.snapshot() as tx:
            result = await searching.search(
                tx, question, reader=world.reader(who), types=w.types, cache=w.cache, limit=20
            )
        said.append([result.asked, result.considered, [n.node.handle for n in result.named]])
        said.append([(h.found.part, repr(h.score), repr(h.lexical), repr(h.cosine)) for h in result.hits])
    for type in ("Firm", "Memo", "Month", "Talk"):
        said.append(await listed(w, type, who))
    said.append(await related(w, "Firm#alder", who))
    return canonical.dumps(said)


WORDS = ("rollout", "gate", "depot", "walrus", "zebra", "Alder", "Works", "cedar", "waits", "March")


def hidden(rng: random.Random, step: int) -> list[dict[str, Any]]:
    """Something that Ann may not see: new, changed, called like what she sees, or hung on what is hers."""

    def text() -> str:
        return " ".join(rng.choices(WORDS, k=rng.randint(1, 30)))

    name = f"h{step}"
    kind = rng.randrange(8)
    made: list[list[dict[str, Any]]] = [
        [firm(name, BEN, name=rng.choice(["Alder Works", "Alder", "Birch Yard", text()]), description=text())],
        memo(name, "alder", text(), readers=["group:managers"], title=text()),
        memo(name, "cedar", text()),
        [world.change("Memo#a3", body=text(), title=text())],
        [world.change("Memo#a2", secret=text())],
        [world.change("Firm#alder", floor=str(rng.random()))],
        [*talk(name, "cedar", text(), text()), *month("cedar", f"20{step + 10}-03", rng.randrange(9_999))],
        [world.change("Memo#c1", body=text())],
    ]
    return made[kind]


@pytest.mark.parametrize("seed", [1, 3])
@pytest.mark.parametrize("whole_scope", [searching.WHOLE_SCOPE, 2])
async def test_nothing_hidden_moves_a_score_an_order_or_a_count(
    database: store.Database, monkeypatch: pytest.MonkeyPatch, seed: int, whole_scope: int
):
    """Noninterference: with the small scope, search takes the words of the store's own index."""
    monkeypatch.setattr(searching, "WHOLE_SCOPE", whole_scope)
    w = await company(database)
    rng = random.Random(seed)
    before = await everything(w, ANN)

    for step in range(9):
        await w.write(*hidden(rng, step))
        await w.follow()
        assert await everything(w, ANN) == before, step


async def test_what_is_seen_does_move_them(database: store.Database):
    w = await company(database)
    before = await everything(w, ANN)

    await w.write(*memo("n", "alder", "rollout gate depot"))
    await w.follow()

    assert await everything(w, ANN) != before
