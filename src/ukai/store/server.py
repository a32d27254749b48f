"""The server of a data folder: whether it lives, how it ends, and what it leaves when it was killed."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import psycopg

from ukai.store import address, process
from ukai.store.failures import EmbeddedBroken
from ukai.store.folder import Place

START_S = 60.0
"""How long a start may take; recovery after a kill is part of it."""
STOP_S = 30.0
_POLL_S = 0.02

_FULL = ("too many clients", "remaining connection slots", "too many connections")

_PROOF = "select current_setting('data_directory'), exists (select from pg_database where datname = %s)"


@dataclass(frozen=True, kw_only=True)
class Server:
    """A running server of a data folder."""

    data_dir: Path
    pid: int
    socket_dir: Path
    has_database: bool = True
    """Ukai's database was made in it."""

    @property
    def url(self) -> str:
        """The address of Ukai's database on it."""
        return address.of_socket(self.socket_dir)


def running(place: Place) -> Server | None:
    """The live server of a data folder, proven by its process and by a connection that names this very folder."""
    noted = place.noted()
    if noted is None or noted.socket_dir is None or not process.serves(noted.pid, place.data_dir):
        return None
    try:
        with opened(noted.socket_dir) as connection:
            row = connection.execute(_PROOF, (address.NAME,)).fetchone()
    except psycopg.OperationalError as error:
        # Full, and very much alive. The driver has no code for what goes wrong while it connects, only the words.
        if any(words in str(error) for words in _FULL):
            return Server(data_dir=place.data_dir, pid=noted.pid, socket_dir=noted.socket_dir)
        return None
    if row is None or Path(str(row[0])).resolve() != place.data_dir:
        return None
    return Server(data_dir=place.data_dir, pid=noted.pid, socket_dir=noted.socket_dir, has_database=bool(row[1]))


def present(place: Place) -> list[int]:
    """Processes that are the server of the data folder or are about to be, whether they answer or not."""
    noted = place.noted()
    known = [noted.pid] if noted is not None and process.serves(noted.pid, place.data_dir) else []
    return known or process.on_the_way(place.data_dir)


def opened(sockets: Path) -> psycopg.Connection[tuple[object, ...]]:
    """A connection for the lifecycle's own questions."""
    return psycopg.connect(
        address.of_socket(sockets, name="postgres"),
        autocommit=True,
        connect_timeout=5,
        application_name="ukai lifecycle",
    )


def halt(place: Place, *, timeout_s: float = STOP_S) -> bool:
    """End the server; the caller holds the lock. False when none ran."""
    wait(lambda: place.noted() or not present(place), timeout_s)  # one that was only just called has no pid file yet
    noted = place.noted()
    if noted is None or not process.serves(noted.pid, place.data_dir):
        place.remove_sockets()
        return False
    # "fast": sessions end and a checkpoint is written; "immediate", and a kill: the next start recovers from the log.
    for sign, patience in ((signal.SIGINT, timeout_s), (signal.SIGQUIT, 5.0), (signal.SIGKILL, 5.0)):
        _signal([noted.pid], sign)
        if wait(lambda: not process.is_alive(noted.pid), patience):
            clear(place)
            place.remove_sockets(noted.socket_dir)
            return True
    raise EmbeddedBroken(f"the server (pid {noted.pid}) does not end", log_file=place.log_file, log=place.log_end())


def clear(place: Place, *, patience_s: float = START_S) -> None:
    """After a kill: end the children that have not noticed yet, and remove a pid file PostgreSQL would believe."""
    if called := present(place):
        # Alive, and no connection: it starts (perhaps its starter was killed), recovers or stops.
        if not wait(lambda: running(place) or not present(place), patience_s):
            raise EmbeddedBroken(
                f"the server (pid {called[0]}) runs and does not answer",
                log_file=place.log_file,
                log=place.log_end(),
                hint="`ukai db stop` ends it",
            )
        if present(place):
            return
    for sign in (None, signal.SIGQUIT, signal.SIGKILL):
        if sign is not None:
            _signal(process.left_behind(place.data_dir), sign)
        if wait(lambda: not process.left_behind(place.data_dir), 3.0):
            break
    # PostgreSQL takes a zombie, or a stranger with the same pid, for a server that still runs, and would refuse.
    place.pid_file.unlink(missing_ok=True)


def wait(done: Callable[[], object], timeout_s: float, *, poll_s: float = _POLL_S) -> object:
    """What `done` gives as soon as it is truthy; None after `timeout_s`."""
    end = time.monotonic() + timeout_s
    while True:
        if value := done():
            return value
        if time.monotonic() > end:
            return None
        time.sleep(poll_s)


def _signal(pids: Iterable[int], sign: signal.Signals) -> None:
    for pid in pids:
        try:
            os.kill(pid, sign)
        except ProcessLookupError:
            continue  # it went by itself
