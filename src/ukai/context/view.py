"""What one caller may find inside one scope, as ids and numbers: made from the store once, asked many times.

A view holds no word of any body: handles and paths are names, terms are numbers, vectors are vectors. Nothing but what
the caller may read is counted in it, so no score tells of anything else. Bodies are read when they are shown, under the
rights of that moment.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import UUID

import numpy as np

from ukai import store
from ukai.access import ALL, Record
from ukai.context import counted, rows, score
from ukai.context.clause import CompiledScope
from ukai.context.rows import views as listing
from ukai.graph import schema
from ukai.kit import bm25, handle
from ukai.llm.cache import Cache

if TYPE_CHECKING:
    from numpy.typing import NDArray


DEPTH = 2
"""Segments of a path that make a place."""

NO_EDGES = listing.packed_edges(0, 0)


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
    corpus: score.Corpus
    """Their words as numbers, row by row."""
    parent: NDArray[np.int32]
    """The row of its record; -1 for a record."""
    places: Mapping[str, NDArray[np.int64]]
    """The first segments of a path -> the rows of the records that stand there."""
    grounds: tuple[str, ...]
    """By number in `corpus.group`: what stands together."""
    marks: tuple[bytes, ...]
    """Of each record a hash over what is in here of it and of its parts; empty for a part."""
    edges: tuple[bytes, ...]
    """Of each record `rows.views.edges_between`; empty for a part."""
    rows: Mapping[str, int]
    """Handle -> row."""
    nodes: Mapping[UUID, int]
    """Node -> the row of its record."""
    vectors: NDArray[np.float32] | None = None
    """One row an item, its surroundings in it; None where there are too many to hold them. Zeros: not known yet."""
    missing: int = 0
    """Texts that have no vector yet."""

    @property
    def size(self) -> int:
        """Items."""
        return len(self.entries)

    @cached_property
    def nbytes(self) -> int:
        """What it takes in memory, roughly."""
        arrays = sum(p.nbytes for p in (self.corpus.own, self.corpus.title, self.corpus.place))
        return arrays + 1_000 * self.size + (0 if self.vectors is None else int(self.vectors.nbytes))

    def row_of(self, node: UUID, part: str) -> int | None:
        """The row of a passage: its own, or that of the record that it is a text of."""
        at = self.nodes.get(node)
        if at is None:
            return None
        return self.rows.get(f"{self.entries[at].id}/{part_of(part)}", at)

    def standing(self, nodes: Iterable[UUID]) -> NDArray[np.int64]:
        """The rows of these records and of their parts."""
        record = np.where(self.parent >= 0, self.parent, np.arange(self.size))
        return np.flatnonzero(np.isin(record, [self.nodes[node] for node in nodes if node in self.nodes]))

    def beside(self, row: int) -> list[int]:
        """The parts before and after a part of the same record."""
        at = self.parent[row]
        near = (row - 1, row + 1)
        return [r for r in near if at >= 0 and 0 <= r < self.size and self.parent[r] == at]

    def cosine(self, question: NDArray[np.float32]) -> NDArray[np.float64] | None:
        """How near each item lies to the question; None where nothing is known."""
        is_known = self.missing < self.texts if self.missing else any(e.contents for e in self.entries)
        if self.vectors is None or not is_known:
            return None
        return (self.vectors @ question.astype(np.float32)).astype(float)

    @cached_property
    def texts(self) -> int:
        """How many texts its items have."""
        return sum(len(e.contents) for e in self.entries)


async def read(
    tx: store.Transaction,
    scope: CompiledScope,
    types: Mapping[str, schema.Type],
    found: Sequence[listing.Listed],
) -> View:
    """The view of what is `found` in the scope."""
    readable = await _readable(tx, scope, found)
    # In a thread, since a large scope takes seconds, in which a server answers others, too.
    ordered, marks = await asyncio.to_thread(_ordered, readable)
    edges = await listing.edges_between(tx, list(marks))
    new = await listing.numbers(tx, list(dict.fromkeys(r.node for r in ordered if r.part)))
    return await asyncio.to_thread(_made, types, new, ordered, marks, edges)


def _ordered(readable: Sequence[listing.Listed]) -> tuple[list[listing.Listed], dict[UUID, bytes]]:
    ordered = sorted(readable, key=lambda r: (r.type, r.key, r.ordinal, r.part))
    return ordered, _marks(ordered)


def _made(
    types: Mapping[str, schema.Type],
    numbers: Mapping[tuple[UUID, str], tuple[bytes, bytes, bytes]],
    ordered: Sequence[listing.Listed],
    marks: Mapping[UUID, bytes],
    edges: Mapping[UUID, bytes],
) -> View:
    made = _Making(types=types, numbers=numbers)
    for row in ordered:
        made.add(row)
    return made.view(marks, edges)


def token_of(marks: Sequence[bytes], edges: Sequence[bytes]) -> str:
    """Equal only for views with the same in them, in the same order."""
    return hashlib.sha256(b"".join(marks) + b"".join(edges)).hexdigest()


async def with_vectors(tx: store.Transaction, view: View, cache: Cache) -> View:
    """The view with the vectors of its texts, as far as they are known."""
    owner = np.array([i for i, e in enumerate(view.entries) for _ in e.contents], np.int64)
    known = await cache.known(tx, [c for e in view.entries for c in e.contents])
    own = np.zeros((view.size, cache.embedder.dimensions), np.float32)
    if len(np.unique(owner)) == len(owner):
        own[owner] = known.vectors
    else:
        np.add.at(own, owner, known.vectors)
        lengths = np.linalg.norm(own, axis=1, keepdims=True)
        own = (own / np.where(lengths == 0, 1, lengths)).astype(np.float32)
    vectors = score.meaning(view.corpus, own) if view.corpus.is_part.any() else own
    return replace(view, vectors=vectors, missing=len(known.missing))


async def _readable(
    tx: store.Transaction, scope: CompiledScope, found: Sequence[listing.Listed]
) -> list[listing.Listed]:
    """Those whose field may be read: the type says so, or else the record. Of one record nothing, and it is none.

    The version of a record that is not seen as a whole is that of what is seen of it.
    """
    fixed = {t: scope.rights.reading.fixed(t) for t in {f.type for f in found}}
    unsure = sorted({f.node for f in found if fixed[f.type] is None})
    seen: Mapping[UUID, Record] = await scope.seen(tx, await rows.nodes(tx, unsure)) if unsure else {}
    in_part = sorted({f.node for f in found if fixed[f.type] is not ALL})
    changed = await rows.field_versions(tx, in_part) if in_part else {}
    versions: dict[UUID, int] = {}
    result: list[listing.Listed] = []
    bare: dict[UUID, listing.Listed] = {}
    for row in found:
        fields = fixed[row.type]
        if fields is None:
            record = seen.get(row.node)
            if record is None:
                continue
            fields = frozenset(record.fields)
        if fields is not ALL:
            if row.node not in versions:
                versions[row.node] = _version(fields, changed.get(row.node, {}))
            row = row._replace(version=versions[row.node])
        if fields is ALL or row.field in fields:
            titled = row.titled if fields is ALL or row.titled in fields else ""
            result.append(row if titled == row.titled else row._replace(titled=""))
        elif fields:
            bare[row.node] = _bare(row)
    # Once, and only where nothing else stands for it: how many hidden texts it has tells nobody anything.
    shown = {row.node for row in result}
    return [*result, *(row for node, row in bare.items() if node not in shown)]


def _version(fields: frozenset[str], versions: Mapping[str, int]) -> int:
    """Another one when a field comes, changes or goes that may be seen."""
    said = f"{rows.version_of(fields, versions)} {' '.join(sorted(fields))}"
    return int.from_bytes(hashlib.sha256(said.encode("utf-8", "surrogatepass")).digest()[:8])


def _bare(row: listing.Listed) -> listing.Listed:
    """The record alone: it may be seen, this text of it may not."""
    return row._replace(part="", field="", ordinal=0, content=b"", size=0, titled="")


def _marks(ordered: Sequence[listing.Listed]) -> dict[UUID, bytes]:
    found: dict[UUID, Any] = {}
    for r in ordered:
        digest = found.get(r.node)
        if digest is None:
            digest = found[r.node] = hashlib.sha256(
                f"{r.node.hex} {r.type}#{r.key}\0{r.path}\0".encode("utf-8", "surrogatepass")
            )
        digest.update(f"{r.version} {r.part}\0{r.titled}\0".encode("utf-8", "surrogatepass"))
        digest.update(r.content)
    return {node: digest.digest() for node, digest in found.items()}


class _Making:
    """A view while its rows come in."""

    def __init__(
        self, *, types: Mapping[str, schema.Type], numbers: Mapping[tuple[UUID, str], tuple[bytes, bytes, bytes]]
    ) -> None:
        self._types, self._read = types, numbers
        self._entries: list[Entry] = []
        self._numbers: tuple[list[bytes], list[bytes], list[bytes]] = ([], [], [])
        self._sizes: list[int] = []
        self._parent: list[int] = []
        self._nodes: dict[UUID, int] = {}

    def add(self, row: listing.Listed) -> None:
        """A passage, or a node without any: the record's row comes before its parts."""
        name = f"{row.type}#{row.key}"
        terms, place, title = self._read[row.node, row.part] if row.part else (b"", b"", b"")
        title = title if row.titled else b""
        is_part = bool(row.part) and is_a_part(self._types.get(row.type), row.field, row.part)
        at = self._nodes.get(row.node)
        if at is None:
            at = self._nodes[row.node] = len(self._entries)
            empty = Entry(id=name, node=row.node, part="", type=row.type, path=row.path, contents=())
            # A text of a record says where the record stands; a part says who speaks, too.
            stands = place if row.part and not is_part else bm25.packed(counted.place(row.path, row.key))
            self._append(empty, b"", stands, b"", 0, -1)
        if not row.part:
            return
        if is_part:
            entry = Entry(
                id=f"{name}/{part_of(row.part)}",
                node=row.node,
                part=row.part,
                type=row.type,
                path=row.path,
                contents=(row.content,),
            )
            self._append(entry, terms, place, title, row.size, at)
            self._numbers[2][at] = self._numbers[2][at] or title
            return
        record = self._entries[at]
        self._entries[at] = record._replace(contents=(*record.contents, row.content))
        if row.field != row.titled:
            self._numbers[0][at] = merged(self._numbers[0][at], terms)
        self._numbers[2][at] = self._numbers[2][at] or title
        self._sizes[at] += row.size

    def _append(self, entry: Entry, own: bytes, place: bytes, title: bytes, size: int, parent: int) -> None:
        self._entries.append(entry)
        for numbers, one in zip(self._numbers, (own, title, place), strict=True):
            numbers.append(one)
        self._sizes.append(size)
        self._parent.append(parent)

    def view(self, marks_of: Mapping[UUID, bytes], edges_of: Mapping[UUID, bytes]) -> View:
        """All that came in."""
        own, title, place = (bm25.Packed(n) for n in self._numbers)
        parent = np.array(self._parent, np.int32)
        is_part, size = parent >= 0, np.array(self._sizes, np.int32)
        first, last = score.spans(alone(parent), size, is_part)
        group, grounds = self._groups()
        corpus = score.Corpus(
            own=own,
            title=title,
            place=place,
            first=first,
            last=last,
            is_part=is_part,
            size=size,
            group=group,
        )
        records = [e.node if p < 0 else None for e, p in zip(self._entries, self._parent, strict=True)]
        marks = tuple(marks_of[node] if node else b"" for node in records)
        edges = tuple(edges_of.get(node, NO_EDGES) if node else b"" for node in records)
        return View(
            token=token_of(marks, edges),
            entries=tuple(self._entries),
            records=len(self._nodes),
            corpus=corpus,
            parent=parent,
            places=self._places(),
            grounds=grounds,
            marks=marks,
            edges=edges,
            rows={e.id: i for i, e in enumerate(self._entries)},
            nodes=self._nodes,
        )

    def _groups(self) -> tuple[NDArray[np.int32], tuple[str, ...]]:
        """A number for each place: parts stand at their record's path, a record without parts in the place above."""
        wholes = {p for p in self._parent if p >= 0}
        numbers: dict[str, int] = {}
        places = (
            e.path if p >= 0 or row in wholes else e.path.rpartition("/")[0]
            for row, (e, p) in enumerate(zip(self._entries, self._parent, strict=True))
        )
        return np.array([numbers.setdefault(p, len(numbers)) for p in places], np.int32), tuple(numbers)

    def _places(self) -> dict[str, NDArray[np.int64]]:
        found: dict[str, list[int]] = {}
        for at in self._nodes.values():
            found.setdefault(place_of(self._entries[at].path), []).append(at)
        return {name: np.array(rows, np.int64) for name, rows in found.items()}


def alone(parent: NDArray[np.int32]) -> NDArray[np.int32]:
    """What is read together, by number: the parts of one record, without the record's own row before them."""
    return np.where(parent >= 0, parent, -1 - np.arange(len(parent))).astype(np.int32)


def place_of(path: str) -> str:
    """Integration and selection: the first segments of a path."""
    return "/".join(path.split("/")[:DEPTH])


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
