"""The only place where candidates become bodies: read in the snapshot of the call, under the caller's rights.

Two checks that do not rely on each other: the store joins the scope's clause to the bodies, and what it hands out is
decided once more in Python, field by field. What strategies found is a proposal; this is the authority.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

from ukai import store
from ukai.context import counted, passages, reading, rows, view
from ukai.context.clause import CompiledScope
from ukai.context.item import Item
from ukai.context.strategies.asked import Candidate
from ukai.graph import schema


async def fetch(
    tx: store.Transaction, scope: CompiledScope, library: reading.Library, candidates: Sequence[Candidate]
) -> list[Item]:
    """The candidates as items, in their order; what may not be read (any more) is absent, as if never found."""
    nodes = await stored(tx, scope, sorted({c.node for c in candidates}))
    shown = await let_out(tx, scope, library, nodes)
    made: dict[UUID, dict[str, Item]] = {}
    items: list[Item] = []
    for c in candidates:
        record = shown.get(c.node)
        if record is None:
            continue
        if c.node not in made:
            made[c.node] = {i.id: i for i in items_of(record, library.types.get(record.record.type))}
        item = made[c.node].get(c.id)
        if item is not None:
            items.append(_scored(item, c))
    return items


async def stored(tx: store.Transaction, scope: CompiledScope, nodes: Sequence[UUID]) -> list[rows.Node]:
    """The store's check: of these nodes the living ones for which the scope's clause holds in this snapshot."""
    return await rows.readable_nodes(tx, scope.clause, nodes)


async def let_out(
    tx: store.Transaction, scope: CompiledScope, library: reading.Library, nodes: Sequence[rows.Node]
) -> Mapping[UUID, reading.Shown]:
    """The check on the way out: whatever brought a node here, its scope and its fields are decided again."""
    return await reading.shown_of(tx, library, scope, nodes)


def items_of(shown: reading.Shown, kind: schema.Type | None) -> Iterator[Item]:
    """A record as the item of its own, then its parts in order."""
    record = shown.record
    parts = passages.of(kind, record.fields) if kind else []
    own = [p for p in parts if not view.is_a_part(kind, p.field, p.part)]
    titled = counted.title_field(record.fields)
    spoken = {p.field for p in parts} | {titled} | reading.about_access(kind)
    fields: dict[str, Any] = {k: v for k, v in record.fields.items() if k not in spoken and v not in (None, "", [])}
    schema_hash = kind.content_hash if kind else ""
    yield Item(
        id=record.handle,
        path=record.path or "",
        kind=record.type,
        title=shown.title,
        text="\n".join(p.text for p in own if p.field != titled),
        fields=fields,
        schema_hash=schema_hash,
        at=shown.at,
    )
    for p in parts:
        if view.is_a_part(kind, p.field, p.part):
            yield Item(
                id=f"{record.handle}/{view.part_of(p.part)}",
                path=record.path or "",
                kind=f"{record.type}/{p.part.partition('/')[0]}",
                parent=record.handle,
                text=p.text,
                lead=p.lead,
                schema_hash=schema_hash,
                at=p.at or shown.at,
                order=p.ordinal,
            )


def _scored(item: Item, c: Candidate) -> Item:
    return replace(item, score=c.score, why=c.why, pinned=c.pinned)
