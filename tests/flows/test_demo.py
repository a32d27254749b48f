"""`ukai demo`: killed at any moment and run again it works; a second run only asks (X3)."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import scratch
from tests.flows import company
from ukai.app import db

SEED = int(os.environ.get("UKAI_KILLS_SEED", "1"))
KILLS = int(os.environ.get("UKAI_KILLS", "3"))
SMALL = ("--accounts", "1", "--embed", "24")
STAGES = ("start", "records entered", "reading changed records", "embedding passages", "search_records")
"""What the demonstration says before each of its parts."""


@pytest.fixture
def workspace() -> Iterator[Path]:
    root = company.workspace(scratch.folder("ukai-test-"))
    yield root
    db.stop(root)


def demo(root: Path, *more: str, cwd: Path | None = None) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "ukai", "demo", "--workspace", str(root), *SMALL, *more]
    return subprocess.Popen(
        command, cwd=cwd, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    )


def killed(root: Path, stage: str, chance: random.Random) -> None:
    """Start it, wait until it says `stage`, and a little longer; then end it at once."""
    process = demo(root)
    assert process.stderr is not None
    if stage != "start":
        for line in process.stderr:
            if line.startswith(stage):
                break
    time.sleep(chance.uniform(0, 0.3))
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()


def test_killed_at_any_moment_and_run_again_it_works_from_anywhere(workspace: Path, tmp_path: Path):
    chance = random.Random(SEED)
    for stage in chance.sample(STAGES, k=min(KILLS, len(STAGES))):
        killed(workspace, stage, chance)

    process = demo(workspace, "--json", cwd=tmp_path)
    said, progress = process.communicate(timeout=120)

    assert process.returncode == 0, progress
    document = json.loads(said)
    assert progress == ""
    assert document["run"]["status"] == "answered"
    assert any(c["item_key"].partition("#")[2].startswith("quillon") for c in document["run"]["citations"])
    assert document["other"]["citations"] == [] or "quillon" not in json.dumps(document["other"]["citations"])
    assert document["records"] > 100
