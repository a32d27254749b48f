"""Is that process alive, and is it the server of this data folder?

A pid alone proves nothing: it may belong to a zombie (where the container's first process never reaps) or to somebody
else who got the number after a reboot.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

_PROC = Path("/proc")


def is_alive(pid: int) -> bool:
    """It exists and is no zombie."""
    state = _state(pid)
    return state is not None and state not in ("Z", "X")


def serves(pid: int, data_dir: Path) -> bool:
    """The process `pid` is alive and is a PostgreSQL that works in `data_dir`."""
    if not is_alive(pid):
        return False
    if not _has_proc():
        return "postgres" in _ps(pid, "command=")
    return _works_in(pid, data_dir)


def left_behind(data_dir: Path) -> list[int]:
    """Processes of PostgreSQL that still work in `data_dir`: after a kill its children need a moment to notice.

    Those whose folder was removed under them count, too: within a minute they notice and end, and take the socket of
    the next server with them, which has the same name.
    """
    if not _has_proc():
        return []
    removed = data_dir.with_name(f"{data_dir.name} (deleted)")  # as Linux tells it
    folders = (data_dir,) if removed.exists() else (data_dir, removed)
    return [pid for pid in _pids() if is_alive(pid) and any(_works_in(pid, folder) for folder in folders)]


def on_the_way(data_dir: Path) -> list[int]:
    """Servers of `data_dir` that were called, in whatever stage: also the one whose starter was killed just now.

    Such a one has no pid file yet. Its command line names the folder from the shell that forks it onwards, and until
    that shell begins it holds the starter's lock.
    """
    if not _has_proc():
        return [pid for pid, command in _commands() if f" -D {data_dir}" in command and is_alive(pid)]
    return [pid for pid in _pids() if _was_called_for(pid, data_dir) and is_alive(pid)]


def _was_called_for(pid: int, data_dir: Path) -> bool:
    here = _PROC / str(pid)
    try:
        words = (here / "cmdline").read_bytes().split(b"\0")
        at = words.index(b"-D")
        return words[at + 1] == os.fsencode(data_dir) and here.stat().st_uid in {os.geteuid(), data_dir.stat().st_uid}
    except (OSError, ValueError, IndexError):
        return False


def _works_in(pid: int, data_dir: Path) -> bool:
    here = _PROC / str(pid)
    try:
        if "postgres" not in (here / "comm").read_text():
            return False
        try:
            # PostgreSQL makes its data folder its working folder and never leaves it.
            return (here / "cwd").readlink() == data_dir
        except PermissionError:  # root without CAP_SYS_PTRACE looks at another user's server
            return os.fsencode(data_dir) in (here / "cmdline").read_bytes().split(b"\0")
    except OSError:
        return False


def _has_proc() -> bool:
    return (_PROC / str(os.getpid()) / "stat").exists()


def _pids() -> Iterator[int]:
    return (int(p.name) for p in _PROC.iterdir() if p.name.isdigit())


def _state(pid: int) -> str | None:
    if not _has_proc():
        return _ps(pid, "stat=")[:1] or None
    try:
        # The name in the second field may hold spaces and brackets; the state follows the last bracket.
        return (_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return None


def _commands() -> Iterator[tuple[int, str]]:
    done = subprocess.run(["/bin/ps", "-axww", "-o", "pid=,command="], capture_output=True, text=True, check=False)
    for line in done.stdout.splitlines():
        pid, _, command = line.strip().partition(" ")
        if pid.isdigit():
            yield int(pid), command


def _ps(pid: int, field: str) -> str:
    done = subprocess.run(  # noqa: S603
        ["/bin/ps", "-o", field, "-p", str(pid)], capture_output=True, text=True, check=False
    )
    return done.stdout.strip()
