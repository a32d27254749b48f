"""What a process keeps of views and answers takes no more memory than it says (context req. 38)."""

from __future__ import annotations

import gc
import tracemalloc

from tests.context import world
from tests.context.test_composing import compose
from tests.context.test_reading import company
from ukai import store
from ukai.context import cache


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
