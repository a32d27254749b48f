"""Random kills of the starter, the watcher and the server leave a store that starts, with every committed row (X3).

The suite runs a dozen; `UKAI_KILLS=100 UKAI_KILLS_SEED=7 pytest tests/store/test_kills.py` runs as many as one likes.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

from tests.store import rig
from ukai.store import embedded, folder, process

KILLS = int(os.environ.get("UKAI_KILLS", "12"))
SEED = int(os.environ.get("UKAI_KILLS_SEED", "1"))

DURABLE = replace(rig.QUIET, settings={}, idle_minutes=10)
LATEST_S = 1.5
"""A kill of the starter comes at some moment of the time that a start takes."""


def test_random_kills_lose_no_committed_row(bare_dir: Path):
    chance = random.Random(SEED)
    (bare_dir.parent.parent / "ukai.yaml").write_text("database: embedded\n")
    for number in range(KILLS):
        victim = chance.choice(["starter", "starter and server", "server", "watcher", "all"])
        _strike(victim, bare_dir, chance)

        url = embedded.ensure(bare_dir, DURABLE)

        rig.execute(url, "create table if not exists witness (number int primary key)")
        seen = [row[0] for row in rig.execute(url, "select number from witness order by number")]
        assert seen == list(range(number)), f"after {victim} died at kill {number}, seed {SEED}"
        rig.execute(url, f"insert into witness values ({number})")

    assert list(bare_dir.parent.glob("*.new-*")) == []
    rig.eventually(lambda: len(rig.watchers(bare_dir)) == 1)


def test_a_first_start_that_was_killed_is_simply_repeated(bare_dir: Path):
    chance = random.Random(SEED)
    workspace = bare_dir.parent.parent
    (workspace / "ukai.yaml").write_text("database: embedded\n")
    for _ in range(max(2, KILLS // 5)):
        starter = _start(bare_dir)
        time.sleep(chance.uniform(0.1, LATEST_S))
        if chance.random() < 0.5:
            starter.kill()
        else:
            os.killpg(starter.pid, signal.SIGKILL)
        starter.communicate()

        url = embedded.ensure(bare_dir, DURABLE)

        assert rig.execute(url, "select current_database()") == [("ukai",)]
        assert list(bare_dir.parent.glob("*.new-*")) == []
        embedded.stop(bare_dir)
        shutil.rmtree(bare_dir)  # and once more from nothing


def test_an_initdb_that_was_killed_in_the_middle_leaves_no_half(bare_dir: Path):
    (bare_dir.parent.parent / "ukai.yaml").write_text("database: embedded\n")
    starter = _start(bare_dir)
    rig.eventually(lambda: list(bare_dir.parent.glob("postgres*/PG_VERSION")))
    os.killpg(starter.pid, signal.SIGKILL)  # the starter and its initdb, which has only begun
    starter.communicate()

    url = embedded.ensure(bare_dir, DURABLE)

    assert rig.execute(url, "select current_database()") == [("ukai",)]
    assert list(bare_dir.parent.glob("*.new-*")) == []


def _strike(victim: str, data_dir: Path, chance: random.Random) -> None:
    """Kill at a random moment. `starter` begins without a server, so that initdb, start and recovery are all met."""
    if victim in ("starter", "starter and server"):
        if chance.random() < 0.5:
            embedded.stop(data_dir)
        else:
            _kill_server(data_dir)
        starter = _start(data_dir)
        time.sleep(chance.uniform(0.05, LATEST_S))  # the moment is the experiment
        starter.kill()
        starter.communicate()
        if victim == "starter and server":
            _kill_server(data_dir)
    if victim in ("server", "all"):
        _kill_server(data_dir)
    if victim in ("watcher", "all"):
        for pid in rig.watchers(data_dir):
            os.kill(pid, signal.SIGKILL)


def _start(data_dir: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "ukai", "db", "start", "--workspace", str(data_dir.parent.parent)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def _kill_server(data_dir: Path) -> None:
    noted = folder.Place(data_dir).noted()
    if noted is not None and process.serves(noted.pid, data_dir):
        os.kill(noted.pid, signal.SIGKILL)
