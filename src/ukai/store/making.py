"""A new data folder, made under another name first: a kill in the middle leaves no half."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from ukai.store import account, address, folder
from ukai.store.binaries import Binaries
from ukai.store.failures import EmbeddedBroken


def make(place: folder.Place, found: Binaries, *, unshare: tuple[str, ...], synced: bool = True) -> None:
    """Make the data folder with `initdb`. The caller holds the lock.

    `synced=False` leaves it to the kernel when it reaches the disk: only for folders nobody needs tomorrow.
    """
    parent = place.data_dir.parent
    with folder.explained(parent):
        half = Path(tempfile.mkdtemp(prefix=f"{place.data_dir.name}.new-", dir=parent))
    try:
        _initdb(place, found, half, unshare)
        with folder.explained(parent):
            if synced:
                os.sync()  # 0.7 s in all; initdb's own way takes 4 (each of its thousand files by itself)
            half.rename(place.data_dir)
            if synced:
                _sync_folder(parent)  # or the name that `remove_halves` deletes could come back after a power cut
    except BaseException:
        shutil.rmtree(half, ignore_errors=True)
        raise


def _initdb(place: folder.Place, found: Binaries, half: Path, unshare: tuple[str, ...]) -> None:
    runs_as = account.fit_for(half, found.program("postgres"), unshare=unshare)
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
            "--data-checksums",
            "--no-sync",
            "--no-instructions",
        ],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        cwd="/",
        env=account.environment(),
        check=False,
        # Whoever waits for the lock also waits for an initdb whose parent was killed.
        pass_fds=place.lock_fds,
        user=runs_as.uid,
        group=runs_as.gid,
        extra_groups=runs_as.groups,
    )
    if done.returncode:
        raise EmbeddedBroken(
            f"initdb could not make {place.data_dir}", log_file=half, log=folder.last_lines(done.stdout)
        )


def _locale(major: int) -> tuple[str, ...]:
    """The same order of text on every machine: by code point."""
    if major >= 17:
        return "--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C"
    return ("--locale=C.UTF-8",)


def _sync_folder(path: Path) -> None:
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
