from __future__ import annotations

import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.store import rig
from ukai.store import embedded


@pytest.fixture
def data_dir() -> Iterator[Path]:
    """A place for an embedded server of the test's own; whatever runs there is ended afterwards."""
    root = Path(tempfile.mkdtemp(prefix="ukai-own-")).resolve()
    path = root / ".ukai" / "postgres"
    yield path
    for pid in rig.watchers(path):
        os.kill(pid, signal.SIGKILL)
    embedded.stop(path)
    shutil.rmtree(root, ignore_errors=True)


@pytest.fixture
def database_url(database_url: str) -> str:
    """As everywhere, with a table of this room's own: `witness (name)`."""
    rig.execute(database_url, "create table witness (name text primary key)")
    return database_url
