"""`ukai checks run` over the runs of a workspace: named ones, a time range, and only those that may be read."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tests.record import builders
from ukai import record, store
from ukai.app import checks, init
from ukai.kit.clock import FixedClock
from ukai.surfaces import cli


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


def test_of_many_runs_one_line_a_check_is_told_worst_first_and_of_one_run_everything(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(workspace)

    many = CliRunner().invoke(cli.app, ["checks", "run"])
    one = CliRunner().invoke(cli.app, ["checks", "run", builders.run_id(1)])
    document = json.loads(CliRunner().invoke(cli.app, ["checks", "run", "--json"]).stdout)

    lines = many.output.splitlines()
    assert lines[0] == "invented_figures      1 of    2 flagged  !invented 1, weak 2"
    assert lines[-3:-1] == ["2 runs weighed, 1 flagged", f"  {builders.run_id(1)}: 1 against it"]
    assert len([line for line in lines if " of " in line and "flagged" in line]) == len(
        {s["check"] for s in document["scores"]}
    )
    assert f"! {builders.run_id(1)} invented_figures: invented '$1.9M'" in one.output
    assert "in: We pay $1.9M from May 5." in one.output
    assert {"about", "check", "counts", "flagged", "flags"} <= document["scores"][0].keys()
