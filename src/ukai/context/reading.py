"""Reading under the caller's rights: search, one record, a list, what is related (P3.1, P4.7).

Everything is read in one snapshot, checked in the store by the rights' clause, and once more in Python on the way out.
What a reader may not see is as if it were not there: the same answer, the same words.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from ukai import store
from ukai.access import Record
from ukai.context import counted, passages, rows
from ukai.context import search as searching
from ukai.context.clause import CompiledScope
from ukai.context.reader import Reader
from ukai.context.render import templates
from ukai.graph import schema
from ukai.kit import figures, handle, light, words
from ukai.llm.cache import Cache

FIGURES = 4
"""Records of figures that a search adds."""
MOST = 50
"""Items of one result; more are asked for by the cursor."""
LONGEST_NAME = 120
"""Characters of what a record is called."""


@light.value
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
    shelf: templates.Shelf = templates.EMPTY
    """How the workspace writes its records out in documents."""


async def search(
    tx: store.Transaction,
    library: Library,
    reader: Reader,
    *,
    query: str,
    type: str | None = None,
    limit: int = 12,
) -> list[Item]:
    """What answers `query` best: the records it names, their figures it speaks of, then passages, best first."""
    only = None if type is None else [type]
    found = await searching.search(
        tx,
        query,
        reader=reader,
        types=library.types,
        cache=library.cache,
        limit=max(1, min(limit, MOST)),
        only=only,
    )
    named = [n.node for n in found.named if only is None or n.node.type in only]
    figures = await _figures(tx, library, reader, found, only)
    texts = await rows.nodes(tx, sorted({h.found.node for h in found.hits}))
    shown = await shown_of(tx, library, reader, [*named, *figures, *texts])
    items = [_brief(s, library) for n in (*named, *figures) if (s := shown.get(n.id)) is not None]
    for hit in found.hits:
        seen = shown.get(hit.found.node)
        if seen is not None and hit.found.field in seen.record.fields:
            lead = f"{hit.found.lead}: " if hit.found.lead else ""
            items.append(
                Item(
                    handle=f"{seen.record.handle}/{hit.found.part}",
                    title=seen.title,
                    text=lead + hit.found.text,
                    at=hit.found.at or seen.at,
                )
            )
    return items


async def _figures(
    tx: store.Transaction,
    library: Library,
    reader: Reader,
    found: searching.Result,
    only: Sequence[str] | None,
) -> list[rows.Node]:
    """Of what the named records own, those whose fields (and dates) the question speaks of.

    A type without any text is found by one word of a label, since nothing else finds it; another by a whole label.
    """
    wanted = set(words.terms(found.asked))
    silent = [
        t.type
        for t in library.types.values()
        if (only is None or t.type in only) and _speaks_of(t, wanted, is_silent=not t.text and t.passages is None)
    ]
    if not found.owned or not silent:
        return []
    nodes = await rows.unsearched(tx, reader.clause, of=found.owned, types=silent, limit=searching.OWNED)
    seen = await reader.seen(tx, nodes)
    months = _months(found.asked)
    scored: list[tuple[int, rows.Node]] = []
    for node in nodes:
        record = seen.get(node.id)
        if record is None or node.id in {n.node.id for n in found.named}:
            continue
        labels = {w for f in record.fields for w in words.terms(f.replace("_", " "))}
        dated = sum(m in f"{node.key} " for m in months)
        score = len(wanted & labels) + 2 * dated
        if wanted & labels and (dated or not months):
            scored.append((score, node))
    best = sorted(scored, key=lambda pair: -pair[0])
    return [node for _, node in best[:FIGURES]]


def _speaks_of(kind: schema.Type, wanted: set[str], *, is_silent: bool) -> bool:
    labels = [words.terms(f.key.replace("_", " ")) for f in kind.fields if f.kind not in ("text", "json")]
    if is_silent:
        return any(word in wanted for label in labels for word in label)
    return any(len(label) > 1 and wanted.issuperset(label) for label in labels)


MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_MONTH = re.compile(rf"\b({'|'.join(MONTHS)})\b(?:\s+((?:19|20)\d\d)\b)?")


def _months(text: str) -> list[str]:
    """Months as they stand in keys, `2026-10`, or `-03` where the year is left open.

    A month without a year has that of the next one: between March and October 2026.
    """
    named = [(MONTHS.index(m[1]) + 1, m[2]) for m in _MONTH.finditer(text)]
    found: dict[str, None] = {}
    year = ""
    for month, own in reversed(named):
        year = own or year
        found[f"{year}-{month:02}"] = None
    for figure in figures.extract(text):
        when = figure.value
        if isinstance(when, figures.Calendar) and when.month and when.year:
            found[f"{when.year:04}-{when.month:02}"] = None
    return list(found)


async def read(tx: store.Transaction, library: Library, reader: Reader, *, name: handle.Handle) -> Item | None:
    """One record, or one part of it. None: there is none, or none for this reader."""
    nodes = await rows.by_handle(tx, [name])
    node = nodes.get(str(name.whole))
    if node is None:
        return None
    found = (await shown_of(tx, library, reader, [node])).get(node.id)
    if found is None:
        return None
    kind = library.types.get(node.type)
    parts = passages.of(kind, found.record.fields) if kind else []
    if not name.part:
        return _whole(found, parts, kind)
    wanted = "/".join(name.part)
    if pieces := passages.under(parts, wanted):
        lead = f"{pieces[0].lead}: " if pieces[0].lead else ""
        text = lead + "\n".join(p.text for p in pieces)
        return Item(handle=str(name), title=found.title, text=text, at=pieces[0].at or found.at)
    if len(name.part) == 1 and name.part[0] in found.record.fields:
        value = {name.part[0]: found.record.fields[name.part[0]]}
        return Item(handle=str(name), title=found.title, fields=value, at=found.at)
    return None


async def may_be_seen(
    tx: store.Transaction, reader: CompiledScope, names: Sequence[handle.Handle]
) -> list[handle.Handle]:
    """Of `names` and parts of them, the whole records of which the reader may see something, each once."""
    nodes = await rows.by_handle(tx, [n.whole for n in names])
    seen = await reader.seen(tx, list(nodes.values()))
    return [handle.Handle(type=r.type, key=r.key) for r in seen.values()]


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
        nodes = await rows.listed(tx, reader.clause, type=type, limit=MOST, after=after, where=asked.items())
        shown = await shown_of(tx, library, reader, nodes)
        for node in nodes:
            found = shown.get(node.id)
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
    if node is None or not await reader.seen(tx, [node]):
        return []
    near = await rows.neighbours(tx, reader.clause, of=node.id, edges=edges, limit=max(1, min(limit, MOST)))
    shown = await shown_of(tx, library, reader, [n for _, _, n in near])
    items: list[Item] = []
    for edge, way, other in near:
        found = shown.get(other.id)
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


@light.value
class Shown:
    """A record as the reader may see it."""

    record: Record
    node: rows.Node
    types: Mapping[str, schema.Type]

    @property
    def title(self) -> str:
        """What it is called, and what it belongs to as far as the reader may see that."""
        name = _name(self.record, self.types)
        if not self.record.owners:
            return name
        names = [name, *(_name(r, self.types) for r in self.record.owners)]
        return " · ".join(dict.fromkeys(n for n in names if n))

    @property
    def at(self) -> datetime | None:
        """When its source last said what is shown: what came, changed or went of what is hidden has no part in it."""
        fields = self.record.fields
        for field in ("at", "date", "updated", "opened_at", "started_at"):
            if field in fields and (moment := passages.instant(fields[field])) is not None:
                return moment
        said = self.node.said_of(fields)
        return passages.instant(said) if said else None


async def shown_of(
    tx: store.Transaction, library: Library, reader: CompiledScope, nodes: Sequence[rows.Node]
) -> dict[UUID, Shown]:
    """What the reader may see of the nodes, with what they are called."""
    seen = await reader.seen(tx, nodes)
    return {n.id: Shown(record=seen[n.id], node=n, types=library.types) for n in nodes if n.id in seen}


def titled(record: Record, types: Mapping[str, schema.Type]) -> str:
    """The field by which a record is called; empty where it is called by its key."""
    kind = types.get(record.type)
    return counted.title_field(record.fields) or (kind.text[0] if kind and kind.text else "")


def _name(record: Record, types: Mapping[str, schema.Type]) -> str:
    value = record.fields.get(titled(record, types))
    name = " ".join(value.split()) if isinstance(value, str) else ""
    return name[:LONGEST_NAME] or record.key


def is_name(value: str) -> bool:
    """Whether a record's name has all of it."""
    return len(value) <= LONGEST_NAME or len(" ".join(value.split())) <= LONGEST_NAME


def _whole(found: Shown, parts: Sequence[passages.Passage], kind: schema.Type | None) -> Item:
    searched = {about_access(kind), *[p.field for p in parts]}
    fields = {k: v for k, v in found.record.fields.items() if k not in searched and v not in (None, "", [])}
    text = "\n".join((f"{p.lead}: " if p.lead else "") + p.text for p in parts)
    return Item(handle=found.record.handle, title=found.title, text=text, fields=fields, at=found.at)


def about_access(kind: schema.Type | None) -> str:
    """The field that says who may read a record: it is about the record, and no answer to anything. Or none, empty."""
    return kind.readers.field if kind and kind.readers else ""


def _brief(found: Shown, library: Library) -> Item:
    kind = library.types.get(found.record.type)
    long = {f.key for f in kind.fields if f.kind in ("text", "json")} if kind else set[str]()
    long.add(about_access(kind))
    fields = {k: v for k, v in found.record.fields.items() if k not in long and v not in (None, "", [])}
    return Item(handle=found.record.handle, title=found.title, fields=fields, at=found.at)
