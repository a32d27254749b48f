"""Starting the server and its watcher: programs that outlive the one that starts them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType

from ukai.store import account, address, process, server
from ukai.store.binaries import Binaries
from ukai.store.failures import EmbeddedBroken
from ukai.store.folder import Place

SETTINGS: Mapping[str, str] = MappingProxyType(
    {
        "listen_addresses": "",
        "port": str(address.PORT),
        "unix_socket_permissions": "0700",
        "max_connections": "100",
        "timezone": "UTC",
        "log_timezone": "UTC",
        # Statements and values of failed statements stay out of the log: they would survive the erasure of a person.
        "log_min_messages": "log",
        "log_min_error_statement": "panic",
        "log_checkpoints": "off",
    }
)

WARMED: Mapping[str, str] = MappingProxyType({"shared_preload_libraries": "pg_prewarm", "pg_prewarm.autoprewarm": "on"})
"""What the buffers held comes back with the server, in the background: a nearest neighbour among a million vectors is
looked for on 28,000 pages here and there, and a question takes five times as long while they are read one by one."""


def postgres(
    place: Place, found: Binaries, *, settings: Mapping[str, str], unshare: tuple[str, ...], start_s: float
) -> server.Server:
    """Start the server of a data folder that exists and wait until it answers. The caller holds the lock."""
    program = found.program("postgres")
    runs_as = account.fit_for(place.data_dir, program, unshare=unshare)
    sockets = place.socket_dir()
    runs_as.own(sockets)
    given = {
        **SETTINGS,
        **(WARMED if found.is_warmed else {}),
        "shared_buffers": f"{buffers_mb()}MB",
        "unix_socket_directories": str(sockets),
        **settings,
    }
    place.shorten_log()
    pid = _detached(
        [*runs_as.prefix, program, "-D", str(place.data_dir), *(f"--{key}={value}" for key, value in given.items())],
        place,
        runs_as,
    )
    found_it = server.wait(lambda: server.running(place) or not process.is_alive(pid), start_s)
    if not isinstance(found_it, server.Server):
        if found_it is not None:
            place.remove_sockets(sockets)
        why = "does not answer" if found_it is None else "ended at once"
        raise EmbeddedBroken(f"the embedded PostgreSQL {why}", log_file=place.log_file, log=place.log_end())
    return found_it


def buffers_mb() -> int:
    """An eighth of the memory that this machine or its container has, from PostgreSQL's own 128 MB up to 4 GB.

    It is taken as it is used. What a nearest neighbour among a million vectors of 384 numbers touches is 2.1 GB.
    """
    return max(128, min(4_096, memory_mb() // 8))


def memory_mb(limit: Path = Path("/sys/fs/cgroup/memory.max")) -> int:
    """Of this machine, or less where a container has a `limit` (that of Linux's control groups, version 2)."""
    whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    with suppress(OSError, ValueError):  # no such file, or the word `max`: nothing but the machine limits it
        whole = min(whole, int(limit.read_text("ascii")))
    return whole // 2**20


def watcher(place: Place, *, idle_minutes: float) -> None:
    """Start the child that stops an idle server, unless one lives or none is wanted. The caller holds the lock.

    To be called before the server starts: a kill between the two then leaves a watcher that ends by itself.
    """
    if idle_minutes <= 0 or place.is_watched():
        return
    # Not with -m and the caller's folder on the path: a file of the user's could shadow a module.
    _detached([sys.executable, "-P", "-m", "ukai.store.watcher", str(place.data_dir), str(idle_minutes)], place)


def _detached(command: Iterable[str], place: Place, runs_as: account.Account = account.CALLER) -> int:
    """Start a program in the background and give its pid: with none of our streams, and no zombie of ours.

    A shell forks it and ends; what it inherits is the log and a short environment without anybody's keys.
    """
    place.log_file.touch(mode=0o600)
    with place.log_file.open("ab") as log:
        done = subprocess.run(  # noqa: S603
            ["/bin/sh", "-c", '"$@" >&2 & echo $!', "sh", *command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            start_new_session=True,
            cwd="/",
            env=account.environment(),
            text=True,
            check=True,
            user=runs_as.uid,
            group=runs_as.gid,
            extra_groups=runs_as.groups,
        )
    return int(done.stdout)
