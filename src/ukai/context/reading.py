"""Reading under the caller's rights: search, one record, a list, what is related (P3.1, P4.7).

Everything is read in one snapshot, checked in the store by the rights' clause, and once more in Python on the way out.
What a reader may not see is as if it were not there: the same answer, the same words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ukai import store
from ukai.access import Record
from ukai.context import passages, rows
from ukai.context import search as searching
from ukai.context.search import Reader
from ukai.graph import schema
from ukai.kit import handle
from ukai.llm.cache import Cache

MOST = 50
"""Items of one result; more are asked for by the cursor."""
NAMES = ("name", "title", "subject")
"""Fields by which a record is called, in this order; else its first searched field."""


@dataclass(frozen=True, kw_only=True)
class Item:
    """One thing that was read, as the model gets it and as the record keeps it."""

    handle: str
    title: str = ""
    """What it is called, and what it belongs to as far as the reader may see that."""
    text: str = ""
    fields: Mapping[str, Any] | None = None
    at: datetime | None = None
    """When its source last said so: the age of what it states (P4.7)."""
    more: bool = False

    def as_json(self) -> dict[str, Any]:
        """Plain JSON, what is empty left out."""
        rows: dict[str, Any] = {"handle": self.handle, "title": self.title, "text": self.text}
        result = {k: v for k, v in rows.items() if v}
        if self.fields:
            result["fields"] = dict(self.fields)
        if self.at:
            result["at"] = self.at.date().isoformat()
        return result | ({"truncated": True} if self.more else {})


@dataclass(frozen=True, kw_only=True)
class Library:
    """What reading needs to know of the graph's schemas, and the model that embeds questions."""

    types: Mapping[str, schema.Type]
    cache: Cache | None = None


async def search(
    tx: store.Transaction,
    library: Library,
    reader: Reader,
    *,
    query: str,
    type: str | None = None,
    near: str = "",
    limit: int = 10,
) -> list[Item]:
    """The passages that answer `query` best."""
    hits = await searching.search(
        tx,
        query,
        reader=reader,
        cache=library.cache,
        limit=max(1, min(limit, MOST)),
        types=None if type is None else [type],
        near=near,
    )
    nodes = await rows.nodes(tx, sorted({h.found.node for h in hits}))
    shown = {n.id: s for n, s in zip(nodes, await _shown(tx, library, reader, nodes), strict=True)}
    items: list[Item] = []
    for hit in hits:
        seen = shown.get(hit.found.node)
        if seen is not None and hit.found.field in seen.record.fields:
            lead = f"{hit.found.lead}: " if hit.found.lead else ""
            items.append(
                Item(handle=hit.handle, title=seen.title, text=lead + hit.found.text, at=hit.found.at or seen.at)
            )
    return items


async def read(tx: store.Transaction, library: Library, reader: Reader, *, name: handle.Handle) -> Item | None:
    """One record, or one part of it. None: there is none, or none for this reader."""
    nodes = await rows.by_handle(tx, [name])
    node = nodes.get(str(name.whole))
    if node is None:
        return None
    found = (await _shown(tx, library, reader, [node]))[0]
    if found is None:
        return None
    kind = library.types.get(node.type)
    parts = passages.of(kind, found.record.fields) if kind else []
    if not name.part:
        return _whole(found, parts, kind)
    wanted = "/".join(name.part)
    part = next((p for p in parts if p.part == wanted), None)
    if part is not None:
        lead = f"{part.lead}: " if part.lead else ""
        return Item(handle=str(name), title=found.title, text=lead + part.text, at=part.at or found.at)
    if len(name.part) == 1 and name.part[0] in found.record.fields:
        value = {name.part[0]: found.record.fields[name.part[0]]}
        return Item(handle=str(name), title=found.title, fields=value, at=found.at)
    return None


async def listed(
    tx: store.Transaction,
    library: Library,
    reader: Reader,
    *,
    type: str,
    where: Mapping[str, Any] | None = None,
    after: str = "",
    limit: int = 20,
) -> list[Item]:
    """Records of a type whose fields hold `where`, in the order of their keys, behind the key `after`.

    A field that the reader may not read matches nothing, so that no list tells of its value.
    """
    asked = dict(where or {})
    items: list[Item] = []
    wanted = max(1, min(limit, MOST))
    while len(items) < wanted:
        nodes = await rows.listed(tx, reader.clause, type=type, limit=MOST, after=after, where=asked)
        for found in await _shown(tx, library, reader, nodes):
            if found is not None and asked.keys() <= found.record.fields.keys():
                items.append(_brief(found, library))
        if len(nodes) < MOST:
            break
        after = nodes[-1].key
    return items[:wanted]


async def related(
    tx: store.Transaction,
    library: Library,
    reader: Reader,
    *,
    name: handle.Handle,
    edges: Sequence[str] | None = None,
    limit: int = 20,
) -> list[Item]:
    """What is connected with a record that the reader may see, by edge."""
    nodes = await rows.by_handle(tx, [name.whole])
    node = nodes.get(str(name.whole))
    if node is None or (await _shown(tx, library, reader, [node]))[0] is None:
        return []
    near = await rows.neighbours(tx, reader.clause, of=node.id, edges=edges, limit=max(1, min(limit, MOST)))
    shown = await _shown(tx, library, reader, [n for _, _, n in near])
    items: list[Item] = []
    for (edge, way, _), found in zip(near, shown, strict=True):
        if found is not None:
            brief = _brief(found, library)
            items.append(
                Item(
                    handle=brief.handle,
                    title=brief.title,
                    fields={"edge": edge if way == "out" else f"{edge} (of)", **(brief.fields or {})},
                    at=brief.at,
                )
            )
    return items


@dataclass(frozen=True, kw_only=True)
class _Shown:
    record: Record
    title: str
    at: datetime | None


async def _shown(
    tx: store.Transaction, library: Library, reader: Reader, nodes: Sequence[rows.Node]
) -> list[_Shown | None]:
    """Each node as the reader may see it, in the given order; the last check, on the bodies themselves."""
    records = await rows.records(tx, nodes, reader.owning)
    result: list[_Shown | None] = []
    for node in nodes:
        record = records[node.id]
        seen = reader.rights.visible(record)
        if seen is None:
            result.append(None)
            continue
        above = [o for owner in record.owners if (o := reader.rights.visible(owner)) is not None]
        names = [n for r in (seen, *above) if (n := _name(r, library.types.get(r.type)))]
        result.append(_Shown(record=seen, title=" · ".join(dict.fromkeys(names)), at=_said_at(node, seen)))
    return result


def _name(record: Record, kind: schema.Type | None) -> str:
    candidates = [*NAMES, *(kind.text[:1] if kind else ())]
    for field in candidates:
        value = record.fields.get(field)
        if isinstance(value, str) and value.strip():
            return " ".join(value.split())[:120]
    return record.key


def _said_at(node: rows.Node, seen: Record) -> datetime | None:
    for field in ("at", "date", "updated", "opened_at", "started_at"):
        if (moment := passages.instant(seen.fields.get(field))) is not None:
            return moment
    return passages.instant(node.provenance.get("at"))


def _whole(found: _Shown, parts: Sequence[passages.Passage], kind: schema.Type | None) -> Item:
    searched = {p.field for p in parts}
    fields = {k: v for k, v in found.record.fields.items() if k not in searched and v not in (None, "", [])}
    text = "\n".join((f"{p.lead}: " if p.lead else "") + p.text for p in parts)
    return Item(handle=found.record.handle, title=found.title, text=text, fields=fields, at=found.at)


def _brief(found: _Shown, library: Library) -> Item:
    kind = library.types.get(found.record.type)
    long = {f.key for f in kind.fields if f.kind in ("text", "json")} if kind else frozenset[str]()
    fields = {k: v for k, v in found.record.fields.items() if k not in long and v not in (None, "", [])}
    return Item(handle=found.record.handle, title=found.title, fields=fields, at=found.at)
