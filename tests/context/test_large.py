"""Where a scope is too large to be looked at as a whole: the approximate index, and words alone (E1, E9)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest

from tests.context import world
from tests.context.test_composing import QUESTION, compose, handles
from tests.context.test_no_leak import told
from tests.context.test_reading import company
from tests.context.world import ANN, APPROXIMATE, BEN, CLOCK, TESS
from ukai import context, store
from ukai.context import cache, index
from ukai.context.rows import compositions
from ukai.context.rows import views as listing
from ukai.context.settings import DEFAULT, Settings

LARGE = replace(DEFAULT, exact=2, filter=3, fetch_all=2, ann_sample=1.0)
FEW = replace(LARGE, near=20)


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

    assert near[0] == exact[0]
    assert near[0][2] > 0.99


async def test_what_is_stored_and_is_no_vector_stays_out_of_the_approximate_index(database: store.Database):
    w = await company(database)
    async with database.transaction() as tx:
        (nan,), (short,) = await tx.fetch("select content from embedding order by content limit 2")
        await tx.execute(
            "update embedding set vector = decode(repeat('0000c07f', 32), 'hex') where content = %s", (nan,)
        )
        await tx.execute("update embedding set vector = substr(vector, 5) where content = %s", (short,))

    await index.index_vectors(database, w.cache, above=1)

    async with database.transaction() as tx:
        held = "select count(*) from passage_vector v right join passage p using (node, part) where (v is null) = %s"
        assert (await tx.value(held + " and p.content = any(%s)", (True, [nan, short]))) == 2
        assert await tx.value(held, (True,)) == 2


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


@pytest.mark.parametrize("bound", ["in_memory", "exact"])
async def test_a_bound_that_was_lowered_or_grown_out_of_counts_from_the_next_question_on(
    database: store.Database, bound: str
):
    """As it does for a process that has kept nothing."""
    w = await company(database)
    await indexed(w)
    lower = {"in_memory": replace(DEFAULT, in_memory=2), "exact": LARGE}[bound]

    async def both(settings: Settings) -> tuple[context.Composition, context.Composition]:
        known = await compose(w, settings=settings, policies=APPROXIMATE)
        kept = cache._OF.pop(database)  # pyright: ignore[reportPrivateUsage]
        new = await compose(w, settings=settings, policies=APPROXIMATE)
        cache._OF[database] = kept  # pyright: ignore[reportPrivateUsage]
        return known, new

    before = await compose(w, policies=APPROXIMATE)
    known, new = await both(lower)

    assert (known.text, known.report.text) == (new.text, new.report.text)
    assert known.report.text != before.report.text

    fits = replace(DEFAULT, **{bound: before.report.matched})
    await compose(w, settings=fits, policies=APPROXIMATE)
    await w.write(*world.memo("more", "alder", "One more rollout."))
    await indexed(w)
    known, new = await both(fits)

    assert (known.text, known.report.text) == (new.text, new.report.text)


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


CROWD = [op for n in range(60) for op in world.memo(f"h{n}", "alder", f"{QUESTION} {n}", readers=["group:managers"])]
"""Hidden from sellers, and nearer to the question than anything that they may read."""


async def indexed(w: world.World) -> None:
    await w.follow()
    await index.index_vectors(w.db, w.cache, above=1)


async def test_whoever_was_not_granted_it_is_never_answered_by_the_approximate_index(
    database: store.Database, monkeypatch: pytest.MonkeyPatch
):
    """Above `exact` nothing hidden moves a byte either: every vector is compared, or none where they are too many."""
    monkeypatch.setattr(listing, "nearest", None)
    w = await company(database)
    await indexed(w)

    async def all_of() -> list[Any]:
        found: list[Any] = []
        for settings in (LARGE, replace(LARGE, in_memory=1), replace(LARGE, in_memory=6)):
            cache.of(database)._kept.clear()  # pyright: ignore[reportPrivateUsage]
            made = await compose(w, settings=settings)
            found.append((told(made), next(s.way for s in made.report.graph if s.strategy == "embedding")))
        return found

    before = await all_of()
    await w.write(*CROWD)
    await indexed(w)

    assert await all_of() == before
    assert [way for _, way in before] == ["exact", "exact", "too many"]


@pytest.mark.parametrize("settings", [FEW, replace(FEW, in_memory=3)], ids=["a whole view", "what shares a word"])
async def test_of_what_is_hidden_nothing_is_told_but_which_near_items_are_found(
    database: store.Database, monkeypatch: pytest.MonkeyPatch, settings: Settings
):
    """What `access/` lists under `approximate`: with the same items found, each byte is the same (E7)."""
    monkeypatch.setattr(listing, "ORDER", "off")  # as in a graph where hidden ones are as many as are looked at
    w = await company(database)
    await indexed(w)
    found: list[list[tuple[UUID, str, float]]] = []
    real = listing.nearest

    async def kept(tx: store.Transaction, *given: Any) -> list[tuple[UUID, str, float]]:
        await tx.execute("select set_config('enable_seqscan', 'off', true), set_config('enable_sort', 'off', true)")
        found.append(await real(tx, *given))
        return found[-1]

    monkeypatch.setattr(listing, "nearest", kept)
    first = told(await compose(w, settings=settings, policies=APPROXIMATE))
    before = list(found)
    await w.write(*CROWD)
    await indexed(w)
    await compose(w, settings=settings, policies=APPROXIMATE)
    moved = found[len(before) :]

    again = iter(before)

    async def as_before(*_: Any) -> list[tuple[UUID, str, float]]:
        return next(again)

    monkeypatch.setattr(listing, "nearest", as_before)
    cache.of(database)._kept.clear()  # pyright: ignore[reportPrivateUsage]

    assert before[0]
    assert moved[0] != before[0]  # this is what is told
    assert {row[0] for near in moved for row in near} <= {row[0] for near in before for row in near}
    assert told(await compose(w, settings=settings, policies=APPROXIMATE)) == first


async def test_a_scope_too_large_for_a_view_has_what_lies_near_for_whoever_was_granted_it(database: store.Database):
    w = await company(database)
    await indexed(w)
    wide = replace(LARGE, in_memory=1)

    without, granted = [await compose(w, question="zzz?", settings=wide, policies=p) for p in ("", APPROXIMATE)]

    ways = [next((s.way for s in made.report.graph if s.strategy == "embedding"), "") for made in (without, granted)]
    assert (handles(without), ways[1]) == (set(), "approximate")
    assert handles(granted)


OWN = """
  - {id: own, allow: read, records: {types: [Firm]}, to: ["group:analysts"], where: {owner: caller.email}}
"""
"""Of her own firms Tess may read the description, too: her fields hang on the record."""
NEAR = """
  - {id: close, allow: approximate, to: ["group:analysts"]}
"""
ONE = replace(FEW, in_memory=1, composition_cap=2)


@pytest.mark.parametrize("policies", ["", OWN, NEAR, OWN + NEAR], ids=["fixed", "by record", "near", "near by record"])
async def test_a_hidden_field_of_a_seen_record_moves_nothing_in_a_scope_too_large_for_a_view(
    database: store.Database, policies: str
):
    w = await company(database)
    await w.write(world.firm("tess", TESS, name="Elm Hall", description="A zebra farm."))
    await indexed(w)

    async def all_of() -> list[Any]:
        cache.of(database)._kept.clear()  # pyright: ignore[reportPrivateUsage]
        asked = ("zebra", "zebra farm walrus", "Mills of Birch Yard?")
        made = [await compose(w, TESS, q, settings=s, policies=policies) for q in asked for s in (ONE, LARGE)]
        return [(told(m), handles(m)) for m in made]

    before = await all_of()
    hidden = ("zebra", "zebra farm walrus zebra farm", "Mills of Birch Yard?")
    for said in hidden:
        await w.write(*(world.change(f"Firm#{key}", description=said) for key in ("alder", "birch", "cedar")))
        await indexed(w)
        assert await all_of() == before, said

    assert policies or "Firm#tess" not in before[0][1]
    assert OWN not in policies or "Firm#tess" in before[0][1]
