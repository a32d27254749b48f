"""One process of many runs it, once; whoever is killed is taken over from (J, X1, X3)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from ukai import jobs, store
from ukai.kit.clock import FixedClock
from ukai.kit.errors import PermanentError

NIGHTLY = jobs.Schedule(name="measure", cron="0 3 * * *", grace=timedelta(hours=4))
THREE = datetime(2026, 11, 30, 3, tzinfo=UTC)


class Runs:
    """Counts how often it was run."""

    def __init__(self, *, fails: Exception | None = None) -> None:
        self.count, self.fails = 0, fails
        self.begun, self.go = asyncio.Event(), asyncio.Event()
        self.go.set()

    async def __call__(self) -> Mapping[str, Any]:
        self.count += 1
        assert self.count == 1 or self.go.is_set(), "it runs twice at once"
        self.begun.set()
        await self.go.wait()
        if self.fails:
            raise self.fails
        return {"n": self.count}


async def fire(db: store.Database, run: Runs, at: datetime = THREE) -> jobs.Firing | jobs.Skipped:
    return await jobs.fire(db, NIGHTLY, clock=FixedClock(at), run=run)


def reason(came: jobs.Firing | jobs.Skipped) -> str:
    return came.reason if isinstance(came, jobs.Skipped) else came.state


async def killed(db: store.Database, at: datetime = THREE) -> None:
    """A process that began and was ended."""
    run = Runs()
    run.go.clear()
    task = asyncio.create_task(fire(db, run, at))
    await run.begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_of_many_processes_one_runs_it_and_once_a_night(database: store.Database):
    run = Runs()
    run.go.clear()
    first = asyncio.create_task(fire(database, run))
    await run.begun.wait()

    while_it_runs = [await fire(database, run) for _ in range(3)]
    open_meanwhile = await jobs.is_open(database, NIGHTLY, at=THREE)
    run.go.set()
    done = await first
    afterwards = await fire(database, run, THREE + timedelta(hours=1))

    assert [reason(came) for came in while_it_runs] == ["runs elsewhere"] * 3
    assert (open_meanwhile, await jobs.is_open(database, NIGHTLY, at=THREE)) == (False, False)
    assert isinstance(done, jobs.Firing)
    assert (done.state, done.result, done.slot) == ("done", {"n": 1}, THREE)
    assert reason(afterwards) == "ran already"
    assert run.count == 1


async def test_at_another_hour_nothing_runs_and_it_says_when(database: store.Database):
    run = Runs()

    came = await fire(database, run, THREE + timedelta(hours=5))

    assert came == jobs.Skipped(reason="not due", next=THREE + timedelta(days=1))
    assert run.count == 0


async def test_a_run_that_failed_is_kept_with_its_reason_and_not_tried_again_that_night(database: store.Database):
    wrong = Runs(fails=PermanentError("the file is gone"))
    with pytest.raises(PermanentError):
        await fire(database, wrong)

    again = await fire(database, wrong)

    kept = (await jobs.latest(database, "measure"))[0]
    assert (kept.state, kept.said, kept.tries) == ("failed", "the file is gone", 1)
    assert reason(again) == "ran already"
    next_night = await fire(database, Runs(), THREE + timedelta(days=1))
    assert reason(next_night) == "done"


async def test_a_clock_that_was_ahead_does_not_hide_what_runs_after_it(database: store.Database):
    await fire(database, Runs(), THREE + timedelta(days=10))

    came = await fire(database, Runs())

    assert isinstance(came, jobs.Firing)
    assert came.slot == THREE
    assert [f.slot for f in await jobs.latest(database, "measure", limit=9, until=THREE)] == [THREE]
    assert len(await jobs.latest(database, "measure", limit=9)) == 2


async def test_whoever_is_killed_is_taken_over_from_and_not_for_ever(database: store.Database):
    await killed(database)
    assert await jobs.is_open(database, NIGHTLY, at=THREE)
    taken_over = await fire(database, Runs())
    assert isinstance(taken_over, jobs.Firing)
    assert (taken_over.state, taken_over.tries) == ("done", 2)

    tomorrow = THREE + timedelta(days=1)
    for _ in range(jobs.TRIES):
        await killed(database, tomorrow)
    given_up = await fire(database, Runs(), tomorrow)

    kept = (await jobs.latest(database, "measure"))[0]
    assert reason(given_up) == "ran already"
    assert (kept.state, kept.said, kept.tries) == ("failed", "its process died", jobs.TRIES)
