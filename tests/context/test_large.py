"""Where a scope is too large to be looked at as a whole: the approximate index, and words alone (E1, E9)."""

from __future__ import annotations

from dataclasses import replace

from tests.context import world
from tests.context.test_composing import compose, handles
from tests.context.test_reading import company
from tests.context.world import ANN, APPROXIMATE, BEN, CLOCK
from ukai import store
from ukai.context import index
from ukai.context.rows import compositions
from ukai.context.rows import views as listing
from ukai.context.settings import DEFAULT

LARGE = replace(DEFAULT, exact=2, filter=3, fetch_all=2, ann_sample=1.0)


async def test_above_the_threshold_the_approximate_index_answers_under_the_same_rights(database: store.Database):
    w = await company(database)
    indexed = await index.index_vectors(database, w.cache, above=1)
    again = await index.index_vectors(database, w.cache, above=1)

    ann, ben = [await compose(w, who, settings=LARGE, policies=APPROXIMATE) for who in (ANN, BEN)]

    step = next(s for s in ann.report.graph if s.strategy == "embedding")
    assert (step.way, step.failed, step.candidates > 3) == ("approximate", "", True)
    assert "The rollout stopped because the gate waits." in ann.text
    assert "cedar" not in ann.text.lower()
    assert {"Firm#cedar", "Memo#c1"} <= handles(ben)
    async with database.transaction() as tx:
        assert await tx.value("select count(*) from passage_vector") == indexed
        assert await tx.value("select to_regclass('passage_vector_32') is not null")
        assert await compositions.ann_recall(tx, CLOCK.now()) == (2, 1.0)
    assert again == 0


async def test_the_approximate_index_follows_what_changes(database: store.Database):
    w = await company(database)
    before = await index.index_vectors(database, w.cache, above=1)
    await w.write(world.change("Memo#a1", body="Something else altogether."), world.remove("Memo#a2"))
    await w.follow()
    await index.index_vectors(database, w.cache, above=1)

    async with database.snapshot() as tx:
        assert await tx.value("select count(*) from passage_vector") == before - 1
        vector = [float(x) for x in w.cache.embedder.embed(["Something else altogether."])[0]]
        near = await listing.nearest(tx, world.reader(ANN).clause, vector, 3)
        exact = await listing.nearest_exactly(tx, world.reader(ANN).clause, vector, 3)

    assert near[0][:2] == exact[0]
    assert near[0][2] > 0.99


async def test_an_index_whose_making_was_interrupted_is_made_again(database: store.Database):
    w = await company(database)
    await index.index_vectors(database, w.cache, above=1)
    async with database.transaction() as tx:
        await tx.execute("update pg_index set indisvalid = false where indexrelid = 'passage_vector_32'::regclass")

    await index.index_vectors(database, w.cache, above=1)

    async with database.transaction() as tx:
        made = "select indisvalid from pg_index where indexrelid = 'passage_vector_32'::regclass"
        assert await tx.value(made)
        assert await tx.value("select current_setting('statement_timeout')") == "1min"


async def test_few_passages_need_no_index(database: store.Database):
    w = await company(database)

    assert await index.index_vectors(database, w.cache, above=1_000) == 0
    async with database.transaction() as tx:
        assert await tx.value("select count(*) from passage_vector") == 0


async def test_a_scope_too_large_for_a_view_is_searched_by_its_words_names_and_pins(database: store.Database):
    w = await company(database)

    made = await compose(w, question="Why did the rollout stop at Birch Yard?", settings=replace(DEFAULT, in_memory=1))

    assert {"Memo#a1", "Firm#birch"} <= handles(made)
    assert "walrus" not in made.text
