"""What one caller may find inside one scope, as ids and numbers: made from the store once, asked many times.

A view holds no word of any body: handles and paths are names, terms are numbers, vectors are vectors. Nothing but what
the caller may read is counted in it, so no score tells of anything else. Bodies are read when they are shown, under the
rights of that moment.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple, Protocol
from uuid import UUID

import numpy as np

from ukai import store
from ukai.access import ALL, Record
from ukai.context import counted, rows
from ukai.context.clause import CompiledScope
from ukai.context.rows import views as listing
from ukai.graph import schema
from ukai.kit import bm25, canonical, handle
from ukai.llm.cache import Cache

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Numbers(Protocol):
    """What scoring asks of a corpus: one row an item, -1 where there is no other."""

    own: bm25.Packed
    title: bm25.Packed
    place: bm25.Packed
    before: NDArray[np.int32]
    after: NDArray[np.int32]
    parent: NDArray[np.int32]


Key = tuple[UUID, str, int, bytes]
"""A passage as it stood: node, part, the record's version, the text's hash."""


class Entry(NamedTuple):
    """One item of a view: a record, or a part of one that is cited by itself."""

    id: str
    """Its handle."""
    node: UUID
    part: str
    """What follows the record's handle; empty for the record."""
    type: str
    path: str
    contents: tuple[bytes, ...]
    """Its texts by their hashes: what its vectors are looked up by."""


@dataclass(frozen=True, kw_only=True, eq=False)
class View:
    """The items of a scope, in the order of their types, keys and places."""

    token: str
    """Hash over everything that is in it: equal tokens, equal views."""
    entries: tuple[Entry, ...]
    records: int
    """How many of them are records."""
    own: bm25.Packed
    """The texts: a record's fields, or the part."""
    title: bm25.Packed
    place: bm25.Packed
    before: NDArray[np.int32]
    """The row of the part before it in the same record."""
    after: NDArray[np.int32]
    parent: NDArray[np.int32]
    """The row of its record."""
    tokens: NDArray[np.int32]
    blobs: Mapping[Key, tuple[bytes, bytes, bytes]]
    """Kept for the view that follows it when little has changed."""
    rows: Mapping[str, int]
    """Handle -> row."""
    nodes: Mapping[UUID, int]
    """Node -> the row of its record."""
    vectors: NDArray[np.float32] | None = None
    """One row a text of `owners`; None where there are too many to hold them."""
    owners: NDArray[np.int32] | None = None
    """The row of the item that a vector belongs to."""
    missing: int = 0
    """Texts that have no vector yet."""

    @property
    def size(self) -> int:
        """Items."""
        return len(self.entries)

    @property
    def nbytes(self) -> int:
        """What it takes in memory, roughly."""
        arrays = sum(p.nbytes for p in (self.own, self.title, self.place))
        kept = sum(len(t) + len(p) + len(n) + 250 for t, p, n in self.blobs.values())
        return arrays + kept + 600 * self.size + (0 if self.vectors is None else int(self.vectors.nbytes))

    def row_of(self, node: UUID, part: str) -> int | None:
        """The row of a passage: its own, or that of the record that it is a text of."""
        at = self.nodes.get(node)
        if at is None:
            return None
        return self.rows.get(f"{self.entries[at].id}/{part_of(part)}", at)

    def records_under(self, place: str) -> list[int]:
        """The rows of the records whose path begins with the segments of `place`."""
        under = f"{place}/"
        return [at for at in self.nodes.values() if f"{self.entries[at].path}/".startswith(under)]

    def cosine(self, question: NDArray[np.float32]) -> NDArray[np.float64] | None:
        """Of each item its nearest text's; None without any vector. 0 while none is known."""
        if self.vectors is None or self.owners is None or not len(self.owners) or self.missing == len(self.owners):
            return None
        near = (self.vectors @ question.astype(np.float32)).astype(float)
        found = np.full(self.size, -1.0)
        np.maximum.at(found, self.owners, near)
        found[found == -1.0] = 0.0
        return found


async def read(
    tx: store.Transaction,
    scope: CompiledScope,
    types: Mapping[str, schema.Type],
    found: Sequence[listing.Listed],
    before: View | None = None,
) -> View:
    """The view of what is `found` in the scope. What stands unchanged in the view `before` is not read again."""
    readable = await _readable(tx, scope, found)
    ordered = sorted(readable, key=lambda r: (r.type, r.key, r.ordinal, r.part))
    nodes = list(dict.fromkeys(r.node for r in ordered))
    token = canonical.sha256([_digest(ordered), await listing.edges_between(tx, nodes)])
    if before is not None and before.token == token:
        return before
    passages = [r for r in ordered if r.part]
    kept = {} if before is None else {k: b for r in passages if (b := before.blobs.get(k := _key(r))) is not None}
    wanted = sorted({r.node for r in passages if _key(r) not in kept})
    new = await listing.numbers(tx, wanted) if wanted else {}
    return _made(token, ordered, types, kept | {_key(r): new[r.node, r.part] for r in passages if _key(r) not in kept})


async def with_vectors(tx: store.Transaction, view: View, cache: Cache) -> View:
    """The view with the vectors of its texts, as far as they are known."""
    owners = [i for i, e in enumerate(view.entries) for _ in e.contents]
    contents = [c for e in view.entries for c in e.contents]
    known = await cache.known(tx, contents)
    owner = np.array(owners, np.int32)
    return replace(view, vectors=known.vectors, owners=owner, missing=len(known.missing))


async def _readable(
    tx: store.Transaction, scope: CompiledScope, found: Sequence[listing.Listed]
) -> list[listing.Listed]:
    """Those whose field may be read: the type says so, or else the record. Of one record nothing, and it is none."""
    fixed = {t: scope.rights.reading.fixed(t) for t in {f.type for f in found}}
    unsure = sorted({f.node for f in found if fixed[f.type] is None})
    seen: Mapping[UUID, Record] = await scope.seen(tx, await rows.nodes(tx, unsure)) if unsure else {}
    result: list[listing.Listed] = []
    for row in found:
        fields = fixed[row.type]
        if fields is None:
            record = seen.get(row.node)
            if record is None:
                continue
            fields = frozenset(record.fields)
        if fields is ALL or row.field in fields:
            titled = row.titled if fields is ALL or row.titled in fields else ""
            result.append(row if titled == row.titled else row._replace(titled=""))
        elif fields:
            result.append(_bare(row))
    return result


def _bare(row: listing.Listed) -> listing.Listed:
    """The record alone: it may be seen, this text of it may not."""
    return row._replace(part="", field="", ordinal=0, content=b"", tokens=0, titled="")


def _key(row: listing.Listed) -> Key:
    return row.node, row.part, row.version, row.content


def _digest(ordered: Sequence[listing.Listed]) -> str:
    digest = hashlib.sha256()
    for r in ordered:
        digest.update(f"{r.node.hex} {r.version} {r.part}\0{r.titled}\0".encode("utf-8", "surrogatepass"))
        digest.update(r.content)
    return digest.hexdigest()


def _made(
    token: str,
    ordered: Sequence[listing.Listed],
    types: Mapping[str, schema.Type],
    blobs: Mapping[Key, tuple[bytes, bytes, bytes]],
) -> View:
    made = _Making(types=types, blobs=blobs)
    for row in ordered:
        made.add(row)
    return made.view(token)


class _Making:
    """A view while its rows come in."""

    def __init__(self, *, types: Mapping[str, schema.Type], blobs: Mapping[Key, tuple[bytes, bytes, bytes]]) -> None:
        self._types, self._blobs = types, blobs
        self._entries: list[Entry] = []
        self._numbers: tuple[list[bytes], list[bytes], list[bytes]] = ([], [], [])
        self._tokens: list[int] = []
        self._parent: list[int] = []
        self._nodes: dict[UUID, int] = {}

    def add(self, row: listing.Listed) -> None:
        """A passage, or a node without any: the record's row comes before its parts."""
        at = self._nodes.get(row.node)
        name = f"{row.type}#{row.key}"
        if at is None:
            at = self._nodes[row.node] = len(self._entries)
            empty = Entry(id=name, node=row.node, part="", type=row.type, path=row.path, contents=())
            self._append(empty, b"", bm25.packed(counted.place(row.path, row.key)), b"", 0, -1)
        if not row.part:
            return
        terms, place, title = self._blobs[_key(row)]
        title = title if row.titled else b""
        if is_a_part(self._types.get(row.type), row.field, row.part):
            entry = Entry(
                id=f"{name}/{part_of(row.part)}",
                node=row.node,
                part=row.part,
                type=row.type,
                path=row.path,
                contents=(row.content,),
            )
            self._append(entry, terms, place, title, row.tokens, at)
            self._numbers[2][at] = self._numbers[2][at] or title
            return
        record = self._entries[at]
        self._entries[at] = record._replace(contents=(*record.contents, row.content))
        if row.field != row.titled:
            self._numbers[0][at] = merged(self._numbers[0][at], terms)
        self._numbers[2][at] = self._numbers[2][at] or title
        self._tokens[at] += row.tokens

    def _append(self, entry: Entry, own: bytes, place: bytes, title: bytes, tokens: int, parent: int) -> None:
        self._entries.append(entry)
        for numbers, one in zip(self._numbers, (own, title, place), strict=True):
            numbers.append(one)
        self._tokens.append(tokens)
        self._parent.append(parent)

    def view(self, token: str) -> View:
        """All that came in."""
        own, title, place = self._numbers
        parent = np.array(self._parent, np.int32)
        before, after = _beside(parent)
        return View(
            token=token,
            entries=tuple(self._entries),
            records=len(self._nodes),
            own=bm25.Packed(own),
            title=bm25.Packed(title),
            place=bm25.Packed(place),
            before=before,
            after=after,
            parent=parent,
            tokens=np.array(self._tokens, np.int32),
            blobs=self._blobs,
            rows={e.id: i for i, e in enumerate(self._entries)},
            nodes=self._nodes,
        )


def is_a_part(kind: schema.Type | None, field: str, part: str) -> bool:
    """Whether a passage is an item of its own: a turn of a call, a piece of a text too long to be one."""
    return "/" in part or (kind is not None and kind.passages is not None and kind.passages.source == field)


def part_of(part: str) -> str:
    """A passage's part as a handle writes it."""
    return "/".join(handle.encoded(p) for p in part.split("/"))


def merged(one: bytes, other: bytes) -> bytes:
    """Two packed documents as one."""
    if not one or not other:
        return one or other
    both = np.frombuffer(one + other, bm25.ENTRY)
    terms, inverse = np.unique(both["term"], return_inverse=True)
    counts = np.bincount(inverse, weights=both["count"])
    result = np.empty(len(terms), bm25.ENTRY)
    result["term"], result["count"] = terms, np.minimum(counts, bm25.MOST_OFTEN)
    return result.tobytes()


def _beside(parent: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    size = len(parent)
    before, after = np.full(size, -1, np.int32), np.full(size, -1, np.int32)
    same = np.flatnonzero((parent[1:] == parent[:-1]) & (parent[1:] >= 0)) + 1
    before[same], after[same - 1] = same - 1, same
    return before, after
