"""What consists of others: of a view, which records are elements of the record above them, as columns are of a table.

An element stands directly beneath a record that may be read too, and its type's path goes on where that one's ends. It
has nothing beneath itself, no parts, and little to say: texts that are longer in the mean, and children that are too
many, are read by themselves. Where the record above is hidden or gone, so is what it consists of. A record is searched,
ranked, shown and left out with its elements: what finds a column has found its table. Numbered siblings that consist of
things of the same names and say the same count once, as the first of them.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING
from uuid import UUID
from weakref import WeakKeyDictionary

import numpy as np

from ukai.context import score
from ukai.context.layered import Names
from ukai.context.view import Entry, View, alone
from ukai.graph import schema
from ukai.kit import bm25

if TYPE_CHECKING:
    from numpy.typing import NDArray

_NUMBER = re.compile(r"\d+")
SHORT = 200
"""Characters. Children whose texts are longer in the mean say something each, and are no elements."""
MOST = 2_000
"""Nothing consists of more: a place with a hundred thousand children is no table."""


Wholes = tuple[tuple[Entry, tuple[Entry, ...]], ...]


@dataclass(frozen=True, kw_only=True, eq=False)
class Folded:
    """A view in which every record stands for its elements, too."""

    view: View
    wholes: Mapping[UUID, Wholes] = field(default_factory=dict[UUID, Wholes])
    """Record -> it and its siblings of one shape, each with what it consists of."""
    things: frozenset[UUID] = frozenset()
    """All that consist of others, and these."""


_KNOWN: WeakKeyDictionary[View, tuple[Mapping[str, frozenset[str]], Folded | None]] = WeakKeyDictionary()
"""Of views as long as they are kept; None where nothing consists of others."""


async def folded(view: View, types: Mapping[str, schema.Type]) -> Folded:
    """The view with its elements in what they are elements of. In a thread: of 100,000 columns it takes a second."""
    kinds = _kinds(tuple((name, kind.path) for name, kind in sorted(types.items())))
    if not kinds:
        return Folded(view=view)
    known = _KNOWN.get(view)
    if known is None or known[0] != kinds:
        known = _KNOWN[view] = (kinds, await asyncio.to_thread(_made, view, kinds))
    return known[1] or Folded(view=view)


def _made(view: View, kinds: Mapping[str, frozenset[str]]) -> Folded | None:
    below = _below(view, kinds)
    return _folded(view, below) if below else None


def _below(view: View, kinds: Mapping[str, frozenset[str]]) -> dict[int, list[int]]:
    """Row -> the rows of its elements."""
    above: dict[str, int] = {}
    for row in (r for name in sorted({o for owners in kinds.values() for o in owners}) for r in view.of_type(name)):
        if view.parent[row] < 0:
            above.setdefault(view.entries[row].path, row)
    below: dict[int, list[int]] = {}
    for row in (r for name in sorted(kinds) for r in view.of_type(name)):
        entry = view.entries[row]
        at = None if entry.part else above.get(entry.path.rpartition("/")[0])
        if at is not None and view.entries[at].type in kinds[entry.type]:
            below.setdefault(at, []).append(row)
    wholes = set(view.parent.tolist())
    return {at: rows for at, rows in below.items() if wholes.isdisjoint((at, *rows)) and _are_few_words(view, rows)}


def _are_few_words(view: View, rows: list[int]) -> bool:
    return len(rows) <= MOST and int(view.corpus.size[rows].sum()) <= SHORT * len(rows)


def _folded(view: View, below: Mapping[int, list[int]]) -> Folded:
    corpus, entries = view.corpus, view.entries
    owner, is_counted, first_of = np.arange(view.size), np.ones(view.size, np.bool_), dict[Hashable, int]()
    families: dict[int, list[int]] = {}
    said = corpus.own.contents()
    for at in sorted(below):
        rows = below[at]
        first = first_of.setdefault(_shape(view, said, at, rows), at)
        families.setdefault(first, []).append(at)
        owner[[at, *rows]] = first
        is_counted[[at, *rows]] = first == at
    kept = np.flatnonzero(owner == np.arange(view.size))
    place = np.full(view.size, -1)
    place[kept] = np.arange(len(kept))
    is_apart = owner != np.arange(view.size)
    into = np.where(is_counted, place[owner], -1)
    away, own = is_apart.tolist(), corpus.size.tolist()
    names = [_named(e) if apart else b"" for e, apart in zip(entries, away, strict=True)]
    parent = np.where(view.parent[kept] >= 0, place[view.parent[kept]], -1).astype(np.int32)
    # Of an element its name, which is what it takes where many stand.
    sizes = [len(e.path) - e.path.rfind("/") if apart else s for e, apart, s in zip(entries, away, own, strict=True)]
    size = np.bincount(into[is_counted], np.array(sizes)[is_counted], len(kept)).astype(np.int32)
    first, last = score.spans(alone(parent), size, corpus.is_part[kept])
    group = np.zeros(view.size, np.int32) if corpus.group is None else corpus.group
    waiting, at_last = np.array(view.waiting, np.int64), place[owner].tolist()
    return Folded(
        things=frozenset(entries[r].node for at, rows in below.items() for r in (at, *rows)),
        wholes={
            entries[at].node: tuple((entries[m], tuple(entries[r] for r in below[m])) for m in members)
            for at, members in families.items()
        },
        view=replace(
            view,
            entries=tuple(_with(entries[row], [entries[r] for r in below.get(row, ())]) for row in kept.tolist()),
            records=int((parent < 0).sum()),
            corpus=score.Corpus(
                own=bm25.Packed.folded([(corpus.own, into), (bm25.Packed(names), into)], len(kept)),
                title=bm25.Packed.folded([(corpus.title, place)], len(kept)),
                place=bm25.Packed.folded([(corpus.place, place)], len(kept)),
                first=first,
                last=last,
                is_part=corpus.is_part[kept],
                size=size,
                group=np.unique(group[kept], return_inverse=True)[1].astype(np.int32),
            ),
            parent=parent,
            places={name: found for name, of in view.places.items() if len(found := place[of][place[of] >= 0])},
            marks=view.marks[kept],
            edges=view.edges[kept],
            arrived=view.arrived[kept],
            rows=Names({e.id: row for e, row in zip(entries, at_last, strict=True)}, len(kept)),
            nodes=Names({e.node: row for e, row in zip(entries, at_last, strict=True) if not e.part}, len(kept)),
            vectors=None if view.vectors is None else view.vectors.folded(into, len(kept)),
            waiting=tuple(np.sort(into[waiting][into[waiting] >= 0]).tolist()),
        ),
    )


def _shape(view: View, said: NDArray[np.int64], at: int, rows: Sequence[int]) -> Hashable:
    """Equal for numbered siblings that consist of things of the same names and say the same, as days of one log do.

    What they say is told by its words in any order: exports list columns now so and now so.
    """
    entry, below = view.entries[at], (view.entries[r] for r in rows)
    names = tuple(sorted((e.path.rpartition("/")[2], e.contents) for e in below))
    return _NUMBER.sub("0", entry.path), entry.type, int(said[at]), names


def _named(entry: Entry) -> bytes:
    return bm25.packed(score.terms(entry.path.rpartition("/")[2]))


def _with(entry: Entry, elements: Sequence[Entry]) -> Entry:
    return entry._replace(contents=tuple(c for e in (entry, *elements) for c in e.contents)) if elements else entry


@lru_cache(maxsize=64)
def _kinds(types: tuple[tuple[str, str], ...]) -> Mapping[str, frozenset[str]]:
    """Type -> those whose records it may be an element of: its path is theirs and one segment, and nobody's goes on
    where its own ends."""
    paths = {name: path.split("/") for name, path in types if path}
    above = {name: {o for o, other in paths.items() if _fits(path[:-1], other)} for name, path in paths.items()}
    owners = {o for found in above.values() for o in found}
    return {name: frozenset(found) for name, found in above.items() if found and name not in owners}


def _fits(one: list[str], other: list[str]) -> bool:
    return len(one) == len(other) and all(("{" in a and "{" in b) or a == b for a, b in zip(one, other, strict=True))
