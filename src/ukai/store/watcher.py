"""The child that stops an idle server: `python -m ukai.store.watcher DATA_DIR MINUTES`. Started by `embedded.ensure`.

Idle means: no client is connected, and nobody joined, for that long. It sees a client that came and went between two
looks by the server's own count of sessions. It holds `postgres.watch` while it lives, so there is one at most.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import psycopg

from ukai.store import address, embedded, folder

_LONGEST_LOOK_S = 10.0
_GRACE_S = 20.0
"""It is started before its server; how long it waits for one."""

_USE = """
select (select count(*) from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()),
       (select sum(sessions) from pg_stat_database)
"""


def watch(data_dir: Path, idle_s: float) -> None:
    """Return when the server is gone or was stopped for being idle."""
    place = folder.Place(data_dir)
    fd = os.open(place.watch_file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    if not folder.held(fd):
        return
    waited_since = time.monotonic()
    while True:
        server = embedded.running(place.data_dir)
        if server is not None:
            if _is_idle(server, place, idle_s) and _stopped(place, server, idle_s):
                return
            waited_since = time.monotonic()
        elif time.monotonic() - waited_since > _GRACE_S and _is_over(place):
            return
        time.sleep(0.2)


def _is_idle(server: embedded.Server, place: folder.Place, idle_s: float) -> bool:
    """Look until the server has been idle for `idle_s`; False when it is lost."""
    look_s = min(_LONGEST_LOOK_S, idle_s / 5)
    sessions, busy_at = None, time.time()
    try:
        with psycopg.connect(
            address.of_socket(server.socket_dir, name="postgres"), autocommit=True, application_name="ukai watcher"
        ) as connection:
            while time.time() - max(busy_at, place.used_at()) < idle_s:
                row = connection.execute(_USE).fetchone()
                if row is not None and (row[0] or row[1] != sessions):
                    sessions, busy_at = row[1], time.time()
                time.sleep(look_s)
    except psycopg.OperationalError:
        return False
    return True


def _stopped(place: folder.Place, server: embedded.Server, idle_s: float) -> bool:
    with place.locked(timeout_s=embedded.START_S):
        if time.time() - place.used_at() < idle_s:
            return False  # somebody joined since the last look
        embedded.halt(place)
        return True


def _is_over(place: folder.Place) -> bool:
    """No server, and nobody who starts one: seen under the lock, so that no start comes in between."""
    with place.locked(timeout_s=embedded.START_S):
        noted = place.noted()
        return noted is None or embedded.running(place.data_dir) is None


if __name__ == "__main__":
    watch(Path(sys.argv[1]), float(sys.argv[2]) * 60)
