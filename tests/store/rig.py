"""What the tests of the lifecycle share: a data folder of their own, and waiting for what happens elsewhere."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psycopg

from ukai.store import process
from ukai.store.embedded import Options
from ukai.store.folder import Place

FAST = {"fsync": "off", "full_page_writes": "off"}
QUIET = Options(settings=FAST, idle_minutes=0)
"""No watcher: the test ends its server itself."""

IS_ROOT = os.geteuid() == 0


def eventually(done: Callable[[], object], *, within_s: float = 30.0) -> object:
    """What `done` gives as soon as it is truthy: for what another process does in its own time."""
    end = time.monotonic() + within_s
    while not (value := done()):
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.02)
    return value


def execute(url: str, statement: str) -> list[tuple[object, ...]]:
    with psycopg.connect(url, autocommit=True) as connection:
        cursor = connection.execute(statement.encode())
        return cursor.fetchall() if cursor.description else []


def ensured_elsewhere(data_dir: Path, **options: object) -> subprocess.Popen[str]:
    """Another process that calls `ensure` and prints the URL."""
    code = (
        "import json, sys; from pathlib import Path; from ukai.store import embedded; "
        "print(embedded.ensure(Path(sys.argv[1]), embedded.Options(**json.loads(sys.argv[2]))))"
    )
    given = json.dumps({"settings": FAST, "idle_minutes": 0, **options})
    return subprocess.Popen(
        [sys.executable, "-c", code, str(data_dir), given], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def watchers(data_dir: Path) -> list[int]:
    """The live watchers of a data folder, found by their command line."""
    found: list[int] = []
    for path in Path("/proc").iterdir():
        if path.name.isdigit() and process.is_alive(int(path.name)):
            try:
                words = (path / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if b"ukai.store.watcher" in words and os.fsencode(data_dir) in words:
                found.append(int(path.name))
    return found


def pid_of(data_dir: Path) -> int:
    noted = Place(data_dir).noted()
    assert noted is not None
    return noted.pid


def kill_server(data_dir: Path) -> None:
    """kill -9, and wait until the server's children have noticed: until then they go on answering."""
    os.kill(pid_of(data_dir), signal.SIGKILL)
    eventually(lambda: not process.left_behind(data_dir))
