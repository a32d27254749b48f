"""What one caller may find inside one scope, as ids and numbers: made from the store once, asked many times.

A view holds no word of any body: handles and paths are names, terms are numbers, vectors are vectors. Nothing but what
the caller may read is counted in it, so no score tells of anything else. Bodies are read when they are shown, under the
rights of that moment.
"""

from __future__ import annotations

import asyncio
import hashlib
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple
from uuid import UUID

import numpy as np

from ukai import store
from ukai.access import ALL, Fields, Record
from ukai.context import counted, rows, score
from ukai.context.clause import CompiledScope
from ukai.context.layered import Names, Vectors
from ukai.context.rows import embedded
from ukai.context.rows import views as listing
from ukai.graph import schema
from ukai.kit import bm25, handle
from ukai.llm.cache import Cache, LookUp

if TYPE_CHECKING:
    from numpy.typing import NDArray


DEPTH = 2
"""Segments of a path that make a place."""

NAMED, ROW = 720, 168
"""Bytes that an item takes: its entry and what finds it by its names; and what each view that follows has of its own.

Source: 92,216 records without parts."""
NO_EDGES = listing.Edges(listing.packed_edges(()), b"")
_OF_A_PART = listing.Edges(b"", b"")
MARK = hashlib.sha256().digest_size


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
    marks: NDArray[np.uint8]
    """Of each record a hash over what is in here of it and of its parts, byte by byte; zeros for a part."""
    edges: NDArray[np.uint8]
    """Of each record `rows.views.Edges.known`; zeros for a part."""
    arrived: NDArray[np.int64]
    """The number of the last of its texts to come in: it counts as embedded when embedding has come to that."""
    links: NDArray[np.int32]
    """In two lines the rows of records with an edge from the first to the second, each pair once, in their order."""
    rows: Names[str]
    """Handle -> row."""
    nodes: Names[UUID]
    """Node -> the row of its record."""
    vectors: Vectors | None = None
    """One an item, its surroundings in it; None where there are too many to hold them. Zeros: not known yet."""
    waiting: tuple[int, ...] = ()
    """The row of each text that has no vector yet, where vectors are held."""

    @property
    def size(self) -> int:
        """Items."""
        return len(self.entries)

    @property
    def missing(self) -> int:
        """Texts that have no vector yet."""
        return len(self.waiting)

    @cached_property
    def parts(self) -> Mapping[int, int]:
        """What it is made of, by identity, and roughly the bytes of each: views that follow one another share much."""
        found = {id(self): ROW * self.size + self.links.nbytes}
        found |= {id(layer.of): NAMED * len(layer.of) for layer in self.rows.layers}
        for packed in (self.corpus.own, self.corpus.title, self.corpus.place):
            found |= {id(layer.of): layer.of.nbytes for layer in packed.layers}
        if self.vectors is not None:
            found |= {id(layer.of): layer.of.nbytes for layer in self.vectors.layers}
        return found

    def row_of(self, node: UUID, part: str) -> int | None:
        """The row of a passage: its own, or that of the record that it is a text of."""
        at = self.nodes.get(node)
        if at is None:
            return None
        return self.rows.get(f"{self.entries[at].id}/{part_of(part)}", at)

    def standing(self, nodes: Iterable[UUID]) -> NDArray[np.int64]:
        """The rows of these records and of their parts."""
        record = np.where(self.parent >= 0, self.parent, np.arange(self.size))
        return np.flatnonzero(np.isin(record, [row for node in nodes if (row := self.nodes.get(node)) is not None]))

    def alike(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """The rows of the types of `rows`, without these."""
        found = np.zeros(self.size, np.bool_)
        listed: list[int] = rows.tolist()
        for type in {self.entries[row].type for row in listed}:
            among = self.of_type(type)
            found[among.start : among.stop] = True
        found[rows] = False
        return np.flatnonzero(found)

    def of_type(self, type: str) -> range:
        """The rows of the records of a type, and of their parts."""
        first = bisect_left(self.entries, type, key=lambda e: e.type)
        return range(first, bisect_right(self.entries, type, lo=first, key=lambda e: e.type))

    def one_away(self, hubs: Sequence[int]) -> list[int]:
        """The records one edge away from `hubs`, either way: those of the first hub first, then in their order."""
        place = np.full(self.size, len(hubs), np.int32)
        place[list(hubs)] = np.arange(len(hubs))
        of, near = place[self.links].ravel(), self.links[::-1].ravel()
        is_near = of < len(hubs)
        of, near = of[is_near], near[is_near]
        return list(dict.fromkeys(near[np.lexsort((near, of))].tolist()))

    def leading(self, sources: Iterable[UUID], targets: Iterable[UUID]) -> list[tuple[int, int]]:
        """All pairs of `links` from these, and from whatever leads to one of `targets`."""
        is_source, is_target = np.zeros(self.size, np.bool_), np.zeros(self.size, np.bool_)
        is_source[[self.nodes[node] for node in sources if node in self.nodes]] = True
        is_target[[self.nodes[node] for node in targets if node in self.nodes]] = True
        is_source[self.links[0][is_target[self.links[1]]]] = True
        found: list[list[int]] = self.links[:, is_source[self.links[0]]].T.tolist()
        return [(source, target) for source, target in found]

    def beside(self, row: int) -> list[int]:
        """The parts before and after a part of the same record."""
        at = self.parent[row]
        near = (row - 1, row + 1)
        return [r for r in near if at >= 0 and 0 <= r < self.size and self.parent[r] == at]

    def cosine(self, question: NDArray[np.float32]) -> NDArray[np.float64] | None:
        """How near each item lies to the question; None where nothing is known."""
        if self.vectors is None or not self._has_vector:
            return None
        return self.vectors.times(question.astype(np.float32)).astype(float)

    @cached_property
    def _has_vector(self) -> bool:
        """Whether there are more texts than wait for one."""
        texts = 0
        return any((texts := texts + len(e.contents)) > self.missing for e in self.entries)


async def read(
    tx: store.Transaction,
    scope: CompiledScope,
    types: Mapping[str, schema.Type],
    found: Sequence[listing.Listed],
) -> View:
    """The view of what is `found` in the scope."""
    readable = await _readable(tx, scope, types, found)
    # In a thread, since a large scope takes seconds, in which a server answers others, too.
    making = asyncio.create_task(asyncio.to_thread(_made, types, readable))
    edges = await listing.edges_between(tx, await asyncio.to_thread(_nodes, readable))
    return await asyncio.to_thread((await making).view, edges)


async def apart(
    tx: store.Transaction,
    scope: CompiledScope,
    types: Mapping[str, schema.Type],
    found: Sequence[listing.Listed],
) -> View:
    """The same without the edges: whoever puts it into another view knows for which of them to ask."""
    readable = await _readable(tx, scope, types, found)
    return await asyncio.to_thread(lambda: _made(types, readable).view({}))


def _nodes(readable: Iterable[listing.Listed]) -> list[UUID]:
    return list(dict.fromkeys(r.node for r in readable))


def _made(types: Mapping[str, schema.Type], readable: Iterable[listing.Listed]) -> _Making:
    made = _Making(types=types)
    for _, of_one in groupby(sorted(readable, key=lambda r: (r.type, r.key, r.ordinal, r.part)), key=lambda r: r.node):
        made.add(list(of_one))
    return made


def token_of(parent: NDArray[np.int32], marks: NDArray[np.uint8], edges: NDArray[np.uint8]) -> str:
    """Equal only for views with the same in them, in the same order."""
    is_record = parent < 0
    made = hashlib.sha256(np.ascontiguousarray(marks[is_record]).data)
    made.update(np.ascontiguousarray(edges[is_record]).data)
    return made.hexdigest()


def linked(source: Sequence[int] | NDArray[np.int64], target: Sequence[int] | NDArray[np.int64]) -> NDArray[np.int64]:
    """Pairs of rows as numbers, each once, in their order."""
    numbers = np.sort(np.asarray(source, np.int64) << 32 | np.asarray(target, np.int64))
    return numbers[np.diff(numbers, prepend=-1) != 0]


def pairs(numbers: NDArray[np.int64]) -> NDArray[np.int32]:
    """`View.links` of what `linked` gave."""
    return np.stack([numbers >> 32, numbers & 0xFFFFFFFF]).astype(np.int32)


def are_equal(one: View, other: View) -> bool:
    """Of two views of one moment, made with the same types and model."""
    held = [(v.token, v.vectors is None, v.waiting) for v in (one, other)]
    return held[0] == held[1]


async def with_vectors(tx: store.Transaction, view: View, cache: Cache) -> View:
    """The view with the vectors of its texts, as far as they are known: itself where no more are known than before.

    Nothing is known of an item to which embedding has not come, also where vectors are there for its texts: then others
    have texts that equal them, and nobody is told of these.
    """
    reached = await embedded.reached(tx, cache.embedder.model_id)
    again = np.arange(view.size)
    if view.vectors is not None:
        due = [row for row in view.waiting if view.arrived[row] <= reached]
        owner, contents = _texts(view, dict.fromkeys(due))
        still: list[int] = owner[list((await cache.known(tx, contents)).missing)].tolist()
        came = Counter(due) - Counter(still)
        if not came:
            return view
        # A part's vector is made of those around it in its record, and of nothing else.
        again = view.standing({view.entries[row].node for row in came})
    is_due = view.arrived[again] <= reached
    owner, contents = await asyncio.to_thread(_texts, view, again[is_due].tolist())
    known = await cache.known(tx, contents)
    before, _ = _texts(view, again[~is_due].tolist())
    return await asyncio.to_thread(_with, view, again, owner, known, before)


def _texts(view: View, among: Iterable[int]) -> tuple[NDArray[np.int64], list[bytes]]:
    """The texts of these rows, and the row of each."""
    found = [(row, content) for row in among for content in view.entries[row].contents]
    return np.array([row for row, _ in found], np.int64), [content for _, content in found]


def _with(
    view: View, rows: NDArray[np.int64], owner: NDArray[np.int64], known: LookUp, others: NDArray[np.int64]
) -> View:
    """The view with other vectors for `rows`, which are whole records, of what is known of the texts of `owner`.

    `others`: the rows of texts of which nothing is.
    """
    own = np.zeros((len(rows), known.vectors.shape[1]), np.float32)
    at = np.searchsorted(rows, owner)
    often = np.bincount(at, minlength=len(rows))
    if len(at) == len(rows) and (often == 1).all():
        own = known.vectors
    else:
        np.add.at(own, at, known.vectors)
        # What has one text alone has its vector, to the bit, whatever else is in the view.
        several = np.flatnonzero(often > 1)
        lengths = np.linalg.norm(own[several], axis=1, keepdims=True)
        own[several] /= np.where(lengths == 0, 1, lengths)
    corpus = view.corpus
    if corpus.is_part[rows].any():
        moved = np.arange(len(rows)) - rows
        first, last = corpus.first[rows] + moved, corpus.last[rows] + moved
        own = score.surrounded(own, corpus.size[rows], first, last, corpus.is_part[rows])
    vectors = Vectors(own)
    if view.vectors is not None:
        order = np.arange(view.size)
        order[rows] = view.size + np.arange(len(rows))
        vectors = view.vectors.spliced(vectors, order)
    waits = np.array(view.waiting, np.int64)
    waiting = np.sort(np.concatenate([waits[~np.isin(waits, rows)], owner[list(known.missing)], others]))
    return replace(view, vectors=vectors, waiting=tuple(waiting.tolist()))


async def _readable(
    tx: store.Transaction,
    scope: CompiledScope,
    types: Mapping[str, schema.Type],
    found: Sequence[listing.Listed],
) -> Sequence[listing.Listed]:
    """Those whose field may be read: the type says so, or else the record. Of one record nothing, and it is none.

    The version of a record that is not seen as a whole is that of what is seen of it.
    """
    fixed = {t: scope.rights.reading.fixed(t) for t in {f.type for f in found}}
    if all(fields is ALL for fields in fixed.values()):
        return found
    unsure = sorted({f.node for f in found if fixed[f.type] is None})
    seen: Mapping[UUID, Record] = await scope.seen(tx, await rows.nodes(tx, unsure)) if unsure else {}
    in_part = sorted({f.node for f in found if fixed[f.type] is not ALL})
    changed = await rows.field_versions(tx, in_part) if in_part else {}
    sure = {name: _sure(kind, scope) for name, kind in types.items()}
    return await asyncio.to_thread(_shown, found, fixed, seen, changed, sure)


def _sure(kind: schema.Type, scope: CompiledScope) -> frozenset[str]:
    """The fields of a record's name that tell nothing where they are absent: not of this type, or always read."""
    always = scope.rights.reading.always
    return frozenset(f for f in counted.TITLES if f not in kind.by_key or always(kind.type, f))


def _shown(
    found: Sequence[listing.Listed],
    fixed: Mapping[str, Fields | None],
    seen: Mapping[UUID, Record],
    changed: Mapping[UUID, Mapping[str, int]],
    sure: Mapping[str, frozenset[str]],
) -> Sequence[listing.Listed]:
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
            may = fields is ALL or counted.may_be_titled(row.titled, fields, sure.get(row.type, frozenset()))
            result.append(row if may else row._replace(titled=""))
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
    nothing = {"content": b"", "size": 0, "titled": "", "terms": b"", "place": b"", "title": b""}
    return row._replace(part="", field="", ordinal=0, **nothing)


class _Making:
    """A view while its rows come in."""

    def __init__(self, *, types: Mapping[str, schema.Type]) -> None:
        self._types = types
        self._entries: list[Entry] = []
        self._numbers: tuple[list[bytes], list[bytes], list[bytes]] = ([], [], [])
        self._sizes: list[int] = []
        self._parent: list[int] = []
        self._is_part: list[bool] = []
        self._marks: list[bytes] = []
        self._arrived: list[int] = []
        self.nodes: dict[UUID, int] = {}

    def add(self, passages: Sequence[listing.Listed]) -> None:
        """A record's passages, or the record without any: its row comes before its parts."""
        record, name = passages[0], f"{passages[0].type}#{passages[0].key}"
        kind, at = self._types.get(record.type), len(self._entries)
        own, title, size, arrived = b"", b"", 0, 0
        texts: list[bytes] = []
        parts: list[listing.Listed] = []
        for p in passages:
            if not p.part:
                continue
            title = title or (p.title if p.titled else b"")
            if is_a_part(kind, p.field, p.part):
                parts.append(p)
                continue
            texts.append(p.content)
            size += p.size
            arrived = max(arrived, p.arrived)
            if p.field != p.titled:
                own = merged(own, p.terms)
        # A text of a record says where the record stands; a part says who speaks, too.
        is_said = record.part and not (parts and parts[0] is record)
        place = record.place if is_said else bm25.packed(counted.place(record.path, record.key))
        self.nodes[record.node] = at
        self._append(Entry(name, record.node, "", record.type, record.path, tuple(texts)), own, place, title, size, -1)
        self._marks.append(_mark(name, passages))
        self._arrived.append(arrived)
        self._is_part += [False, *(_is_declared(kind, p.field) for p in parts)]
        for p in parts:
            entry = Entry(f"{name}/{part_of(p.part)}", p.node, p.part, p.type, p.path, (p.content,))
            self._append(entry, p.terms, p.place, p.title if p.titled else b"", p.size, at)
            self._marks.append(b"")
            self._arrived.append(p.arrived)

    def _append(self, entry: Entry, own: bytes, place: bytes, title: bytes, size: int, parent: int) -> None:
        self._entries.append(entry)
        for numbers, one in zip(self._numbers, (own, title, place), strict=True):
            numbers.append(one)
        self._sizes.append(size)
        self._parent.append(parent)

    def view(self, edges_of: Mapping[UUID, listing.Edges]) -> View:
        """All that came in."""
        own, title, place = (bm25.Packed(n) for n in self._numbers)
        parent = np.array(self._parent, np.int32)
        is_part, size = np.array(self._is_part, np.bool_), np.array(self._sizes, np.int32)
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
        if corpus.groups > 1:
            _ = corpus.breadth  # it takes long, and here nobody waits for it
        marks = rows_of(self._marks, MARK)
        leading = [
            edges_of.get(e.node, NO_EDGES) if p < 0 else _OF_A_PART
            for e, p in zip(self._entries, self._parent, strict=True)
        ]
        edges = rows_of([e.known for e in leading], len(NO_EDGES.known))
        return View(
            token=token_of(parent, marks, edges),
            entries=tuple(self._entries),
            records=len(self.nodes),
            corpus=corpus,
            parent=parent,
            places=self._places(),
            grounds=grounds,
            marks=marks,
            edges=edges,
            arrived=np.array(self._arrived, np.int64),
            links=self._links([e.into for e in leading]),
            rows=Names({e.id: i for i, e in enumerate(self._entries)}, len(self._entries)),
            nodes=Names(self.nodes, len(self._entries)),
        )

    def _links(self, into: Sequence[bytes]) -> NDArray[np.int32]:
        row = {node.bytes: at for node, at in self.nodes.items()}
        targets = np.frombuffer(b"".join(into), "V16")
        often = [len(one) // targets.itemsize for one in into]
        return pairs(linked(np.repeat(np.arange(len(into)), often), [row[node] for node in targets.tolist()]))

    def _groups(self) -> tuple[NDArray[np.int32], tuple[str, ...]]:
        """A number for each place: parts stand at their record's path, a record without parts in the place above, and
        pieces of a long text with their record."""
        wholes = {p for p, is_part in zip(self._parent, self._is_part, strict=True) if is_part}
        numbers: dict[str, int] = {}
        places = (
            e.path if row in wholes or p in wholes else e.path.rpartition("/")[0]
            for row, (e, p) in enumerate(zip(self._entries, self._parent, strict=True))
        )
        return np.array([numbers.setdefault(p, len(numbers)) for p in places], np.int32), tuple(numbers)

    def _places(self) -> dict[str, NDArray[np.int64]]:
        found: dict[str, list[int]] = {}
        for at in self.nodes.values():
            found.setdefault(place_of(self._entries[at].path), []).append(at)
        return {name: np.array(rows, np.int64) for name, rows in found.items()}


def rows_of(each: Sequence[bytes], width: int) -> NDArray[np.uint8]:
    """One row each, of so many bytes; zeros for an empty one."""
    return np.frombuffer(b"".join([one or bytes(width) for one in each]), np.uint8).reshape(-1, width)


def alone(parent: NDArray[np.int32]) -> NDArray[np.int32]:
    """What is read together, by number: the parts of one record, without the record's own row before them."""
    return np.where(parent >= 0, parent, -1 - np.arange(len(parent))).astype(np.int32)


def _mark(name: str, passages: Sequence[listing.Listed]) -> bytes:
    record = passages[0]
    said = [f"{record.node.hex} {name}\0{record.path}\0".encode("utf-8", "surrogatepass")]
    for p in passages:
        said += (f"{p.version} {p.part}\0{p.titled}\0".encode("utf-8", "surrogatepass"), p.content)
    return hashlib.sha256(b"".join(said)).digest()


def place_of(path: str) -> str:
    """Integration and selection: the first segments of a path."""
    return "/".join(path.split("/", DEPTH)[:DEPTH])


def is_a_part(kind: schema.Type | None, field: str, part: str) -> bool:
    """Whether a passage is an item of its own: a turn of a call, a piece of a text too long to be one."""
    return "/" in part or _is_declared(kind, field)


def _is_declared(kind: schema.Type | None, field: str) -> bool:
    """Whether the passages of a field are what a record is made of, as a talk is of turns: each is read with those
    around it. A piece of a long text is no such part: it is called and placed as its record is."""
    return kind is not None and kind.passages is not None and kind.passages.source == field


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
