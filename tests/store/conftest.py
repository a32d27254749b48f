from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import scratch
from tests.store import rig
from ukai.store import embedded


@pytest.fixture
def bare_dir() -> Iterator[Path]:
    """A place for a data folder of the test's own; whatever runs there is ended afterwards."""
    root = scratch.folder("ukai-own-")
    path = root / ".ukai" / "postgres"
    yield path
    for pid in rig.watchers(path):
        os.kill(pid, signal.SIGKILL)
    embedded.stop(path)
    shutil.rmtree(root, ignore_errors=True)


@pytest.fixture(scope="session")
def _made() -> Iterator[Path]:
    """A data folder as the first start leaves it, to be copied: initdb for each test would be half of their time."""
    root = scratch.folder("ukai-made-")
    embedded.ensure(root / "postgres", rig.QUIET)
    embedded.stop(root / "postgres")
    yield root / "postgres"
    shutil.rmtree(root, ignore_errors=True)


@pytest.fixture
def data_dir(bare_dir: Path, _made: Path) -> Path:
    """A data folder of the test's own whose server was stopped."""
    bare_dir.parent.mkdir(mode=0o700)
    shutil.copytree(_made, bare_dir, symlinks=True)
    return bare_dir


@pytest.fixture
def database_url(database_url: str) -> str:
    """As everywhere, with a table of this room's own: `witness (name)`."""
    rig.execute(database_url, "create table witness (name text primary key)")
    return database_url
