"""The scope of an agent narrows what may be read, in the store and in Python alike (C8, P3.1)."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.context import world
from tests.context.world import ANN, BEN, MIRA, firm, memo, month, talk
from ukai import store
from ukai.context import reading, rows
from ukai.context.reader import Reader
from ukai.context.scope import Scope
from ukai.kit import canonical

SEGMENTS = st.sampled_from(["*", "**", "firms", "memos", "a", "b", "a*", "m1", "[ab]", "M1", "?"])
GLOBS = st.lists(SEGMENTS, min_size=1, max_size=4).map("/".join)
PINNED = st.sampled_from(["Firm#a", "Firm#b", "Memo#m1", "Memo#m2", "Firm#a%", "Memo#", "Month#a:2026-03"])


def scopes() -> st.SearchStrategy[Scope]:
    few = st.lists(GLOBS, max_size=3).map(tuple)
    return st.builds(Scope, globs=few, exclude=few, static_ids=st.lists(PINNED, max_size=2).map(tuple))


async def company(db: store.Database) -> world.World:
    w = await world.opened(db)
    await w.write(
        firm("a", name="Alder Works", description="One."),
        firm("b", name="Birch Yard"),
        firm("c", BEN, name="Cedar Mills"),
        *memo("m1", "a", "Alder memo"),
        *memo("m2", "b", "Birch memo"),
        *memo("m3", "c", "Cedar memo"),
        *talk("t", "a", "Alder said"),
        *month("a", "2026-03", 5),
    )
    await w.follow()
    return w


async def test_the_store_and_python_agree_on_every_scope(database: store.Database):
    await company(database)
    async with database.snapshot() as tx:
        ids = [r[0] for r in await tx.fetch("select id from node where alive")]
        every = await rows.nodes(tx, ids)
    asked: list[tuple[Reader, set[str]]] = []

    @settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(scope=scopes(), who=st.sampled_from([ANN, BEN, MIRA]))
    def collect(scope: Scope, who: str) -> None:
        reader = world.reader(who, scope, policy=None)
        asked.append((reader, {n.handle for n in every if reader.covers(n)}))

    collect()
    async with database.snapshot() as tx:
        readable = {who: await handles(tx, world.reader(who, None, None)) for who in (ANN, BEN, MIRA)}
        for reader, inside in asked:
            who = reader.rights.audience.callers[0].id
            found = await handles(tx, reader)
            assert found == inside & readable[who]
            assert {r.handle for r in (await reader.seen(tx, every)).values()} == found


async def handles(tx: store.Transaction, reader: Reader) -> set[str]:
    text, params = reader.clause
    found = await tx.fetch(f"select n.type || '#' || n.key from node n where n.alive and {text}", params)
    return {str(r[0]) for r in found}


@pytest.mark.parametrize("who", [ANN, BEN, MIRA, "tess@x.example", "stranger@x.example"])
@pytest.mark.parametrize("policy", ["plain", "memos", None])
async def test_the_short_way_to_what_is_readable_leaves_nothing_out(
    database: store.Database, who: str, policy: str | None
):
    await company(database)
    reader = world.reader(who, policy=policy)
    whole = (reader.clause[0], reader.clause[1])

    async with database.snapshot() as tx:
        assert await rows.all_passages(tx, reader.clause) == await rows.all_passages(tx, whole)
        assert await rows.count_passages(tx, reader.clause, 100) == await rows.count_passages(tx, whole, 100)
        words = ["alder", "memo", "said"]
        short = await rows.matching_passages(tx, reader.clause, words, 50)
        assert short == await rows.matching_passages(tx, whole, words, 50)
    assert isinstance(reader.clause, rows.Together) == (who in (ANN, BEN))


@pytest.mark.parametrize(
    ("scope", "expected"),
    [
        (Scope(globs=("memos/**",)), {"Memo#m1", "Memo#m2"}),
        (Scope(globs=("memos/**",), exclude=("memos/a/**",)), {"Memo#m2"}),
        (Scope(static_ids=("Memo#m1", "Memo#m3")), {"Memo#m1"}),
        (Scope(static_ids=("Memo#m1",), exclude=("memos/**",)), set()),
        (Scope(globs=("**",)), {"Firm#a", "Firm#b", "Memo#m1", "Memo#m2", "Talk#t", "Month#a:2026-03"}),
        (Scope(globs=("memo*",)), set()),
        (Scope(), set()),
    ],
)
async def test_all_ways_of_reading_keep_to_the_scope(database: store.Database, scope: Scope, expected: set[str]):
    w = await company(database)
    reader = world.reader(ANN, scope)
    found: set[str] = set()

    async with database.snapshot() as tx:
        for query in ("Alder Works", "memo", "What did Birch Yard say?"):
            found |= {i.handle for i in await reading.search(tx, w.library, reader, query=query, limit=50)}
        for type in w.types:
            found |= {i.handle for i in await reading.listed(tx, w.library, reader, type=type)}

    assert {h.partition("/")[0] for h in found} == expected


async def test_a_record_outside_the_scope_is_not_told_of_by_what_it_owns(database: store.Database):
    w = await company(database)
    reader = world.reader(ANN, Scope(globs=("memos/**",)))

    async with database.snapshot() as tx:
        items = await reading.listed(tx, w.library, reader, type="Memo")

    assert "Alder Works" not in canonical.dumps([i.as_json() for i in items])


async def test_a_caller_without_rights_sees_nothing_in_the_widest_scope(database: store.Database):
    w = await company(database)
    reader = world.reader("stranger@x.example", Scope(globs=("**",)))

    async with database.snapshot() as tx:
        assert await reading.search(tx, w.library, reader, query="Alder Works memo") == []
        assert await reading.listed(tx, w.library, reader, type="Firm") == []
