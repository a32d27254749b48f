"""The PostgreSQL that Ukai starts by itself: one server for a data folder, found again, restarted, and stopped when idle.

Beside the data folder `postgres` lie `postgres.lock` (held while somebody changes the server's state), `postgres.log`,
`postgres.used` (its time is the last join) and `postgres.watch` (held by the watcher, `ukai.store.watcher`).
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

import psycopg

from ukai.store import account, address, binaries, folder, process
from ukai.store.failures import EmbeddedBroken, EmbeddedUnfit

IDLE_MINUTES = 15.0
IDLE_VARIABLE = "UKAI_DATABASE_IDLE_MINUTES"

START_S = 60.0
"""How long a start may take; recovery after a kill is part of it."""
STOP_S = 30.0
_POLL_S = 0.02

_SETTINGS: Mapping[str, str] = MappingProxyType(
    {
        "listen_addresses": "",
        "unix_socket_permissions": "0700",
        "max_connections": "100",
        "timezone": "UTC",
        "log_timezone": "UTC",
        # Statements and values of failed statements stay out of the log: they would survive `db erase`.
        "log_min_messages": "log",
        "log_min_error_statement": "panic",
        "log_checkpoints": "off",
    }
)


@dataclass(frozen=True, kw_only=True)
class Options:
    """What a caller may choose; the defaults are meant for people."""

    idle_minutes: float | None = None
    """None: `UKAI_DATABASE_IDLE_MINUTES`, or 15. 0: never stops by itself."""
    settings: Mapping[str, str] = field(default_factory=dict[str, str])
    """More settings of PostgreSQL, for tests (`fsync`)."""
    found: Callable[[], list[binaries.Binaries]] = binaries.every
    unshare: tuple[str, ...] = account.UNSHARE
    start_s: float = START_S


@dataclass(frozen=True, kw_only=True)
class Server:
    """A running server of a data folder."""

    data_dir: Path
    pid: int
    socket_dir: Path

    @property
    def url(self) -> str:
        """The address of Ukai's database on it."""
        return address.of_socket(self.socket_dir)


def ensure(data_dir: Path, options: Options | None = None) -> str:
    """Start the server of `data_dir`, or join the one that runs, and give its URL. Blocks; safe from any process.

    Raises EmbeddedUnfit when this machine cannot run one, EmbeddedBroken with the log's end when it did not start,
    DatabaseBusy when another process holds the lock for longer than a start may take.
    """
    options = options or Options()
    place = folder.Place(data_dir)
    place.prepare()
    with place.locked(timeout_s=options.start_s):
        place.touch()
        server = running(data_dir)
        if server is None:
            _clear(place)
            found = _made(place, options)
            _watch(place, options)
            server = _start(place, found, options)
        else:
            _watch(place, options)
        _create_database(server)
        return server.url


def running(data_dir: Path) -> Server | None:
    """The live server of `data_dir`, proven by a connection that names this very folder."""
    data_dir = data_dir.resolve()
    noted = folder.Place(data_dir).noted()
    if noted is None or not process.serves(noted.pid, data_dir):
        return None
    try:
        with _open(noted.socket_dir) as connection:
            row = connection.execute("show data_directory").fetchone()
    except psycopg.OperationalError:
        return None
    if row is None or Path(str(row[0])).resolve() != data_dir:
        return None
    return Server(data_dir=data_dir, pid=noted.pid, socket_dir=noted.socket_dir)


def stop(data_dir: Path, *, timeout_s: float = STOP_S) -> bool:
    """Stop the server: transactions under way are rolled back. False when none ran."""
    place = folder.Place(data_dir)
    if not place.data_dir.is_dir():
        return False
    with place.locked(timeout_s=timeout_s + START_S):
        return halt(place, timeout_s=timeout_s)


def halt(place: folder.Place, *, timeout_s: float = STOP_S) -> bool:
    """`stop` for one who holds the lock already."""
    noted = place.noted()
    if noted is None or not process.serves(noted.pid, place.data_dir):
        return False
    _signal([noted.pid], signal.SIGINT)  # "fast": sessions are ended, a checkpoint is written
    if not _wait(lambda: not process.is_alive(noted.pid), timeout_s):
        _signal([noted.pid], signal.SIGQUIT)  # "immediate": the next start recovers from the log
        if not _wait(lambda: not process.is_alive(noted.pid), timeout_s):
            raise EmbeddedBroken("the server does not stop", log_file=place.log_file, log=place.log_end())
    return True


def _clear(place: folder.Place) -> None:
    """What a killed server left: children that have not noticed yet, and a pid file PostgreSQL would believe."""
    noted = place.noted()
    if noted is not None and process.serves(noted.pid, place.data_dir):
        # Alive and no connection yet: it recovers, starts or stops. Wait for either.
        server = _wait(lambda: running(place.data_dir) or not process.is_alive(noted.pid), START_S)
        if not server:
            raise EmbeddedBroken(
                f"the server (pid {noted.pid}) runs and does not answer",
                log_file=place.log_file,
                log=place.log_end(),
                hint="`ukai db stop` ends it",
            )
    for sign in (None, signal.SIGQUIT, signal.SIGKILL):
        if sign is not None:
            _signal(process.left_behind(place.data_dir), sign)
        if _wait(lambda: not process.left_behind(place.data_dir), 3.0):
            break
    if noted is not None:
        # PostgreSQL takes a zombie, or a stranger with the same pid, for a server that still runs, and would refuse.
        place.pid_file.unlink(missing_ok=True)


def _made(place: folder.Place, options: Options) -> binaries.Binaries:
    """The data folder exists afterwards; made under another name first, so that a kill in the middle leaves no half."""
    place.remove_halves()
    major = place.major()
    found = binaries.choose(options.found(), major=major)
    if major is not None:
        return found
    half = Path(tempfile.mkdtemp(prefix=f"{place.data_dir.name}.new-", dir=place.data_dir.parent))
    runs_as = account.fit_for(half, found.program("postgres"), unshare=options.unshare)
    done = subprocess.run(  # noqa: S603
        [
            *runs_as.prefix,
            found.program("initdb"),
            f"--pgdata={half}",
            f"--username={address.OWNER}",
            "--encoding=UTF8",
            *_locale(found.major),
            "--auth-local=trust",
            "--auth-host=reject",
            "--no-sync",
            "--no-instructions",
        ],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd="/",
        check=False,
        # Whoever waits for the lock also waits for an initdb whose parent was killed.
        pass_fds=place.lock_fds,
        **runs_as.as_user,
    )
    if done.returncode:
        shutil.rmtree(half, ignore_errors=True)
        raise EmbeddedBroken(
            "a new data folder could not be made", log_file=place.log_file, log=folder.last_lines(done.stdout)
        )
    if options.settings.get("fsync") != "off":
        os.sync()
    half.rename(place.data_dir)
    return found


def _locale(major: int) -> tuple[str, ...]:
    """The same order of text on every machine: by code point."""
    if major >= 17:
        return "--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C"
    return "--locale-provider=libc", "--locale=C.UTF-8"


def _start(place: folder.Place, found: binaries.Binaries, options: Options) -> Server:
    program = found.program("postgres")
    runs_as = account.fit_for(place.data_dir, program, unshare=options.unshare)
    sockets = place.socket_dir()
    runs_as.own(sockets)
    settings = {**_SETTINGS, "unix_socket_directories": str(sockets), **options.settings}
    place.log_file.parent.mkdir(exist_ok=True)
    place.shorten_log()
    pid = _detached(
        [
            *runs_as.prefix,
            program,
            "-D",
            str(place.data_dir),
            *(a for k, v in settings.items() for a in ("-c", f"{k}={v}")),
        ],
        log_file=place.log_file,
        as_user=runs_as,
    )
    server = _wait(lambda: running(place.data_dir) or not process.is_alive(pid), options.start_s)
    if not isinstance(server, Server):
        why = "does not answer" if server is None else "ended at once"
        raise EmbeddedBroken(f"the embedded PostgreSQL {why}", log_file=place.log_file, log=place.log_end())
    return server


def _detached(command: Iterable[str], *, log_file: Path, as_user: account.Account | None = None) -> int:
    """Start a program that outlives us, with none of our streams, as nobody's zombie: a shell forks it and is gone."""
    runs_as = as_user or account.Account(name="you")
    with log_file.open("ab") as log:
        done = subprocess.run(  # noqa: S603
            ["/bin/sh", "-c", '"$@" >&2 & echo $!', "sh", *command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            start_new_session=True,
            cwd="/",
            text=True,
            check=True,
            **runs_as.as_user,
        )
    return int(done.stdout)


def _watch(place: folder.Place, options: Options) -> None:
    minutes = idle_minutes(options)
    if minutes <= 0 or place.is_watched():
        return
    # Started before the server and not after it: a kill between the two leaves a watcher that ends, not a server that stays.
    _detached(
        [sys.executable, "-P", "-m", "ukai.store.watcher", str(place.data_dir), str(minutes)], log_file=place.log_file
    )


def idle_minutes(options: Options) -> float:
    """Minutes without a connection after which the server is stopped."""
    if options.idle_minutes is not None:
        return options.idle_minutes
    given = os.environ.get(IDLE_VARIABLE, "")
    try:
        return float(given) if given else IDLE_MINUTES
    except ValueError:
        raise EmbeddedUnfit(
            f"{IDLE_VARIABLE} is {given!r}", hint="set it to a number of minutes, or 0 for never"
        ) from None


def _create_database(server: Server) -> None:
    with _open(server.socket_dir) as connection:
        if connection.execute("select 1 from pg_database where datname = %s", (address.NAME,)).fetchone() is None:
            connection.execute(f'create database "{address.NAME}"'.encode())


def _open(sockets: Path) -> psycopg.Connection[tuple[object, ...]]:
    return psycopg.connect(
        address.of_socket(sockets, name="postgres"),
        autocommit=True,
        connect_timeout=5,
        application_name="ukai lifecycle",
    )


def _signal(pids: Iterable[int], sign: signal.Signals) -> None:
    for pid in pids:
        try:
            os.kill(pid, sign)
        except ProcessLookupError:
            continue  # it went by itself


def _wait(done: Callable[[], object], timeout_s: float) -> object:
    """What `done` gives as soon as it is truthy; None after `timeout_s`."""
    end = time.monotonic() + timeout_s
    while True:
        if value := done():
            return value
        if time.monotonic() > end:
            return None
        time.sleep(_POLL_S)
