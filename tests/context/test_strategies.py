"""What each strategy is for, when it fires, and what bounds it (context req. 15-19)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import pytest

from tests.context import world
from tests.context.test_composing import EVERYWHERE, compose
from tests.context.test_reading import company
from tests.context.world import ANN, MIRA
from ukai import store
from ukai.context import Scope, bodies, cache, index
from ukai.context.making import asked_of
from ukai.context.settings import DEFAULT
from ukai.context.strategies import STRATEGIES, Asked, Candidate, Strategy, relations

MANY = replace(DEFAULT, fetch_all=1, filter=2)
"""As if there were thousands in scope: nothing is a candidate for being there."""
PINNED = Scope(globs=("**",), static_ids=("Month#alder:2026-03",))


def only(handle: str) -> Strategy:
    """Brings this item, for what the others make of it."""

    async def find(ask: Asked) -> Sequence[int]:
        return [ask.view.rows[handle]]

    return Strategy(fires=lambda _: True, find=find, timeout_ms=lambda s: 1_000)


@pytest.mark.parametrize(
    ("name", "begun", "question", "brought", "not_brought"),
    [
        ("entity", "", "What about Alder Works?", {"Firm#alder"}, {"Firm#birch", "Memo#a1"}),
        ("entity", "", "what about the gate of alder works?", set[str](), {"Firm#alder"}),
        ("keyword", "", "depot", {"Memo#a2", "Firm#birch"}, {"Memo#a1"}),
        ("embedding", "", "The depot has one gate.", {"Memo#a2"}, set[str]()),
        ("hierarchy", "Memo#a1", "rollout gate", {"Memo#a1", "Memo#a2"}, set[str]()),
        ("relations", "Memo#a1", "x", {"Firm#alder"}, {"Firm#birch", "Memo#a2"}),
        ("relations", "Firm#birch", "x", {"Firm#alder"}, {"Memo#a1"}),
        ("neighbours", "Talk#t1/turn/1", "x", {"Talk#t1/turn/2"}, {"Talk#t1", "Memo#a1"}),
        ("orphans", "Talk#t1/turn/1", "x", {"Talk#t1"}, {"Talk#t1/turn/2", "Firm#alder"}),
        ("pinned", "", "x", {"Month#alder:2026-03"}, {"Firm#alder"}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_each_strategy_brings_what_it_is_for(
    database: store.Database, name: str, begun: str, question: str, brought: set[str], not_brought: set[str]
):
    w = await company(database)
    before = {"begun": only(begun)} if begun else {}

    made = await compose(w, ANN, question, PINNED, strategies={**before, name: STRATEGIES[name]}, settings=MANY)

    found = {item for item, ways in made.report.found.items() if name in ways}
    assert found >= brought
    assert not found & not_brought


async def test_what_a_named_record_owns_ranks_before_what_shares_the_words(database: store.Database):
    w = await company(database)
    said = "The rollout stopped because the gate waits."
    await w.write(*world.memo("b9", "birch", said), *world.memo("a9", "alder", said))
    await w.follow()

    async def ahead(question: str) -> float:
        made = await compose(w, ANN, question, settings=MANY)
        scores = {item: row.score for row in made.report.ranking for item in row.items}
        return scores["Memo#b9"] - scores["Memo#a9"]

    assert (
        await ahead("Birch Yard: why did the rollout stop?") > await ahead("birch yard: why did the rollout stop?") + 3
    )


async def test_a_named_record_stands_first_and_its_own_before_others_however_rare_the_word_they_share(
    database: store.Database,
):
    w = await company(database)
    others = [op for n in range(80) for op in world.memo(f"o{n}", "alder", f"The depot of week {n}.")]
    renewed = world.memo("a9", "alder", "The contract is about to renew.")
    own = [*world.memo("b8", "birch", "Birch Yard will renew."), *world.memo("b9", "birch", "A gate.")]
    await w.write(*others, *renewed, *own, world.firm("birch", tags=["2027-03-31"]))
    await w.follow()

    made = await compose(w, ANN, "When does Birch Yard renew?", settings=MANY, budget_tokens=60)

    scores = {item: row.score for row in made.report.ranking for item in row.items}
    assert "2027-03-31" in made.text
    assert (made.report.ranking[0].section, made.report.ranking[0].items) == ("Firm#birch", ("Firm#birch",))
    assert scores["Memo#b8"] > scores["Memo#b9"] > scores["Memo#a9"]


@pytest.mark.parametrize(
    ("settings", "way"), [(DEFAULT, "all"), (replace(DEFAULT, fetch_all=1), "filter"), (MANY, "places")]
)
async def test_the_count_decides_the_way_and_the_report_says_which(
    database: store.Database, settings: object, way: str
):
    w = await company(database)

    made = await compose(w, ANN, settings=settings)

    assert {s.strategy: s.way for s in made.report.graph}["hierarchy"] == way
    assert way == "places" or len(made.report.found) == made.report.matched


async def test_of_many_short_texts_as_many_are_brought_as_fill_the_largest_document(database: store.Database):
    w = await company(database)
    turns = [("Ada", f"We count gate {n} again.") for n in range(400)]
    await w.write(*world.talk("long", "alder", *turns, title="Gates"))
    await w.follow()

    made = await compose(w, ANN, "x", settings=replace(MANY, strategy_cap=50))

    assert all(said in made.text for _, said in turns)


async def test_no_strategy_brings_more_than_its_cap_and_no_composition_more_than_its_own(database: store.Database):
    w = await company(database)

    async def everything(ask: Asked) -> Sequence[int]:
        return range(ask.view.size)

    greedy = {"greedy": Strategy(fires=lambda _: True, find=everything, timeout_ms=lambda s: 1_000)}
    capped = await compose(w, ANN, strategies=greedy, settings=replace(DEFAULT, strategy_cap=3))
    short = await compose(w, ANN, strategies=greedy, settings=replace(DEFAULT, composition_cap=2))

    step = capped.report.graph[0]
    assert (step.candidates, step.capped, len(capped.report.found)) == (3, True, 3)
    assert len(short.report.found) == 2


async def test_approximate_answers_are_the_reader_s_own_however_near_hidden_ones_lie(database: store.Database):
    w = await company(database)
    asked = "Why did the rollout stop?"
    settings = replace(MANY, exact=2, near=3)

    async def found() -> tuple[str, object]:
        await w.follow()
        await index.index_vectors(database, w.cache, above=1)
        only = {"embedding": STRATEGIES["embedding"]}
        made = await compose(w, ANN, asked, strategies=only, settings=settings, policies=world.APPROXIMATE)
        return made.report.graph[0].way, made.report.found

    before = await found()
    await w.write(*(op for n in range(9) for op in world.memo(f"h{n}", "alder", asked, readers=["group:managers"])))

    assert before[0] == "approximate"
    assert await found() == before


async def test_the_places_of_relations_are_for_what_may_be_read(database: store.Database):
    w = await company(database)
    await w.write(*(op for n in range(9) for op in world.memo(f"a0{n}", "alder", "zzz", readers=["group:managers"])))
    await w.follow()
    only = {name: STRATEGIES[name] for name in ("entity", "relations")}

    made = await compose(w, ANN, "Alder Works", strategies=only, settings=replace(MANY, strategy_cap=3))

    assert made.report.graph[1].candidates == 3


async def test_relations_are_those_of_the_best_first_and_no_edge_to_what_is_hidden_costs_them_anything(
    database: store.Database,
):
    w = await company(database)
    await w.write(world.edge("rival", "Firm#birch", "Firm#cedar"), *world.memo("b1", "birch"))
    async with database.snapshot() as tx:
        ask = await asked_of(tx, world.reader(ANN).narrowed(EVERYWHERE), "x", w.library)
    begun = [ask.view.rows[name] for name in ("Talk#t1/turn/1", "Firm#birch", "Talk#t1", "Firm#alder")]

    ask.found = dict.fromkeys(begun, ("begun",))
    found = await STRATEGIES["relations"].find(ask)  # its transaction is over: a statement would be refused

    ours = ["Firm#birch", "Memo#a1", "Memo#a2", "Month#alder:2026-03", "Talk#t1"]
    assert [ask.view.entries[row].id for row in found] == ["Firm#alder", "Memo#b1", *ours]
    assert ask.bonus == dict.fromkeys(found, relations.AWAY)


async def test_what_something_named_owns_is_found_without_a_look_at_what_of_it_is_hidden(database: store.Database):
    w = await company(database)

    async def found() -> tuple[set[str], int]:
        read = (
            "select sum(pg_stat_get_xact_tuples_fetched(t) + pg_stat_get_xact_tuples_returned(t)) "
            "from (values ('node'::regclass), ('edge')) v(t)"
        )
        async with database.snapshot() as tx:
            ask = await asked_of(tx, world.reader(ANN).narrowed(EVERYWHERE), "What of Alder Works?", w.library)
            before = await tx.value(read)
            await STRATEGIES["entity"].find(ask)
            return {ask.view.entries[row].id for row in ask.theirs}, await tx.value(read) - before

    seen = await found()
    await w.write(*(op for n in range(200) for op in world.memo(f"h{n}", "alder", readers=["group:managers"])))
    await w.follow()

    assert {"Firm#alder", "Memo#a1", "Talk#t1/turn/2", "Month#alder:2026-03"} <= seen[0]
    assert await found() == seen


async def test_bodies_come_of_what_lives_and_may_be_read_whatever_was_found(database: store.Database):
    """A candidate is a proposal: one that died, was closed or lies outside is as if it had never been found."""
    w = await company(database)
    async with database.snapshot() as tx:
        found = await tx.fetch("select id, type || '#' || key from node where type in ('Memo', 'Firm')")
    proposed = [Candidate(id=str(name), node=id, part="", score=1.0, why=()) for id, name in found]
    await w.write(world.remove("Memo#a1"), world.change("Firm#birch", owner=MIRA))
    inside = Scope(globs=("memos/alder/**", "firms/birch"))

    async with database.snapshot() as tx:
        ann, mira = [await bodies.fetch(tx, world.reader(n).narrowed(inside), w.library, proposed) for n in (ANN, MIRA)]

    assert {i.id for i in ann} == {"Memo#a2"}
    assert {i.id for i in mira} == {"Memo#a2", "Memo#a3", "Firm#birch"}


async def test_what_is_deleted_is_not_counted_either(database: store.Database):
    w = await company(database)
    before = await compose(w, MIRA)

    await w.write(world.remove("Memo#a1"))
    followed = await compose(w, MIRA)
    cache.of(database)._kept.clear()  # pyright: ignore[reportPrivateUsage]
    anew = await compose(w, MIRA)

    assert followed.report.matched == anew.report.matched == before.report.matched - 1


async def test_a_view_that_something_may_still_come_in_behind_is_not_relied_on(database: store.Database):
    """A writer that began first and commits last does not move the end of the feed: it stands before it already."""
    w = await company(database)
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def slow() -> None:
        async with database.transaction() as tx:
            await tx.value("select pg_current_xact_id()")
            begun.set()
            await go_on.wait()
            await tx.execute("update node set readers = '{group:managers}' where type = 'Memo' and key = 'a1'")
            await tx.execute(
                "insert into change (seq, xid, commit, op, kind, id, domain, type, handle, version, fields, at) "
                "select (select max(seq) + 1000 from change), pg_current_xact_id(), gen_random_uuid(), "
                "'update_node', 'node', id, 'trade', 'Memo', 'Memo#a1', 2, '{readers}', now() from node "
                "where type = 'Memo' and key = 'a1'"
            )

    late = asyncio.create_task(slow())
    await begun.wait()
    await w.write(world.change("Firm#birch", tier="x"))
    before = await compose(w, ANN)
    go_on.set()
    await late
    after = await compose(w, ANN)

    assert "Memo#a1" in {i.handle for i in before.items}
    assert after.report.matched == before.report.matched - 1
