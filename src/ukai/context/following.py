"""A view that follows the feed of changes: what it names is read again, all else stays where it is.

Equal in every part to what `view.read` makes of the same graph, so that no document tells which way its view came.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_left
from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeVar
from uuid import UUID

import numpy as np

from ukai import store
from ukai.context import score, view
from ukai.context.clause import CompiledScope
from ukai.context.rows import views as listing
from ukai.context.view import View
from ukai.graph import schema
from ukai.llm.cache import Cache

if TYPE_CHECKING:
    from numpy.typing import NDArray

Row = TypeVar("Row")

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
    gone = {node for node in changed if node in before.nodes}
    fresh = await view.read(tx, scope, types, await listing.listed_of(tx, scope.clause, changed))
    if not gone and not fresh.size:
        return before
    if len(gone) == before.records:
        return None
    edges = await _edges(tx, before, fresh, gone)
    if cache is not None and before.vectors is not None:
        fresh = await view.with_vectors(tx, fresh, cache)
    return await asyncio.to_thread(_spliced, before, fresh, gone, edges)


async def _edges(tx: store.Transaction, before: View, fresh: View, gone: set[UUID]) -> Mapping[UUID, bytes]:
    """What is known of the edges to others of the view, of each node where that may be something else now."""
    came, went = fresh.nodes.keys() - gone, gone - fresh.nodes.keys()
    found: dict[UUID, tuple[int, int]] = dict.fromkeys(fresh.nodes, (0, 0))
    for source, target, number in await listing.edges_from(tx, sorted(fresh.nodes), sorted(came | went)):
        count, numbers = found.get(source, (0, 0))
        is_inside = target in fresh.nodes or (target in before.nodes and target not in gone)
        found[source] = (count + 1, numbers ^ number) if is_inside else (count, numbers)
    return {node: listing.packed_edges(*edges) for node, edges in found.items()}


def _spliced(before: View, fresh: View, gone: set[UUID], edges: Mapping[UUID, bytes]) -> View:
    return _Splice(before, fresh, gone).view(edges)


class _Splice:
    """Some rows of a view taken out and others put in, in the order that all of them have."""

    def __init__(self, before: View, fresh: View, gone: set[UUID]) -> None:
        self._before, self._fresh, self._gone = before, fresh, gone
        kept = np.delete(np.arange(before.size), before.standing(gone))
        heads = kept[before.parent[kept] < 0].tolist()
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

    def view(self, changed: Mapping[UUID, bytes]) -> View:
        """The whole of it."""
        before, fresh, order = self._before, self._fresh, self._order
        entries = self._rows(before.entries, fresh.entries)
        parent = self._parents()
        nodes, rows = self._names(entries, parent)
        marks, edges = self._rows(before.marks, fresh.marks), list(self._rows(before.edges, fresh.edges))
        for node, known in changed.items():
            if (row := nodes.get(node)) is not None:
                edges[row] = known
        group, grounds = self._groups()
        is_part, size = parent >= 0, np.concatenate([before.corpus.size, fresh.corpus.size])[order]
        first, last = score.spans(view.alone(parent), size, is_part)
        known = self._breadth(grounds)
        corpus = before.corpus.spliced(fresh.corpus, order, first=first, last=last, group=group, known=known)
        return View(
            token=view.token_of(marks, edges),
            entries=entries,
            records=len(nodes),
            corpus=corpus,
            parent=parent,
            places=self._places(),
            grounds=grounds,
            marks=marks,
            edges=tuple(edges),
            rows=rows,
            nodes=nodes,
            vectors=self._vectors(),
            waiting=self._waiting(),
        )

    def _rows(self, before: tuple[Row, ...], fresh: tuple[Row, ...]) -> tuple[Row, ...]:
        both = (*before, *fresh)
        return tuple([both[row] for row in self._order.tolist()])

    def _names(
        self, entries: tuple[view.Entry, ...], parent: NDArray[np.int32]
    ) -> tuple[Mapping[UUID, int], Mapping[str, int]]:
        """Node -> row, and handle -> row; those of before where every name has stayed in its place."""
        before = self._before
        at = np.flatnonzero(self._order >= before.size).tolist()
        if len(entries) == before.size and all(
            (entries[row].node, entries[row].id) == (before.entries[row].node, before.entries[row].id) for row in at
        ):
            return before.nodes, before.rows
        nodes = {entries[row].node: row for row in np.flatnonzero(parent < 0).tolist()}
        return nodes, {entry.id: row for row, entry in enumerate(entries)}

    def _breadth(self, grounds: tuple[str, ...]) -> NDArray[np.float64] | None:
        """How many words each place holds, where none of its records has changed."""
        before = self._before
        if "breadth" not in vars(before.corpus):
            return None
        assert before.corpus.group is not None
        gone = before.corpus.group[before.standing(self._gone)]
        touched = {*self._fresh.grounds, *(before.grounds[int(number)] for number in gone)}
        known = dict(zip(before.grounds, before.corpus.breadth.tolist(), strict=True))
        return np.array([-1.0 if g in touched else known.get(g, -1.0) for g in grounds])

    def _parents(self) -> NDArray[np.int32]:
        before, fresh = self._before.parent, self._fresh.parent
        parent = np.concatenate([before, np.where(fresh >= 0, fresh + len(before), -1)])[self._order]
        return np.where(parent >= 0, self._row[parent], -1).astype(np.int32)

    def _groups(self) -> tuple[NDArray[np.int32], tuple[str, ...]]:
        """Numbered anew, in the order in which they come."""
        before, fresh = self._before, self._fresh
        assert before.corpus.group is not None
        assert fresh.corpus.group is not None
        numbers = {ground: number for number, ground in enumerate(before.grounds)}
        others = np.array([numbers.setdefault(ground, len(numbers)) for ground in fresh.grounds], np.int32)
        group = np.concatenate([before.corpus.group, others[fresh.corpus.group] if fresh.size else fresh.corpus.group])
        used, first, place = np.unique(group[self._order], return_index=True, return_inverse=True)
        in_order = np.argsort(first)
        names = list(numbers)
        rank = np.empty(len(used), np.int32)
        rank[in_order] = np.arange(len(used), dtype=np.int32)
        return rank[place], tuple(names[int(number)] for number in used[in_order])

    def _places(self) -> dict[str, NDArray[np.int64]]:
        found: dict[str, NDArray[np.int64]] = {}
        there = {name: rows + self._before.size for name, rows in self._fresh.places.items()}
        for name in self._before.places.keys() | there.keys():
            rows = [v[name] for v in (self._before.places, there) if name in v]
            moved = self._row[np.concatenate(rows)]
            if len(moved := np.sort(moved[moved >= 0])):
                found[name] = moved
        return found

    def _vectors(self) -> NDArray[np.float32] | None:
        if self._fresh.vectors is None or self._before.vectors is None:
            return None
        is_new = self._order >= self._before.size
        vectors = self._before.vectors[np.where(is_new, 0, self._order)]
        vectors[is_new] = self._fresh.vectors[self._order[is_new] - self._before.size]
        return vectors

    def _waiting(self) -> tuple[int, ...]:
        waiting = [*self._before.waiting, *(row + self._before.size for row in self._fresh.waiting)]
        moved = self._row[np.array(waiting, np.int64)]
        return tuple(np.sort(moved[moved >= 0]).tolist())


def _name(of: View, row: int) -> tuple[str, str]:
    """What records are in order of: type and key."""
    entry = of.entries[row]
    return entry.type, entry.id[len(entry.type) + 1 :]
