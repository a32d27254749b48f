"""The only place where candidates become bodies: read in the snapshot of the call, under the caller's rights.

Two checks that do not rely on each other: the store joins the scope's clause to the bodies, and what it hands out is
decided once more in Python, field by field. What strategies found is a proposal; this is the authority.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from uuid import UUID

from ukai import store
from ukai.context import counted, passages, reading, rows, spans, structure, view
from ukai.context.clause import CompiledScope
from ukai.context.item import Item
from ukai.context.strategies.asked import Candidate
from ukai.graph import schema
from ukai.kit import handle


async def fetch(
    tx: store.Transaction, scope: CompiledScope, library: reading.Library, candidates: Sequence[Candidate]
) -> list[Item]:
    """The candidates as items, in their order; what may not be read (any more) is absent, as if never found."""
    return items(await read(tx, scope, library, {c.node for c in candidates}), library, candidates)


async def read(
    tx: store.Transaction, scope: CompiledScope, library: reading.Library, nodes: Iterable[UUID]
) -> Mapping[UUID, reading.Shown]:
    """The records of these nodes that may be read, by node."""
    return await let_out(tx, scope, library, await stored(tx, scope, list(nodes)))


def items(shown: Mapping[UUID, reading.Shown], library: reading.Library, candidates: Sequence[Candidate]) -> list[Item]:
    """The candidates as items of records that were read, in their order."""
    wanted: dict[UUID, dict[str, Candidate]] = {}
    for c in candidates:
        wanted.setdefault(c.node, {})[c.id] = c
    made = {
        item.id: item
        for node, inside in wanted.items()
        if (found := shown.get(node)) is not None
        for item in items_of(found, library.types.get(found.record.type), inside)
    }
    return [made[c.id] for c in candidates if c.id in made]


async def stored(tx: store.Transaction, scope: CompiledScope, nodes: Sequence[UUID]) -> list[rows.Node]:
    """The store's check: of these nodes the living ones for which the scope's clause holds in this snapshot."""
    return await rows.readable_nodes(tx, scope.clause, nodes)


async def let_out(
    tx: store.Transaction, scope: CompiledScope, library: reading.Library, nodes: Sequence[rows.Node]
) -> Mapping[UUID, reading.Shown]:
    """The check on the way out: whatever brought a node here, its scope and its fields are decided again."""
    return await reading.shown_of(tx, library, scope, nodes)


def items_of(shown: reading.Shown, kind: schema.Type | None, wanted: Mapping[str, Candidate]) -> Iterator[Item]:
    """Those of a record and its parts that are `wanted`, by their handles."""
    record, name, at = shown.record, shown.record.handle, shown.at
    parts = passages.of(kind, record.fields) if kind else []
    schema_hash = kind.content_hash if kind else ""
    if (c := wanted.get(name)) is not None:
        titled = counted.title_field(record.fields)
        if titled and c.parent is None and not reading.is_name(record.fields[titled]):
            titled = ""  # the heading has its beginning alone
        said = (record.path or "").rpartition("/")[2]  # by its name, which stands before the text
        spoken, texts = {titled, reading.about_access(kind)}, list[str]()
        for p in parts:
            spoken.add(p.field)
            if p.field != titled and p.text != said and not view.is_a_part(kind, p.field, p.part):
                texts.append(p.text)
        yield Item(
            id=name,
            path=record.path or "",
            kind=record.type,
            title=shown.title if c.parent is None else str(record.fields.get(titled, "")),
            parent=c.parent,
            text="\n".join(texts),
            fields={k: v for k, v in record.fields.items() if k not in spoken and (v or v in (0, {}))},
            schema_hash=schema_hash,
            at=at,
            score=c.score,
            why=c.why,
            pinned=c.pinned,
            owned=c.owned,
        )
    if len(wanted) == (c is not None):
        return
    speaking = kind.passages.source if kind and kind.passages and kind.passages.speaker else None
    for p in parts:
        if view.is_a_part(kind, p.field, p.part) and (c := wanted.get(f"{name}/{view.part_of(p.part)}")) is not None:
            yield Item(
                id=c.id,
                path=record.path or "",
                kind=f"{record.type}/{p.part.partition('/')[0]}",
                parent=name,
                text=p.text,
                lead=p.lead or (structure.UNNAMED if p.field == speaking else ""),
                schema_hash=schema_hash,
                at=p.at or at,
                order=p.ordinal,
                score=c.score,
                why=c.why,
                pinned=c.pinned,
                owned=c.owned,
            )


def said(
    shown: Mapping[UUID, reading.Shown],
    library: reading.Library,
    candidates: Sequence[Candidate],
    items: Iterable[Item],
) -> tuple[tuple[UUID, ...], Callable[[str], spans.Said]]:
    """The nodes of these candidates in order, and what each of their items, which were read of `shown`, may quote in a
    document, by its id."""
    nodes = tuple(dict.fromkeys(c.node for c in candidates))
    number = {node: n for n, node in enumerate(nodes)}
    places, by_id = {c.id: number[c.node] for c in candidates}, {i.id: i for i in items}
    records = [shown[node] for node in nodes]

    def texts(place: int, fields: Collection[str]) -> list[tuple[spans.Value, str]]:
        found = records[place]
        return spans.values(place, found.record, fields, [reading.titled(o, found.types) for o in found.record.owners])

    @cache
    def by_text(place: int) -> Mapping[str, spans.Value]:
        return {text: value for value, text in reversed(texts(place, ()))}

    def of(id: str) -> spans.Said:
        item, place = by_id[id], places[id]
        template = library.shelf.sources.get(f"{item.kind}/{item.schema_hash}", "")
        names = (id, handle.shown(id), item.path, structure.line(item.path), item.kind, *item.fields, template)
        if id != records[place].record.handle:  # most parts are short, and a record may have thousands
            quoted = [(by_text(place).get(text), text) for text in (item.text, item.lead) if text]
            if all(value for value, _ in quoted):
                return spans.Said(texts=[(v, t) for v, t in quoted if v], names=names)
        return spans.Said(texts=texts(place, item.fields), names=names)

    return nodes, of
