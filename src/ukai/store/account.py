"""Under whose name the server runs: PostgreSQL refuses to run as root.

No user is added and no folder of others is changed. As root a user namespace shows the server another uid while its
files stay root's; where namespaces are blocked, an existing user is taken if it can reach the folder as it is.
"""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ukai.store.failures import NAME_A_DATABASE, EmbeddedUnfit

_KEPT = ("PATH", "HOME", "TMPDIR", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")

UNSHARE = ("unshare", "-U", "--map-user=1000", "--map-group=1000", "--")


@dataclass(frozen=True, kw_only=True)
class Account:
    """How a program of PostgreSQL is called."""

    name: str
    prefix: tuple[str, ...] = ()
    uid: int | None = None
    gid: int | None = None

    @property
    def groups(self) -> list[int] | None:
        """No further groups where the user is switched; None leaves them alone."""
        return None if self.uid is None else []

    def own(self, folder: Path) -> None:
        """Give a folder of ours to it."""
        if self.uid is not None and self.gid is not None:
            os.chown(folder, self.uid, self.gid)

    def reaches(self, folder: Path, program: str) -> bool:
        """It can write into `folder` and run `program`, as the rights stand."""
        probe = 'cd "$1" && test -w . && "$2" --version'
        try:
            done = subprocess.run(  # noqa: S603
                [*self.prefix, "/bin/sh", "-c", probe, "sh", str(folder), program],
                capture_output=True,
                cwd="/",
                check=False,
                timeout=30,
                user=self.uid,
                group=self.gid,
                extra_groups=self.groups,
            )
        except (OSError, subprocess.SubprocessError):
            return False
        return done.returncode == 0


CALLER = Account(name="you")
"""As the caller is."""


def fit_for(folder: Path, program: str, *, uid: int | None = None, unshare: tuple[str, ...] = UNSHARE) -> Account:
    """The account that may run `program` on `folder`, which is ours and may be given to it.

    `uid` is the caller's (root is 0); `unshare` is the command that opens a user namespace.
    """
    uid = os.geteuid() if uid is None else uid
    if uid != 0:
        return CALLER
    owner, group = folder.stat().st_uid, folder.stat().st_gid
    tried: list[str] = []
    for account in _for_root(folder, unshare):
        tried.append(account.name)
        if account.uid is not None:
            os.chown(folder, account.uid, account.gid or 0)
        if account.reaches(folder, program):
            return account
        os.chown(folder, owner, group)
    raise EmbeddedUnfit(
        "the embedded PostgreSQL does not run as root, and no other way is open here: user namespaces are blocked "
        f"or cannot reach {folder} (tried: {', '.join(tried)})",
        hint=f"run Ukai as another user, allow user namespaces, or {NAME_A_DATABASE}",
    )


def environment() -> dict[str, str]:
    """What a process that outlives its starter may inherit: nobody's keys, and no PG* variable that would bend it."""
    return {"LC_ALL": "C"} | {name: os.environ[name] for name in _KEPT if name in os.environ}


def namespaces_are_open(unshare: tuple[str, ...] = UNSHARE) -> bool:
    """A user namespace can be opened."""
    try:
        return subprocess.run([*unshare, "/bin/true"], capture_output=True, check=False, timeout=30).returncode == 0  # noqa: S603
    except (OSError, subprocess.SubprocessError):
        return False


def _for_root(folder: Path, unshare: tuple[str, ...]) -> Iterator[Account]:
    owner = folder.stat()
    if owner.st_uid != 0:  # made earlier under this name
        yield Account(name=f"uid {owner.st_uid}", uid=owner.st_uid, gid=owner.st_gid)
        return
    if shutil.which(unshare[0]):
        yield Account(name="user namespace", prefix=unshare)
    if any(folder.iterdir()):
        return  # its files are root's, no other user can take them over
    parent = folder.parent.stat()
    if parent.st_uid != 0:
        yield Account(name=f"uid {parent.st_uid}, the folder's owner", uid=parent.st_uid, gid=parent.st_gid)
    for name in ("postgres", "nobody"):
        try:
            user = pwd.getpwnam(name)
        except KeyError:
            continue
        yield Account(name=f"user {name}", uid=user.pw_uid, gid=user.pw_gid)
