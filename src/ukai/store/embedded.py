"""The PostgreSQL that Ukai starts by itself: one server for a data folder, joined, restarted, and stopped when idle.

Beside the data folder `postgres` lie `postgres.lock` (held while somebody changes the server's state), `postgres.log`,
`postgres.used` (its time is the last join) and `postgres.watch` (held by the watcher, `ukai.store.watcher`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import psycopg
from psycopg import errors

from ukai.store import account, address, binaries, launch, making, server
from ukai.store.failures import DatabaseAway, EmbeddedUnfit
from ukai.store.folder import Place
from ukai.store.server import Server

IDLE_MINUTES = 15.0
IDLE_VARIABLE = "UKAI_DATABASE_IDLE_MINUTES"


@dataclass(frozen=True, kw_only=True)
class Options:
    """What a caller may choose; the defaults are meant for people."""

    idle_minutes: float | None = None
    """None: `UKAI_DATABASE_IDLE_MINUTES`, or 15. 0: never stops by itself. The one who starts the server decides."""
    settings: Mapping[str, str] = field(default_factory=dict[str, str])
    """More settings of PostgreSQL, for tests (`fsync`)."""
    found: Callable[[], list[binaries.Binaries]] = binaries.every
    unshare: tuple[str, ...] = account.UNSHARE
    start_s: float = server.START_S


def ensure(data_dir: Path, options: Options | None = None) -> str:
    """Start the server of `data_dir`, or join the one that runs, and give the URL of Ukai's database on it.

    Blocks (up to a second for a start, 60 s for a recovery); from a loop use `asyncio.to_thread`. Any number of
    processes may call it at once. Raises EmbeddedUnfit when this machine cannot run one, EmbeddedBroken with the
    log's end when it did not start, DatabaseBusy when somebody else is at it for longer than a start may take.
    """
    options = options or Options()
    idle = idle_minutes(options)
    place = Place(data_dir)
    place.prepare()
    with place.locked(timeout_s=options.start_s):
        place.touch()
        alive = server.running(place)
        if alive is None:
            server.clear(place, patience_s=options.start_s)
            alive = server.running(place)
        launch.watcher(place, idle_minutes=idle)
        if alive is None:
            alive = _started(place, options)
        _create_database(alive)
        return alive.url


def running(data_dir: Path) -> Server | None:
    """The live server of `data_dir`; nothing is started."""
    return server.running(Place(data_dir))


def is_watched(data_dir: Path) -> bool:
    """Somebody will stop the server when it is idle."""
    return Place(data_dir).is_watched()


def stop(data_dir: Path, *, timeout_s: float = server.STOP_S) -> bool:
    """Stop the server: transactions under way are rolled back. False when none ran."""
    place = Place(data_dir)
    if not place.data_dir.is_dir():
        return False
    with place.locked(timeout_s=timeout_s + server.START_S):
        return server.halt(place, timeout_s=timeout_s)


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


def _started(place: Place, options: Options) -> Server:
    place.remove_halves()
    major = place.major()
    chosen = binaries.choose(options.found(), major=major)
    if major is None:
        making.make(place, chosen, unshare=options.unshare, synced=options.settings.get("fsync") != "off")
    return launch.postgres(place, chosen, settings=options.settings, unshare=options.unshare, start_s=options.start_s)


def _create_database(alive: Server) -> None:
    if alive.has_database:
        return
    try:
        with server.opened(alive.socket_dir) as connection:
            connection.execute(f'create database "{address.NAME}"'.encode())
    except (errors.DuplicateDatabase, errors.UniqueViolation):
        return  # the second: whoever was killed had sent it, too, and the server was still at it
    except psycopg.OperationalError as error:
        raise DatabaseAway(f"the embedded server went away while its database was made: {error}") from error
