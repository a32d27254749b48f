"""`ukai checks run` over the runs of a workspace: named ones, a time range, and only those that may be read."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.record import builders
from ukai import record, store
from ukai.app import checks, init
from ukai.kit.clock import FixedClock


@pytest.fixture
async def workspace(tmp_path: Path, database_url: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three runs, of which one is somebody else's: the first is right, the second makes up a price."""
    monkeypatch.setenv("UKAI_DATABASE_URL", database_url)
    init.init(tmp_path)
    async with store.connect(database_url) as db:
        for n, (answer, who) in enumerate(
            (("We pay $1.2M from May 5.", "ann"), ("We pay $1.9M from May 5.", "ann"), ("We pay $7M.", "bob"))
        ):
            at = builders.AT + timedelta(days=n)
            start = builders.start(n, principal=f"{who}@example.com", started_at=at, as_of=at)
            recorder = await record.Recorder.begin(db, start, clock=FixedClock(at))
            await recorder.add(builders.call())
            await recorder.add(record.Answer(markdown=answer))
            await recorder.seal("answered")
    return tmp_path


async def weighed(workspace: Path, **wanted: Any) -> dict[str, Any]:
    given = {"since": None, "until": None} | wanted
    return await checks.weighed(workspace, "invented_figures", checks.wanted(**given), principal=None)


async def test_the_newest_runs_that_the_caller_may_read_are_weighed(workspace: Path):
    document = await weighed(workspace)

    assert (document["runs"], document["flagged"]) == (2, 1)
    assert [s["flags"][0]["words"] for s in document["scores"] if s["flagged"]] == ["$1.9M"]


async def test_a_time_range_and_a_number_narrow_it(workspace: Path):
    later = await weighed(workspace, since=builders.AT + timedelta(hours=1))
    earlier = await weighed(workspace, until=builders.AT + timedelta(hours=1))
    one = await weighed(workspace, limit=1)

    assert [s["about"] for s in later["scores"]] == [[builders.run_id(1)]] == [s["about"] for s in one["scores"]]
    assert [s["about"] for s in earlier["scores"]] == [[builders.run_id(0)]]


async def test_a_run_of_somebody_else_is_as_one_that_is_not_there(workspace: Path):
    theirs = await weighed(workspace, ids=(builders.run_id(2),))
    nobody = await weighed(workspace, ids=(builders.run_id(9),))

    assert theirs["runs"] == nobody["runs"] == 0
    assert [f["code"] for f in (*theirs["findings"], *nobody["findings"])] == ["run_not_read"] * 2


async def test_an_agent_without_runs_gives_none(workspace: Path):
    assert (await weighed(workspace, agent="nobody"))["runs"] == 0
