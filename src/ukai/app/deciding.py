"""Why a decision fell, asked of a server: `ukai access explain` with the record read from the store (P3.3, X4)."""

from __future__ import annotations

from typing import Any

from ukai.access import Record
from ukai.app import access as explaining
from ukai.app.desk import Desk
from ukai.app.engine import Engine
from ukai.context import rows
from ukai.context.clause import CompiledScope
from ukai.kit import handle


def overall(opened: Engine, desk: Desk, principal: str) -> dict[str, Any]:
    """The same without an agent: all that somebody may do. Raises NoRight."""
    desk.standing.need("audit", "see why decisions fall")
    return explaining.overall_of(opened.loaded, principal)


async def explained(opened: Engine, desk: Desk, asked: explaining.Asked) -> dict[str, Any]:
    """The document of the command; only for whoever holds `audit`, since it tells what others may not see.

    Raises NoRight, UnknownAgent, NotServed, NoRecord.
    """
    desk.standing.need("audit", "see why decisions fall")
    opened.agent(asked.agent)
    record = await _record(opened, desk, asked.record)
    return explaining.of(opened.catalog, asked, load=lambda _: record).as_json()


async def _record(opened: Engine, desk: Desk, name: str | None) -> Record | None:
    parsed = handle.parse(name) if name else None
    if parsed is None:
        return None
    edges = tuple(e for domain in opened.catalog.domains.values() for e in domain.edges)
    owning = CompiledScope(rights=desk.rights, edges=edges, scopes=()).owning
    async with opened.db.snapshot() as tx:
        node = (await rows.by_handle(tx, [parsed.whole])).get(str(parsed.whole))
        return None if node is None else (await rows.records(tx, [node], owning))[node.id]
