"""Short ways to undo, and the graph as it can be compared."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from tests.gate import world
from ukai import gate, store
from ukai.gate import history
from ukai.gate import undo as undoing
from ukai.gate.author import Author
from ukai.gate.rejection import Rejection

SOMETHING = UUID("0190aaaa-0000-7000-8000-000000000000")
"""An id that nothing has."""


async def town(db: store.Database, **values: Any) -> gate.Committed:
    """The domain, and one town that everybody may read."""
    await world.upload(db)
    return await world.done(db, world.town("a", readers=["public"], **values))


async def undo(
    db: store.Database, what: Any, *, author: Author = world.ANN, rights: Any = gate.ALL, dry_run: bool = False
) -> gate.Committed | gate.Rejected:
    return await undoing.undo(db, what, author=author, rights=rights, clock=world.CLOCK, dry_run=dry_run)


async def undone(db: store.Database, what: Any, **more: Any) -> gate.Committed:
    outcome = await undo(db, what, **more)
    assert isinstance(outcome, gate.Committed), [str(r) for r in outcome.rejections]
    return outcome


def rejections(outcome: gate.Committed | gate.Rejected) -> tuple[Rejection, ...]:
    assert isinstance(outcome, gate.Rejected), outcome
    return outcome.rejections


def codes(outcome: gate.Committed | gate.Rejected) -> list[str]:
    return [r.code for r in rejections(outcome)]


async def graph(db: store.Database) -> dict[str, list[Any]]:
    """Everything that stands, byte for byte: values and claims, not versions, writers and times."""
    async with db.transaction() as tx:
        return {
            "nodes": await tx.fetch(
                "select id, domain, type, key, path, readers, props::text, state from node where gone = 0 order by id"
            ),
            "edges": await tx.fetch(
                "select id, domain, type, src, dst, props::text from edge where gone = 0 order by id"
            ),
            "claims": await tx.fetch("select type, name, value, holder from claim order by 1, 2, 3"),
        }


async def props(db: store.Database, handle: str) -> dict[str, Any]:
    type, _, key = handle.partition("#")
    async with db.transaction() as tx:
        return await tx.value("select props from node where type = %s and key = %s and gone = 0", (type, key))


async def changes(db: store.Database, handle: str) -> list[history.Change]:
    async with db.transaction() as tx:
        return await history.of_node(tx, handle, rights=gate.ALL, edges=False)
