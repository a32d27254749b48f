"""The files around an embedded server: its data folder, lock, log and socket, and what its pid file says."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from ukai.store.failures import DatabaseBusy, EmbeddedUnfit

SOCKET_PATH_LIMIT = 103
"""Bytes: 107 on Linux, 103 on macOS, the ending zero left out."""
_SOCKET = ".s.PGSQL.5432"
_LOG_LIMIT = 4 << 20
_LOG_END = 15
"""Lines of the log that an error shows."""


_REFUSALS = (
    errno.EACCES,
    errno.EPERM,
    errno.EROFS,
    errno.ENOSPC,
    errno.EDQUOT,
    errno.ENOTDIR,
    errno.EEXIST,
    errno.ENAMETOOLONG,
)


@dataclass(frozen=True, kw_only=True)
class Noted:
    """What `postmaster.pid` says; it is believed only after a look at the process."""

    pid: int
    socket_dir: Path | None
    """None: the server has not come that far."""


class Place:
    """One data folder and its neighbours."""

    def __init__(self, data_dir: Path) -> None:
        self.data_dir = data_dir.resolve()
        self.pid_file = self.data_dir / "postmaster.pid"
        self.log_file = self._beside("log")
        self.lock_file = self._beside("lock")
        self.watch_file = self._beside("watch")
        self.used_file = self._beside("used")
        self.lock_fds: tuple[int, ...] = ()

    def _beside(self, ending: str) -> Path:
        return self.data_dir.with_name(f"{self.data_dir.name}.{ending}")

    def prepare(self) -> None:
        """The folder that holds all of it, for its owner only."""
        with explained(self.data_dir.parent):
            self.data_dir.parent.mkdir(mode=0o700, parents=True, exist_ok=True)

    @contextmanager
    def locked(self, *, timeout_s: float) -> Generator[None]:
        """Nobody else changes the state of this server."""
        with explained(self.lock_file):
            fd = os.open(self.lock_file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            end = time.monotonic() + timeout_s
            while not held(fd):
                if time.monotonic() > end:
                    raise DatabaseBusy(
                        f"another process has been starting or stopping the server for {timeout_s:.0f} s",
                        hint=f"see who holds {self.lock_file}, and try again",
                    )
                time.sleep(0.02)
            self.lock_fds = (fd,)
            yield
        finally:
            self.lock_fds = ()
            os.close(fd)

    def is_watched(self) -> bool:
        """A watcher lives: it holds its file's lock, which no kill leaves behind."""
        try:
            fd = os.open(self.watch_file, os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            return False
        try:
            return not held(fd)
        finally:
            os.close(fd)

    def touch(self) -> None:
        """Somebody uses the server now."""
        with explained(self.used_file):
            self.used_file.touch(mode=0o600)
            os.utime(self.used_file)

    def used_at(self) -> float:
        """Seconds since the epoch of the last join; 0 when there was none."""
        try:
            return self.used_file.stat().st_mtime
        except FileNotFoundError:
            return 0.0

    def noted(self) -> Noted | None:
        """`postmaster.pid`; the server writes it piece by piece while it starts, and the socket comes late."""
        try:
            lines = [line.strip() for line in self.pid_file.read_text("utf-8", "replace").split("\n")]
        except (FileNotFoundError, NotADirectoryError):
            return None
        if not lines[0].isdigit():
            return None
        has_socket = len(lines) > 5 and lines[4].startswith("/")  # a line that is not the last one is whole
        return Noted(pid=int(lines[0]), socket_dir=Path(lines[4]) if has_socket else None)

    def major(self) -> int | None:
        """The PostgreSQL that made the data folder; None when there is no folder."""
        try:
            return int((self.data_dir / "PG_VERSION").read_text("ascii").split(".")[0])
        except (FileNotFoundError, NotADirectoryError, ValueError):
            if self.data_dir.exists() and (not self.data_dir.is_dir() or any(self.data_dir.iterdir())):
                raise EmbeddedUnfit(
                    f"{self.data_dir} exists and is no data folder of PostgreSQL", hint="move it away"
                ) from None
            return None

    def remove_halves(self) -> None:
        """Folders of an initdb that was killed; the caller holds the lock, so nobody works in them."""
        for half in self.data_dir.parent.glob(f"{self.data_dir.name}.new-*"):
            shutil.rmtree(half, ignore_errors=True)

    def socket_dir(self) -> Path:
        """A short private folder for the socket: the same one at each start unless somebody else sits there.

        The data folder exists. No server of it lives, so a socket in there is a dead one's and goes.
        """
        owners = {os.geteuid(), self.data_dir.stat().st_uid}
        for path in self._socket_dirs():
            if len(os.fsencode(path / f"{_SOCKET}.lock")) > SOCKET_PATH_LIMIT:
                continue
            with suppress(PermissionError, FileNotFoundError):  # no such root here: the next one
                if not _is_private(path, owners):
                    return Path(tempfile.mkdtemp(prefix="ukai-", dir=path.parent))
                _remove_files(path)
                return path
        raise EmbeddedUnfit(
            f"no folder for the socket: its path holds at most {SOCKET_PATH_LIMIT} bytes",
            hint="set TMPDIR to a short path",
        )

    def remove_sockets(self, of_ours: Path | None = None) -> None:
        """The socket's folder of a server that ended: the usual one, and `of_ours` where that server had another."""
        for path in {*self._socket_dirs(), *([of_ours] if of_ours else [])}:
            if path.name.startswith("ukai-"):
                with suppress(OSError):  # somebody else's, or not empty: nothing depends on it
                    _remove_files(path)
                    path.rmdir()

    def _socket_dirs(self) -> list[Path]:
        name = f"ukai-{os.geteuid()}-{hashlib.sha256(os.fsencode(self.data_dir)).hexdigest()[:16]}"
        roots = (Path(tempfile.gettempdir()), Path("/tmp"), self.data_dir.parent)  # noqa: S108 - proven to be ours
        return [root / name for root in roots]

    def shorten_log(self) -> None:
        """Start the log anew once it is long; one older file is kept."""
        if self.log_file.exists() and self.log_file.stat().st_size > _LOG_LIMIT:
            self.log_file.replace(self._beside("log.1"))

    def log_end(self) -> str:
        """The last lines the server wrote."""
        try:
            with self.log_file.open("rb") as log:
                log.seek(max(0, self.log_file.stat().st_size - 8192))
                return last_lines(log.read().decode("utf-8", "replace"))
        except OSError:
            return ""


def held(fd: int) -> bool:
    """Take the lock of an open file if it is free."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def last_lines(text: str) -> str:
    """The end of a program's words."""
    return "\n".join(text.strip().splitlines()[-_LOG_END:])


def _is_private(path: Path, owners: set[int]) -> bool:
    """It is a folder of ours that nobody else enters; made when missing."""
    with suppress(FileExistsError):
        path.mkdir(mode=0o700)
    found = path.lstat()
    return stat.S_ISDIR(found.st_mode) and found.st_uid in owners and not stat.S_IMODE(found.st_mode) & 0o077


def _remove_files(sockets: Path) -> None:
    for name in (_SOCKET, f"{_SOCKET}.lock"):
        (sockets / name).unlink(missing_ok=True)


@contextmanager
def explained(path: Path) -> Generator[None]:
    """What the file system refuses, as something an operator can act on."""
    try:
        yield
    except OSError as error:
        if error.errno not in _REFUSALS:
            raise
        raise EmbeddedUnfit(
            f"the embedded store cannot write {path}: {os.strerror(error.errno)}",
            hint="make the folder writable, free some space, or set UKAI_DATABASE_URL",
        ) from error
