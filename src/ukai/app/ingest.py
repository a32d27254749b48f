"""`ukai ingest`: the connectors of a workspace pull, each as the service of its name; `ukai quarantine` beside it."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

from ukai import access, catalog, store
from ukai.app import db, identity, loading, workspace
from ukai.connect import definition, order, pull, report, rows
from ukai.connect.source import Site
from ukai.graph.schema import Type
from ukai.kit import suggest
from ukai.kit.clock import Clock, SystemClock
from ukai.kit.errors import PermanentError
from ukai.kit.finding import Finding, errors

CHANNEL = "ingest"
LISTED = 100
Progress = Callable[[str], None]


class UnknownConnector(PermanentError):
    """No connector has this name."""


class NotInQuarantine(PermanentError):
    """No row in quarantine has this id."""

    hint = "`ukai quarantine list` shows them"


class MayNotWrite(PermanentError):
    """No policy lets the connector write what it maps."""


@dataclass(frozen=True, kw_only=True)
class Intake:
    """A workspace whose connectors can run."""

    root: Path
    catalog: catalog.Catalog
    db: store.Database
    is_local: bool
    clock: Clock
    environ: Mapping[str, str]

    def names(self) -> list[str]:
        """Of all connectors."""
        return sorted(loading.connectors(self.catalog))

    def connector(self, name: str) -> tuple[definition.Connector | None, list[Finding]]:
        """The connector, or what is wrong with its file. Raises UnknownConnector."""
        documents = loading.connectors(self.catalog)
        if name not in documents:
            hint = suggest.hint_for(name, documents) if documents else "write one: docs/howto/connect-a-source.md"
            raise UnknownConnector(f"no connector is named {name!r}", hint=hint.capitalize())
        found, findings = loading.connector(documents[name], self.catalog)
        return (None if errors(findings) else found), findings

    def standing(self, name: str) -> identity.Standing:
        """As whom a connector acts. Raises MayNotImpersonate."""
        local = self.catalog.settings.local_principal
        return identity.acting(self.catalog.access, local, f"service:{name}", is_local=self.is_local, channel=CHANNEL)

    def bench(self, connector: definition.Connector, progress: Progress) -> pull.Bench:
        """What its pull works with. Raises MayNotWrite where no record at all could be written."""
        rights = self.standing(connector.name).rights
        type = self.catalog.domains[connector.file.into.domain].by_type[connector.file.into.node_type]
        _may_write(connector, type, rights)
        return pull.Bench(
            db=self.db,
            rights=rights,
            clock=self.clock,
            site=Site(root=self.root, environ=self.environ),
            progress=progress,
        )


def _may_write(connector: definition.Connector, type: Type, rights: access.Rights) -> None:
    edges = {link.edge for link in connector.file.edges if link.to is not None}
    fields = frozenset({*type.key, *connector.file.map.set} | edges)
    lacking = sorted(fields - rights.writable(type.type, fields).fields)
    if lacking:
        raise MayNotWrite(
            f"{connector.principal} may not write {', '.join(lacking)} of {type.type}",
            hint=f"allow it in access/policies.yaml: {{id: {connector.name}-writes, allow: write, records: "
            f"{{types: [{type.type}]}}, fields: [{', '.join(sorted(fields))}], to: [{connector.principal!r}]}}",
        )


@asynccontextmanager
async def opened(
    path: Path, *, clock: Clock | None = None, environ: Mapping[str, str] = os.environ
) -> AsyncGenerator[Intake]:
    """The workspace at or above `path`. Raises NoWorkspace, BrokenConfiguration, and what the database raises."""
    root = workspace.locate(path)
    known = loading.whole(root).catalog
    is_local = db.site(root).kind == "embedded"
    async with db.opened(root, max_size=4) as database:
        yield Intake(
            root=root, catalog=known, db=database, is_local=is_local, clock=clock or SystemClock(), environ=environ
        )


async def run(
    path: Path,
    names: Sequence[str],
    *,
    full: bool = False,
    dry_run: bool = False,
    progress: Progress = lambda _: None,
) -> tuple[list[report.Report], list[Finding]]:
    """Pull with the named connectors, one after the other; when none is named with all of the workspace, those first
    that others point at. The reports, and what is wrong with the files of those that could not run.
    """
    reports: list[report.Report] = []
    chosen: list[definition.Connector] = []
    findings: list[Finding] = []
    async with opened(path) as intake:
        for name in names or intake.names():
            connector, found = intake.connector(name)
            if connector is None:
                findings += found
            else:
                chosen.append(connector)
        for connector in chosen if names else order.ordered(chosen):
            bench = intake.bench(connector, progress)
            reports.append(await pull.run(bench, connector, full=full, dry_run=dry_run))
    return reports, findings


# Quarantine.


@dataclass(frozen=True, kw_only=True)
class Listed:
    """Rows in quarantine."""

    rows: tuple[rows.Held, ...]
    waiting: tuple[tuple[str, str, int], ...]
    """(connector, code, rows), of all."""


@dataclass(frozen=True, kw_only=True)
class Retried:
    """What a second try came to."""

    tried: int
    written: int
    unreadable: int
    """Text that is no row: only its source can be repaired."""


def as_json(held: rows.Held, *, whole: bool = False) -> dict[str, Any]:
    """A row in quarantine; `whole` adds what came and why it was refused."""
    found: dict[str, Any] = {
        "id": str(held.id),
        "connector": held.connector,
        "place": held.place,
        "key": held.key,
        "codes": list(held.codes),
        "message": held.findings[0]["message"] if held.findings else "",
        "tries": held.tries,
        "first_at": held.first_at.isoformat(),
        "last_at": held.last_at.isoformat(),
    }
    return found | ({"findings": list(held.findings), "source": held.source, "is_raw": held.is_raw} if whole else {})


async def listed(path: Path, *, connector: str = "", code: str = "", limit: int = LISTED) -> Listed:
    """What waits, of connectors that the caller may act as."""
    async with opened(path) as intake:
        names = [connector] if connector else intake.names()
        for name in names:
            intake.standing(name)
        async with intake.db.transaction() as tx:
            waiting = [w for w in await rows.waiting(tx, names) if code in ("", w[1])]
            found: list[rows.Held] = []
            for name in names:
                left = limit - len(found)
                found += await rows.held(tx, connector=name, code=code, after=None, limit=left) if left else []
    return Listed(rows=tuple(found), waiting=tuple(waiting))


async def show(path: Path, id: UUID) -> rows.Held:
    """One row with all of it. Raises NotInQuarantine."""
    async with opened(path) as intake:
        return await _one(intake, id)


async def retry(
    path: Path, *, connector: str = "", ids: Sequence[UUID] = (), progress: Progress = lambda _: None
) -> tuple[Retried, list[Finding]]:
    """Propose rows again under the connectors as they are now: those named, or all of a connector, or all. Those of
    connectors that others point at come first. Raises NotInQuarantine.
    """
    tried = written = unreadable = 0
    findings: list[Finding] = []
    async with opened(path) as intake:
        named = [await _one(intake, i) for i in ids]
        names = sorted({h.connector for h in named}) if ids else [connector] if connector else intake.names()
        chosen: list[definition.Connector] = []
        for name in names:
            found, more = intake.connector(name)
            if found is None:
                findings += more
            else:
                chosen.append(found)
        for found in order.ordered(chosen):
            bench, after = intake.bench(found, progress), None
            while True:
                some = [h for h in named if h.connector == found.name]
                if not ids:
                    async with intake.db.transaction() as tx:
                        some = await rows.held(tx, connector=found.name, after=after, limit=LISTED)
                if some:
                    tried, unreadable = tried + len(some), unreadable + sum(h.is_raw for h in some)
                    written += await pull.retry(bench, found, some)
                if ids or not some:
                    break
                after = some[-1].id
    return Retried(tried=tried, written=written, unreadable=unreadable), findings


async def drop(path: Path, *, connector: str = "", ids: Sequence[UUID] = ()) -> int:
    """Let go of the rows named, or of all of a connector; how many there were. Raises NotInQuarantine."""
    async with opened(path) as intake:
        chosen = [(await _one(intake, i)).id for i in ids]
        if connector:
            intake.standing(connector)
        async with intake.db.transaction() as tx:
            return await (rows.drop(tx, chosen) if ids else rows.drop_all(tx, connector))


async def _one(intake: Intake, id: UUID) -> rows.Held:
    async with intake.db.transaction() as tx:
        held = await rows.one(tx, id)
    if held is None:
        raise NotInQuarantine(f"no row in quarantine has the id {id}")
    intake.standing(held.connector)
    return held
