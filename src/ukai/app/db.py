"""The workspace's database: where it is, and the verbs `ukai db start | stop | status | url | dump | restore`.

`opened(path)` is how every other verb gets its `store.Database`: started when it must be, migrated, healed when killed.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from ukai import store
from ukai.app import workspace
from ukai.kit import document
from ukai.kit.errors import PermanentError
from ukai.store import address, archive, binaries, embedded, migrations, vitals

VARIABLE = "UKAI_DATABASE_URL"
FOLDER = "postgres"


@dataclass(frozen=True, kw_only=True)
class Site:
    """Where the database is. Exactly one of `url` and `data_dir` is given."""

    named_by: str
    """What says so: `UKAI_DATABASE_URL`, `ukai.yaml`."""
    url: str | None = None
    data_dir: Path | None = None

    @property
    def kind(self) -> str:
        """`embedded` or `external`."""
        return "embedded" if self.data_dir else "external"

    def reach(self) -> str:
        """The URL; an embedded server runs afterwards."""
        return embedded.ensure(self.data_dir) if self.data_dir else str(self.url)

    async def address(self) -> str:
        """`reach` for a loop: asked for each new connection, so a killed embedded server comes back by itself."""
        return await asyncio.to_thread(self.reach)


def site(path: Path, *, environment: Mapping[str, str] = os.environ) -> Site:
    """The database of the workspace at or above `path`. Raises NoWorkspace, or PermanentError for an unset variable."""
    given = environment.get(VARIABLE, "").strip()
    if given:
        return Site(named_by=VARIABLE, url=given)
    root = workspace.locate(path)
    named = _named(root)
    if named == "embedded":
        return Site(named_by=workspace.MARKER, data_dir=root / workspace.LOCAL / FOLDER)
    given = environment.get(named, "").strip()
    if not given:
        raise PermanentError(
            f"{workspace.MARKER} says that the database's URL is in the variable {named!r}, which is not set",
            hint=f"set {named}, or write `database: embedded`",
        )
    return Site(named_by=named, url=given)


@asynccontextmanager
async def opened(path: Path, *, max_size: int = 8) -> AsyncGenerator[store.Database]:
    """The workspace's database, migrated, as an open pool."""
    here = site(path)
    await store.migrate(await here.address())
    async with store.connect(here.address if here.data_dir else str(here.url), max_size=max_size) as database:
        yield database


def start(path: Path) -> dict[str, Any]:
    """Start the embedded server if there is one to start, and bring the database to the newest migration."""
    here = site(path)
    url = here.reach()
    ran = migrations.run(url)
    return {"kind": here.kind, "named_by": here.named_by, "url": address.masked(url), "migrated": ran}


def stop(path: Path) -> dict[str, Any]:
    """Stop the embedded server."""
    here = site(path)
    if here.data_dir is None:
        raise PermanentError(f"the database is named by {here.named_by} and not ours to stop")
    return {"kind": here.kind, "stopped": embedded.stop(here.data_dir)}


def status(path: Path) -> dict[str, Any]:
    """What is known without starting anything."""
    here = site(path)
    known: dict[str, Any] = {"kind": here.kind, "named_by": here.named_by, "newest": migrations.newest()}
    url = here.url
    if here.data_dir:
        alive = embedded.running(here.data_dir)
        known |= {"data_dir": str(here.data_dir), "running": alive is not None}
        if alive is None:
            return known
        known |= {"pid": alive.pid, "watched": embedded.is_watched(here.data_dir)}
        url = alive.url
    looked = vitals.look(str(url))
    return known | {
        "running": True,
        "url": address.masked(str(url)),
        "server": looked.server,
        "vector": looked.vector,
        "migration": looked.migration,
        "clients": looked.clients,
        "size_bytes": looked.size_bytes,
        "leftovers": list(looked.leftovers),
    }


def url(path: Path) -> dict[str, str]:
    """The address with everything in it, because it was asked for; an embedded server runs afterwards."""
    return {"url": site(path).reach()}


def dump(path: Path, target: Path, *, forced: bool = False) -> dict[str, Any]:
    """The whole database into one file."""
    written = archive.dump(site(path).reach(), target, binaries.every(), forced=forced)
    return {"file": str(target), "bytes": written}


def restore(path: Path, source: Path, *, forced: bool = False) -> dict[str, Any]:
    """What `source` holds in the place of the database."""
    archive.restore(site(path).reach(), source, binaries.every(), forced=forced)
    return {"file": str(source), "migration": migrations.newest()}


def _named(root: Path) -> str:
    """The value of `database:` in ukai.yaml; `embedded` when there is none. The catalog judges the rest of the file."""
    name = workspace.MARKER
    found, findings = document.read((root / name).read_bytes(), name=name)
    if found is None:
        raise PermanentError(f"{name} cannot be read: {findings[0]}", hint="`ukai lint` shows all of it")
    data: Any = found.data
    keys = cast("dict[str, Any]", data) if isinstance(data, dict) else {}
    value = keys.get("database", "embedded")
    if not isinstance(value, str) or not value.isidentifier():
        raise PermanentError(
            f"{found.where('/database')}: `database` is neither `embedded` nor the name of a variable",
            hint="an address with its password does not belong into a file: put it into a variable and name that",
        )
    return value
