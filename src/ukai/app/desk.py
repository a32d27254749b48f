"""A workspace opened for somebody who proposes and reads back by hand: its database, and who they are."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from ukai import access, store
from ukai.app import db, identity, loading, workspace
from ukai.graph.schema import Domain
from ukai.kit.clock import Clock, SystemClock


@dataclass(frozen=True, kw_only=True)
class Desk:
    """Everything a door needs. Held open by a server, opened for one call by the command line."""

    root: Path
    db: store.Database
    standing: identity.Standing
    clock: Clock
    domains: Mapping[str, Domain]
    """As the files of the workspace say; the store's are those that were uploaded."""

    @property
    def rights(self) -> access.Rights:
        """What whoever stands here may read and write."""
        return self.standing.rights

    async def is_alive(self) -> bool:
        """Whether the database answers. Raises DatabaseAway, DatabaseBusy when it does not."""
        async with self.db.transaction() as tx:
            return await tx.value("select true")


@asynccontextmanager
async def opened(
    path: Path, *, named: str | None = None, channel: str = "cli", clock: Clock | None = None, max_size: int = 8
) -> AsyncGenerator[Desk]:
    """The workspace at or above `path`, as its local principal or as `named`.

    Raises NoWorkspace, BrokenConfiguration, NobodyActs, MayNotImpersonate, and what the database raises.
    """
    root = workspace.locate(path)
    catalog = loading.whole(root).catalog
    is_local = db.site(root).kind == "embedded"
    local = catalog.settings.local_principal
    standing = identity.acting(catalog.access, local, named, is_local=is_local, channel=channel)
    async with db.opened(root, max_size=max_size) as database:
        yield Desk(
            root=root,
            db=database,
            standing=standing,
            clock=clock or SystemClock(),
            domains=catalog.domains,
        )
