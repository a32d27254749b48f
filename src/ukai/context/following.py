"""A view that follows the feed of changes: what it names is read again, all else stays where it is.

Equal in every part to what `view.read` makes of the same graph, so that no document tells which way its view came.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, TypeVar
from uuid import UUID

import numpy as np

from ukai import store
from ukai.context import layered, view
from ukai.context.clause import CompiledScope
from ukai.context.rows import views as listing
from ukai.context.view import View
from ukai.graph import schema
from ukai.llm.cache import Cache

if TYPE_CHECKING:
    from numpy.typing import NDArray

Number = TypeVar("Number", bound=np.generic)

MOST = 2_000
"""Records that are read one by one; where more have changed, the whole scope is listed."""


async def followed(
    tx: store.Transaction,
    scope: CompiledScope,
    types: Mapping[str, schema.Type],
    cache: Cache | None,
    before: View,
    since: listing.Position,
) -> View | None:
    """The view in this snapshot, of what it was when the feed stood at `since`. None: it has to be read as a whole."""
    changed = await listing.moved(tx, since, scope.owning, MOST)
    if changed is None or not before.size:
        return None
    gone = {node for node in changed.nodes if node in before.nodes}
    fresh = await view.apart(tx, scope, types, await listing.listed_of(tx, scope.clause, changed.nodes))
    if not gone and not fresh.size:
        return before
    if len(gone) == before.records:
        return None
    edges = await _edges(tx, before, fresh, gone, changed.edges)
    if cache is not None and before.vectors is not None:
        fresh = await view.with_vectors(tx, fresh, cache)
    return await asyncio.to_thread(_spliced, before, fresh, gone, edges)


async def _edges(
    tx: store.Transaction, before: View, fresh: View, gone: set[UUID], named: Iterable[tuple[UUID, UUID]]
) -> Mapping[UUID, Sequence[tuple[UUID, int]]]:
    """`(target, number)` of the edges to others of the view, of each node where they may be something else now.

    Between two that were in sight there is an edge where there was one, or where the feed has `named` one. So only what
    came into sight is asked for all of its edges: what else a node leads to, and is not seen, costs nothing.
    """
    came, went = fresh.nodes.keys() - gone, gone - fresh.nodes.keys()

    def is_inside(node: UUID) -> bool:
        return node in fresh.nodes or (node in before.nodes and node not in gone)

    everything = (node for node in chain(before.nodes, fresh.nodes.keys() - gone) if is_inside(node))
    new = [e for e in await listing.edges_at(tx, sorted(came), everything) if is_inside(e[0]) and is_inside(e[1])]
    again = {source for source, _, _ in new}.union(fresh.nodes) - came
    links = [(before.entries[a].node, before.entries[b].node) for a, b in before.leading(again, went)]
    again |= {source for source, _ in links if source not in went}
    pairs = {(a, b) for a, b in (*links, *named) if a in again and is_inside(b) and b not in came}
    found: dict[UUID, list[tuple[UUID, int]]] = {node: [] for node in (*fresh.nodes, *again)}
    for source, target, number in (*new, *await listing.edges_by(tx, sorted(pairs))):
        found[source].append((target, number))
    return found


def _spliced(before: View, fresh: View, gone: set[UUID], edges: Mapping[UUID, Sequence[tuple[UUID, int]]]) -> View:
    return _Splice(before, fresh, gone).view(edges)


class _Splice:
    """Some rows of a view taken out and others put in, in the order that all of them have.

    What is large and by item is laid in layers (`layered`, `bm25.Packed`); the rest is moved by whole arrays.
    """

    def __init__(self, before: View, fresh: View, gone: set[UUID]) -> None:
        self._before, self._fresh, self._gone = before, fresh, before.standing(gone)
        self._records = gone
        kept = np.delete(np.arange(before.size), self._gone)
        heads = kept[before.parent[kept] < 0]
        at = np.zeros(fresh.size, np.int64)
        for row in range(fresh.size):
            if fresh.parent[row] >= 0:
                at[row] = at[fresh.parent[row]]
                continue
            behind = bisect_left(heads, _name(fresh, row), key=lambda head: _name(before, head))
            at[row] = np.searchsorted(kept, heads[behind]) if behind < len(heads) else len(kept)
        self._order = np.insert(kept, at, before.size + np.arange(fresh.size))
        """Row -> its row before; of a fresh one, its row there behind all of these."""
        self._row = np.full(before.size + fresh.size, -1, np.int64)
        self._row[self._order] = np.arange(len(self._order))

    def view(self, changed: Mapping[UUID, Sequence[tuple[UUID, int]]]) -> View:
        """The whole of it."""
        before, fresh, order = self._before, self._fresh, self._order
        nodes, parent = before.nodes.spliced(fresh.nodes, order), self._parents()
        marks, edges = self._rows(before.marks, fresh.marks), self._rows(before.edges, fresh.edges)
        again = {row: into for node, into in changed.items() if (row := nodes.get(node)) is not None}
        for row, into in again.items():
            edges[row] = np.frombuffer(listing.packed_edges([number for _, number in into]), np.uint8)
        group, grounds, known = self._groups()
        first, last = self._spans()
        corpus = before.corpus.spliced(fresh.corpus, order, first=first, last=last, group=group, known=known)
        return View(
            token=view.token_of(parent, marks, edges),
            entries=self._entries(),
            records=int(np.count_nonzero(parent < 0)),
            corpus=corpus,
            parent=parent,
            places=self._places(),
            grounds=grounds,
            marks=marks,
            edges=edges,
            arrived=self._rows(before.arrived, fresh.arrived),
            links=self._links(nodes, again),
            rows=before.rows.spliced(fresh.rows, order),
            nodes=nodes,
            vectors=self._vectors(),
            waiting=self._waiting(),
        )

    def _rows(self, before: NDArray[Number], fresh: NDArray[Number]) -> NDArray[Number]:
        return np.concatenate([before, fresh])[self._order]

    def _entries(self) -> tuple[view.Entry, ...]:
        found, of = list[view.Entry](), self._before.size
        # Piece by piece: one by one, 100,000 take ten times as long.
        for piece in np.split(self._order, np.flatnonzero(np.diff(self._order) != 1) + 1):
            first, behind = int(piece[0]), int(piece[-1]) + 1
            found += self._before.entries[first:behind]  # nothing where all are fresh
            found += self._fresh.entries[max(0, first - of) : max(0, behind - of)]
        return tuple(found)

    def _parents(self) -> NDArray[np.int32]:
        before, fresh = self._before.parent, self._fresh.parent
        parent = self._rows(before, np.where(fresh >= 0, fresh + len(before), -1))
        return np.where(parent >= 0, self._row[parent], -1).astype(np.int32)

    def _spans(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """A record comes and goes with all of its parts: whatever is read together stays as far apart as it was."""
        before, fresh = self._before.corpus, self._fresh.corpus
        rows = np.arange(len(self._order), dtype=np.int32)
        moved = rows - self._rows(np.arange(len(before.first)), np.arange(len(fresh.first)))
        first, last = self._rows(before.first, fresh.first), self._rows(before.last, fresh.last)
        return (first + moved).astype(np.int32), (last + moved).astype(np.int32)

    def _links(self, nodes: Mapping[UUID, int], again: Mapping[int, Sequence[tuple[UUID, int]]]) -> NDArray[np.int32]:
        """Those from the records whose edges were read `again`, and all others, wherever both ends stand now.

        An edge to a record that went is none of these: where it came from was read again.
        """
        at = self._row[: self._before.size].astype(np.int32)
        for node in self._records:
            at[self._before.nodes[node]] = nodes.get(node, -1)
        source, target = (at[ends] for ends in self._before.links)
        is_read = np.zeros(len(self._order) + 1, np.bool_)  # the last one is that of -1
        is_read[[*again, -1]] = True
        stays = ~is_read[source]
        new = [(row, nodes[target]) for row, into in again.items() for target, _ in into]
        come = view.linked([row for row, _ in new], [row for _, row in new])
        # In order, each of the two: merging them takes a tenth of sorting.
        both = [source[stays].astype(np.int64) << 32 | target[stays], come]
        return view.pairs(np.sort(np.concatenate(both), kind="stable"))

    def _groups(self) -> tuple[NDArray[np.int32], tuple[str, ...], NDArray[np.float64] | None]:
        """Numbered anew, in the order in which they come; and `Corpus.known` of those that stay as they are."""
        before, fresh = self._before, self._fresh
        assert before.corpus.group is not None
        assert fresh.corpus.group is not None
        numbers = {ground: number for number, ground in enumerate(before.grounds)}
        others = np.array([numbers.setdefault(ground, len(numbers)) for ground in fresh.grounds], np.int32)
        group = self._rows(before.corpus.group, others[fresh.corpus.group] if fresh.size else fresh.corpus.group)
        first, names = np.full(len(numbers), len(group), np.int64), list(numbers)
        first[group[::-1]] = np.arange(len(group))[::-1]  # of several the last one stays
        used = np.argsort(first, kind="stable")[: np.count_nonzero(first < len(group))]
        rank = np.zeros(len(numbers), np.int32)
        rank[used] = np.arange(len(used), dtype=np.int32)
        known = None
        if "breadth" in vars(before.corpus):
            known = np.concatenate([before.corpus.breadth, np.full(len(numbers) - len(before.grounds), -1.0)])
            known[others] = known[before.corpus.group[self._gone]] = -1.0
            known = known[used]
        in_order: list[int] = used.tolist()
        return rank[group], tuple(names[number] for number in in_order), known

    def _places(self) -> dict[str, NDArray[np.int64]]:
        found: dict[str, NDArray[np.int64]] = {}
        there = {name: rows + self._before.size for name, rows in self._fresh.places.items()}
        for name in self._before.places.keys() | there.keys():
            rows = [v[name] for v in (self._before.places, there) if name in v]
            moved = self._row[np.concatenate(rows)]
            if len(moved := moved[moved >= 0]):
                found[name] = np.sort(moved) if name in there else moved
        return found

    def _vectors(self) -> layered.Vectors | None:
        if self._fresh.vectors is None or self._before.vectors is None:
            return None
        return self._before.vectors.spliced(self._fresh.vectors, self._order)

    def _waiting(self) -> tuple[int, ...]:
        waiting = [*self._before.waiting, *(row + self._before.size for row in self._fresh.waiting)]
        moved = self._row[np.array(waiting, np.int64)]
        return tuple(np.sort(moved[moved >= 0]).tolist())


def _name(of: View, row: int) -> tuple[str, str]:
    """What records are in order of: type and key."""
    entry = of.entries[row]
    return entry.type, entry.id[len(entry.type) + 1 :]
