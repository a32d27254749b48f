"""How many turns run at once, how many wait, and an end that finishes what is under way (P2.1)."""

from __future__ import annotations

import asyncio

import pytest

from ukai.app.admission import Admission, Busy


class Turns:
    """Turns that go on until they are told to end."""

    def __init__(self, admission: Admission) -> None:
        self.admission = admission
        self.go = asyncio.Event()
        self.most = 0

    async def one(self) -> str:
        async with self.admission.turn():
            self.most = max(self.most, self.admission.running)
            await self.go.wait()
            return "done"


async def started(count: int, admission: Admission) -> tuple[Turns, list[asyncio.Task[str]]]:
    turns = Turns(admission)
    tasks = [asyncio.create_task(turns.one()) for _ in range(count)]
    for _ in range(3):
        await asyncio.sleep(0)
    return turns, tasks


async def test_so_many_run_so_many_wait_and_the_next_one_is_told_to_come_again():
    admission = Admission(running=2, waiting=3)
    turns, tasks = await started(5, admission)
    assert (admission.running, admission.waiting) == (2, 3)

    with pytest.raises(Busy) as refused:
        await asyncio.wait_for(turns.one(), 2)
    turns.go.set()

    assert await asyncio.gather(*tasks) == ["done"] * 5
    assert refused.value.retry_after_s > 0
    assert (turns.most, admission.running, admission.waiting) == (2, 0, 0)


async def test_who_gives_up_waiting_leaves_the_queue():
    admission = Admission(running=1, waiting=1)
    turns, (first, second) = await started(2, admission)

    second.cancel()
    await asyncio.gather(second, return_exceptions=True)
    third = asyncio.create_task(turns.one())
    await asyncio.sleep(0)
    turns.go.set()

    assert await asyncio.gather(first, third) == ["done", "done"]


async def test_a_turn_that_fails_gives_its_place_back():
    admission = Admission(running=1, waiting=0)

    for _ in range(3):
        with pytest.raises(ValueError):
            async with admission.turn():
                raise ValueError

    async with admission.turn():
        assert admission.running == 1


async def test_an_end_refuses_new_turns_and_waits_for_those_it_took_in():
    admission = Admission(running=1, waiting=1)
    turns, tasks = await started(2, admission)

    ending = asyncio.create_task(admission.drain(within_s=10))
    await asyncio.sleep(0)
    with pytest.raises(Busy, match="ending"):
        await asyncio.wait_for(turns.one(), 2)
    assert not ending.done()
    turns.go.set()

    assert await ending is True
    assert [t.result() for t in tasks] == ["done", "done"], "also the one that waited"


async def test_an_end_does_not_wait_for_ever():
    admission = Admission(running=1, waiting=0)
    turns, tasks = await started(1, admission)

    assert await admission.drain(within_s=0.01) is False

    turns.go.set()
    await asyncio.gather(*tasks)
