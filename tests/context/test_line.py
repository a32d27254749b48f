"""Whoever composes stands in line, so that the connections of a process are not all held by those that compute (X3)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from tests.context.test_composing import compose
from tests.context.test_reading import company
from ukai import store
from ukai.context import cache, line
from ukai.context.strategies import STRATEGIES
from ukai.context.strategies.asked import Asked, Strategy
from ukai.kit.errors import TemporaryError


async def test_forty_documents_at_once_leave_connections_for_what_is_short(database: store.Database):
    w = await company(database)
    goes_on, inside = asyncio.Event(), asyncio.Semaphore(0)

    async def waits(ask: Asked) -> Sequence[int]:
        inside.release()
        await goes_on.wait()
        return []

    slow = {"slow": Strategy(fires=lambda _: True, find=waits, timeout_ms=lambda s: 60_000), **STRATEGIES}
    tasks = [asyncio.create_task(compose(w, question=f"Why {n}?", strategies=slow)) for n in range(40)]
    for _ in range(line.AT_ONCE):
        await inside.acquire()

    async with asyncio.timeout(5), database.transaction() as tx:
        assert await tx.value("select 1") == 1
    assert cache.of(database).line.waiting > 0

    goes_on.set()
    assert len({made.id for made in await asyncio.gather(*tasks)}) == 40
    assert cache.of(database).line.waiting == 0


async def test_nobody_stands_behind_a_line_that_is_too_long():
    short = line.Line(at_once=1, longest=0)

    async with short.place():
        with pytest.raises(line.Full) as refused:
            async with short.place():
                pass
    async with short.place():
        pass

    assert isinstance(refused.value, TemporaryError)  # what every surface answers with: again in a moment
