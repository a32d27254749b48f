"""What a process keeps of views and answers is true of the graph as it is, and takes no more memory than it says.

Context req. 38-39.
"""

from __future__ import annotations

import asyncio
import gc
import tracemalloc
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest

from tests.context import world
from tests.context.test_composing import EVERYWHERE, QUESTION, compose
from tests.context.test_reading import company
from ukai import context, store
from ukai.context import cache, elements, making, reading
from ukai.context.strategies import Candidate
from ukai.graph import schema


async def test_what_is_kept_for_questions_is_counted_and_bounded(database: store.Database):
    w = await company(database)
    await w.write(*(op for k in range(150) for op in world.memo(f"v{k}", "alder", f"The rollout gate {k} " * 12)))
    await w.follow()
    kept = cache.of(database)

    async def asked(word: str, times: int) -> tuple[int, int]:
        for n in range(times):
            await compose(w, question=f"Why did the {word} {n} stop?")
        gc.collect()
        return tracemalloc.get_traced_memory()[0], kept.nbytes

    tracemalloc.start()
    try:
        first = await asked("rollout gate", 2)
        last = await asked("gate of the rollout", 4)
    finally:
        tracemalloc.stop()
    takes, counted = (after - before for after, before in zip(last, first, strict=True))
    assert 0.7 * counted < takes < 1.1 * counted, (takes, counted)

    bound = kept._memory = first[1]  # pyright: ignore[reportPrivateUsage]
    _, size = await asked("rollout", 1)
    assert 0 < size <= bound


def test_of_one_view_the_last_questions_are_kept_and_what_they_take_is_known():
    found = cache.Found()
    answers = cache.Answers(found, "here")
    one = Candidate(id="Memo#a1", node=UUID(int=1), part="", score=1.0, why=())
    for question in [*range(cache.ANSWERS + 1), cache.ANSWERS]:
        answers.keep(question, making.Retrieved(graph=(), candidates=(one, one)))

    assert [n for n in range(cache.ANSWERS + 1) if answers.get(n) is None] == [0]
    assert found.nbytes == cache.ANSWERS * 2 * making.CANDIDATE


async def test_what_was_kept_before_a_type_named_other_readers_is_not_used_again(database: store.Database):
    w = await company(database)
    types = {name: replace(t, readers=None) if name == "Memo" else t for name, t in w.types.items()}
    request = context.Request(question=QUESTION, scope=EVERYWHERE)

    async def composed(types: Mapping[str, schema.Type]) -> tuple[str, str]:
        library = reading.Library(types=types, cache=w.cache)
        made = await context.compose(database, request, library=library, reader=world.reader(), clock=world.CLOCK)
        return made.text, made.report.text

    before, after = await composed(w.types), await composed(types)
    cache._OF.pop(database)  # pyright: ignore[reportPrivateUsage]

    assert before != after == await composed(types)


async def test_a_call_that_was_overtaken_leaves_nothing_behind_for_others(
    database: store.Database, monkeypatch: pytest.MonkeyPatch
):
    w = await company(database)
    await w.write(*world.memo("late", "alder", "The rollout waits for the depot gate."))
    await w.follow()
    held, go, folded = asyncio.Event(), asyncio.Event(), elements.folded

    async def slow(*given: Any) -> Any:
        if not held.is_set():
            held.set()
            await go.wait()
        return await folded(*given)

    monkeypatch.setattr(elements, "folded", slow)
    overtaken = asyncio.create_task(compose(w, question="Why does the rollout wait?"))
    await held.wait()
    await w.write(world.change("Memo#late", readers=["group:managers"]))
    await w.follow()
    await compose(w, question="Another question")
    go.set()
    await overtaken

    after = await compose(w, question="Why does the rollout wait?")
    cache._OF.pop(database)  # pyright: ignore[reportPrivateUsage]
    anew = await compose(w, question="Why does the rollout wait?")

    assert "Memo#late" not in after.report.text
    assert (after.text, after.report.text) == (anew.text, anew.report.text)
