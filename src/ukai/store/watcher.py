"""The child that stops an idle server: `python -m ukai.store.watcher DATA_DIR MINUTES`, started by `embedded.ensure`.

Idle means: no client is connected, and nobody joined, for that long. A client that came and went between two looks
shows in the server's own count of sessions. It holds `postgres.watch` while it lives, so there is one at most.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import psycopg

from ukai.store import process, server
from ukai.store.folder import Place, held

_LONGEST_LOOK_S = 10.0
_GRACE_S = 10.0
"""It is started before its server; how long it waits for one."""

_USE = """
select (select count(*) from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()),
       (select sum(sessions) from pg_stat_database)
"""


def watch(place: Place, idle_s: float, *, grace_s: float = _GRACE_S) -> None:
    """Return when the server is gone or was stopped for being idle."""
    fd = os.open(place.watch_file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    if not held(fd):
        return  # there is one already
    until, seen = time.monotonic() + grace_s, False
    while _is_ours(place, fd):
        alive = server.running(place)
        if alive is not None:
            seen = True
            if _is_idle(alive, place, idle_s) and _ended(place, fd, idle_s):
                return
        elif (seen or time.monotonic() > until) and _over(place, fd):
            return
        time.sleep(0.2)


def _is_ours(place: Place, fd: int) -> bool:
    """False when the folder was removed, or made anew, under us."""
    try:
        return os.path.samestat(os.fstat(fd), place.watch_file.stat())
    except FileNotFoundError:
        return False


def _is_idle(alive: server.Server, place: Place, idle_s: float) -> bool:
    """Look until nobody has used the server for `idle_s`; False when it is lost."""
    look_s = min(_LONGEST_LOOK_S, idle_s / 5)
    sessions, busy_at = None, time.time()
    try:
        with server.opened(alive.socket_dir) as connection:
            while time.time() - max(busy_at, place.used_at()) < idle_s:
                row = connection.execute(_USE).fetchone()
                if row is not None and (row[0] or row[1] != sessions):
                    sessions, busy_at = row[1], time.time()
                if server.wait(lambda: not process.is_alive(alive.pid), look_s, poll_s=min(1.0, look_s)):
                    return False
    except psycopg.OperationalError:
        return False
    return True


def _ended(place: Place, fd: int, idle_s: float) -> bool:
    with place.locked(timeout_s=server.START_S):
        if time.time() - place.used_at() < idle_s:
            return False  # somebody joined since the last look
        server.halt(place)
        os.close(fd)
        return True


def _over(place: Place, fd: int) -> bool:
    """No server is left to watch: seen, and our own place given up, under the lock, so that no start comes between."""
    with place.locked(timeout_s=server.START_S):
        if server.present(place):
            return False
        os.close(fd)
        return True


if __name__ == "__main__":
    watch(Place(Path(sys.argv[1])), float(sys.argv[2]) * 60)
