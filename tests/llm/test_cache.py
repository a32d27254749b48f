"""Embeddings kept by content (design §3, X1)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import psycopg
import pytest
from numpy.typing import NDArray

from ukai import store
from ukai.llm import cache, rows


class Letters:
    """An embedder of ours: three numbers a text, and it keeps what it was asked."""

    dimensions = 3

    def __init__(self, model_id: str = "letters@1", shift: float = 0.0) -> None:
        self.model_id, self.shift = model_id, shift
        self.asked: list[str] = []

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.asked += texts
        return np.array([[len(t), t.count("a"), self.shift] for t in texts], np.float32).reshape(-1, 3)


async def test_a_text_is_embedded_once_and_rows_keep_their_order(database: store.Database):
    embedder = Letters()
    kept = cache.Cache(embedder)

    first = await kept.embed_cached(database, ["banana", "b", "banana"])
    second = await kept.embed_cached(database, ["b", "banana", "new"])

    assert first.tolist() == [[6, 3, 0], [1, 0, 0], [6, 3, 0]]
    assert second.tolist() == [[1, 0, 0], [6, 3, 0], [3, 0, 0]]
    assert embedder.asked == ["banana", "b", "new"]


async def test_another_process_finds_them_in_the_database(database: store.Database):
    await cache.Cache(Letters()).embed_cached(database, ["banana"])
    other = Letters()

    vectors = await cache.Cache(other).embed_cached(database, ["banana"])

    assert vectors.tolist() == [[6, 3, 0]]
    assert other.asked == []


async def test_reading_computes_nothing_and_says_what_is_missing(database: store.Database):
    embedder = Letters()
    kept = cache.Cache(embedder)
    await kept.embed_cached(database, ["known"])
    embedder.asked.clear()

    async with database.snapshot() as tx:
        found = await kept.look_up(tx, ["known", "unknown", "known", "unknown"])
        missing = await kept.missing(tx, ["known", "unknown", "other", "unknown"])

    assert found.missing == (1, 3)
    assert found.vectors[1].tolist() == [0, 0, 0]
    assert found.vectors[2].tolist() == [5, 0, 0]
    assert missing == ["unknown", "other"]
    assert embedder.asked == []


async def test_the_first_vector_of_a_text_stays_its_vector_whoever_computes_it_again(database: store.Database):
    slow, fast = cache.Cache(Letters(shift=1)), cache.Cache(Letters(shift=2))
    async with database.transaction() as tx:
        await rows.keep(tx, "letters@1", {cache.content_of("x"): np.array([7, 7, 7], "<f4").tobytes()})

    await slow._compute(database, ["x"])

    assert (await slow.embed_cached(database, ["x"])).tolist() == [[7, 7, 7]]
    assert (await fast.embed_cached(database, ["x"])).tolist() == [[7, 7, 7]]


async def test_vectors_of_two_models_do_not_meet(database: store.Database):
    await cache.Cache(Letters("letters@1")).embed_cached(database, ["x"])
    second = Letters("letters@2", shift=9)

    vectors = await cache.Cache(second).embed_cached(database, ["x"])

    assert vectors.tolist() == [[1, 0, 9]]
    async with database.transaction() as tx:
        assert await rows.forget_other_models(tx, "letters@2") == 1


async def test_hostile_texts_are_kept_like_any_other(database: store.Database):
    texts = ["", "\0", "\ud800", "a" * 1_000_000]
    kept = cache.Cache(Letters())

    vectors = await kept.embed_cached(database, texts)

    assert vectors[:, 0].tolist() == [0, 1, 1, 1_000_000]


@pytest.mark.parametrize("raw", [b"\0" * 8, b"\0" * 16, np.array([1, np.nan, 0], "<f4").tobytes()])
async def test_what_is_stored_and_is_no_vector_counts_as_missing_and_is_embedded_again(
    database: store.Database, raw: bytes
):
    kept = cache.Cache(Letters())
    await kept.embed_cached(database, ["good"])
    async with database.transaction() as tx:
        await rows.keep(tx, "letters@1", {cache.content_of("bad"): raw})
    async with database.snapshot() as tx:
        found = await cache.Cache(Letters()).look_up(tx, ["good", "bad"])

    again = await kept.embed_cached(database, ["good", "bad"])

    assert (found.missing, found.vectors.tolist()) == ((1,), [[4, 0, 0], [0, 0, 0]])
    assert again.tolist() == [[4, 0, 0], [3, 1, 0]]


@pytest.mark.parametrize("shift", [np.nan, np.inf])
async def test_a_model_that_gives_no_numbers_is_refused_and_nothing_of_it_kept(database: store.Database, shift: float):
    with pytest.raises(cache.WrongVector, match=r"'letters@1' gave vectors of shape \(1, 3\)"):
        await cache.Cache(Letters(shift=shift)).embed_cached(database, ["x"])

    assert (await cache.Cache(Letters()).embed_cached(database, ["x"])).tolist() == [[1, 0, 0]]


async def test_a_full_memory_forgets_the_oldest_and_still_answers(database: store.Database):
    kept = cache.Cache(Letters(), remembered=2)
    texts = ["a", "bb", "ccc", "dddd"]

    await kept.embed_cached(database, texts)  # more than have room: nothing of them is kept
    assert len(kept._near) == 0
    for few in (texts[:2], texts[1:3]):
        await kept.embed_cached(database, few)

    assert list(kept._near) == [cache.content_of(text) for text in texts[1:3]]
    assert (await kept.embed_cached(database, texts))[:, 0].tolist() == [1, 2, 3, 4]


async def test_no_transaction_is_open_while_a_model_computes(database: store.Database, database_url: str):
    open_during: list[object] = []

    class Watching(Letters):
        def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
            with psycopg.connect(database_url, autocommit=True) as other:
                row = other.execute(
                    "select count(*) from pg_stat_activity where datname = current_database() "
                    "and xact_start is not null and pid <> pg_backend_pid() and backend_type = 'client backend'"
                ).fetchone()
            open_during.append(row)
            return super().embed(texts)

    await cache.Cache(Watching()).embed_cached(database, ["x"])

    assert open_during == [(0,)]
