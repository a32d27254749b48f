"""A process that pulls is killed, and another goes on: counts add up and nothing is there twice (W11, X3)."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.connect import world
from ukai import store
from ukai.connect import rows
from ukai.gate import bulk

ROWS = 1_800


def killed(url: str, folder: Path, point: str, at: int) -> None:
    """A pull that is ended with SIGKILL at a point: `done` after a batch, `move` inside the transaction of one."""
    command = [sys.executable, "-m", "tests.connect.puller", url, str(folder), point, str(at)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=Path(__file__).parents[2]
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"now\n"
        os.kill(child.pid, signal.SIGKILL)


def written(folder: Path) -> None:
    """Every 100th row has no name, and is refused."""
    lines = "".join(f"{n},{'' if n % 100 == 7 else f'n{n}'}\n" for n in range(ROWS))
    world.write(folder, f"id,name\n{lines}")


async def test_a_pull_goes_on_behind_the_batch_that_it_was_killed_in(
    database: store.Database, database_url: str, tmp_path: Path
):
    await world.upload(database)
    written(tmp_path)

    killed(database_url, tmp_path, "done", 1)
    killed(database_url, tmp_path, "move", 2)  # of its own: the second batch of the rest is rolled back
    between = len(await world.nodes(database))
    report = await world.pulled(database, tmp_path)
    again = await world.pulled(database, tmp_path)

    good = ROWS - ROWS // 100
    assert between == 2 * (bulk.BATCH - bulk.BATCH // 100)
    assert report.resumed == 2 * bulk.BATCH
    assert report.counts == {"read": ROWS, "written": good, "refused": ROWS // 100, "nodes_created": good}
    assert len(await world.nodes(database)) == await world.changes(database) == good
    assert len(await world.held(database)) == ROWS // 100
    assert again.counts == {"read": ROWS, "written": 0, "unchanged": good, "refused": ROWS // 100}


async def test_a_source_that_was_written_to_is_read_from_its_beginning(
    database: store.Database, database_url: str, tmp_path: Path
):
    await world.upload(database)
    written(tmp_path)
    killed(database_url, tmp_path, "done", 2)
    with (tmp_path / "a.csv").open("a") as file:
        file.write("new,new\n")

    report = await world.pulled(database, tmp_path)

    met = 2 * (bulk.BATCH - bulk.BATCH // 100)
    assert (report.resumed, report.counts["read"]) == (0, ROWS + 1)
    assert report.counts["unchanged"] == met
    assert await world.changes(database) == len(await world.nodes(database)) == ROWS - ROWS // 100 + 1


@pytest.mark.parametrize("lost", ["say", "hold"])
async def test_these_tests_see_what_is_not_written_along(
    database: store.Database, tmp_path: Path, lost: str, monkeypatch: pytest.MonkeyPatch
):
    """Sabotage: what is known of each record, or the quarantine, is left out of the batch's transaction."""

    async def nothing(*args: object, **more: object) -> None: ...

    await world.upload(database)
    written(tmp_path)
    monkeypatch.setattr(rows, lost, nothing)

    await world.pulled(database, tmp_path)
    again = await world.pulled(database, tmp_path)

    remembered = again.counts.get("unchanged", 0) == ROWS - ROWS // 100
    kept = len(await world.held(database)) == ROWS // 100
    assert (remembered, kept) == (lost != "say", lost != "hold")
