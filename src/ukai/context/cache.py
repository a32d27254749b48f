"""Views kept in this process: by whose rights, in which scope, of which graph (context req. 38-39).

A key holds the hash of the rights with every group behind it, so nobody meets a view that was made for another. A view
is used again only while the store says that nothing has changed since; where that cannot be said it is read again. What
is kept are ids and numbers: a body is never served from here, so a wrong key could be a bad answer and never a leak.
Of views that came out the same for several callers one is kept.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol
from weakref import WeakKeyDictionary

from ukai import store
from ukai.context import following, line, view
from ukai.context.clause import CompiledScope
from ukai.context.rows import compositions
from ukai.context.rows import views as listing
from ukai.graph import schema
from ukai.kit import canonical
from ukai.llm.cache import Cache

MEMORY = 512 * 2**20
"""Bytes of views and answers that one process keeps; the one that was not asked for longest goes first."""

ANSWERS = 64
"""Questions of one view whose candidates are kept."""


class Weighed(Protocol):
    """What is kept for a question."""

    @property
    def nbytes(self) -> int:
        """What it takes in memory beside its view, roughly."""
        ...


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """Where a scope is too large to be looked at as a whole."""

    in_memory: int
    """Records; above, a view is made anew of those that share a word with the question or lie near it."""
    exact: int
    """Items; above, vectors are not held but asked for by the approximate index."""


class Found:
    """What retrieval came to for a view, by question: ids and scores. Who was kept first goes first."""

    def __init__(self) -> None:
        self._by_question: dict[Hashable, Weighed] = {}
        self.nbytes = 0
        """What all of it takes, counted as it comes and goes: it is asked for twice a composition."""

    def __len__(self) -> int:
        return len(self._by_question)

    def get(self, question: Hashable) -> Weighed | None:
        """None where nothing is known."""
        return self._by_question.get(question)

    def keep(self, question: Hashable, found: Weighed) -> None:
        """In place of what was kept for the question before."""
        before = self._by_question.pop(question, None)
        self._by_question[question] = found
        self.nbytes += found.nbytes - (before.nbytes if before else 0)
        if len(self) > ANSWERS:
            self.drop_first()

    def drop_first(self) -> None:
        """Give up what was kept first."""
        self.nbytes -= self._by_question.pop(next(iter(self._by_question))).nbytes


@dataclass(frozen=True, kw_only=True)
class _Kept:
    view: view.View
    kind: str
    """What views are made with, whoever they are for."""
    at: listing.Position
    """Where the graph was when the view was last found to be true."""
    position: str
    """The same as one word; empty: not to be relied on."""
    answers: Found


class Answers:
    """What retrieval came to for a view, by question. Nothing is kept where nothing may be relied on."""

    def __init__(self, kept: Found | None, position: str, *, fit: Callable[[], None] = lambda: None) -> None:
        self._kept, self._fit = kept, fit
        self.position = position
        """Where the graph was; empty: what is kept is true in the snapshot of `get` alone."""

    def get(self, question: Hashable) -> Any:
        """What was found before; None where nothing is known."""
        return None if self._kept is None else self._kept.get(question)

    def keep(self, question: Hashable, found: Weighed) -> None:
        """Remember ids and scores."""
        if self._kept is not None:
            self._kept.keep(question, found)
            self._fit()


class Views:
    """The views of one database. Share one in a process."""

    def __init__(self, *, memory: int = MEMORY) -> None:
        self._memory = memory
        self._kept: OrderedDict[str, _Kept] = OrderedDict()
        self._making: dict[str, asyncio.Lock] = {}
        self._secret = b""
        self.line = line.Line()
        """In which compositions wait for a connection."""
        self.hits = 0
        """Calls that found the graph where it was."""
        self.misses = 0

    async def secret(self, tx: store.Transaction) -> bytes:
        """What references of this deployment are made with; it never changes."""
        self._secret = self._secret or await compositions.secret(tx)
        return self._secret

    async def get(
        self,
        tx: store.Transaction,
        scope: CompiledScope,
        *,
        types: Mapping[str, schema.Type],
        cache: Cache | None,
        bounds: Bounds,
    ) -> view.View | None:
        """The view of the scope in this snapshot; None where it is too large to have one."""
        name = key_of(scope, types, cache)
        lock = self._making.setdefault(name, asyncio.Lock())
        try:
            async with lock:  # a second caller waits for the first instead of reading the same once more
                return await self._get(tx, scope, name, types, cache, bounds)
        finally:
            if not lock.locked():
                self._making.pop(name, None)

    async def _get(
        self,
        tx: store.Transaction,
        scope: CompiledScope,
        name: str,
        types: Mapping[str, schema.Type],
        cache: Cache | None,
        bounds: Bounds,
    ) -> view.View | None:
        now = await listing.position(tx)
        kept = self._kept.get(name)
        if kept is None or not kept.position or kept.position != now.text:
            self.misses += 1
            made = await following.followed(tx, scope, types, cache, kept.view, kept.at) if kept else None
            if made is None and await listing.count(tx, scope.clause, bounds.in_memory + 1) <= bounds.in_memory:
                found = await listing.listed(tx, scope.clause)
                made = await view.read(tx, scope, types, found)
        else:
            self.hits += 1
            made = kept.view
        # Views grow as they follow, and the bounds of a deployment may be others than they were.
        if made is None or made.records > bounds.in_memory:
            self._kept.pop(name, None)
            return None
        if made.size > bounds.exact and made.vectors is not None:
            made = replace(made, vectors=None, waiting=())
        answers = kept.answers if kept and kept.view is made and kept.position == now.text else None
        if cache is not None and made.size <= bounds.exact and (made.vectors is None or made.missing):
            more = await view.with_vectors(tx, made, cache)
            made, answers = more, answers if more is made else None
        # Behind a transaction that is still open something may come in without moving the end of the feed.
        position = now.text if now.is_settled else ""
        kind, answers = kind_of(types, cache), Found() if answers is None else answers
        kept = _Kept(view=self._once(made, kind, position), kind=kind, at=now, position=position, answers=answers)
        self._keep(name, kept)
        return kept.view

    def answers(self, scope: CompiledScope, types: Mapping[str, schema.Type], cache: Cache | None) -> Answers:
        """What was asked of the view of a scope: true in the snapshot of `get`, or as long as they `hold`."""
        name = key_of(scope, types, cache)
        kept = self._kept.get(name)
        if kept is None or not kept.position:
            return Answers(None, "")
        self._kept.move_to_end(name)
        # Vectors that are still missing come without a change of the graph.
        is_waiting = kept.view.vectors is not None and kept.view.missing
        return Answers(kept.answers, "" if is_waiting else kept.position, fit=self._fit)

    async def hold(self, tx: store.Transaction, answers: Answers) -> bool:
        """Whether nothing has changed from when the view of these answers was made until now."""
        now = await listing.position(tx)
        is_true = now.is_settled and now.text == answers.position
        self.hits += is_true
        return is_true

    def _once(self, made: view.View, kind: str, position: str) -> view.View:
        """The view that is kept for somebody else who sees the very same: the one that was made now is given up.

        Only after it was made, whole, for this caller: nobody is answered sooner because somebody else has asked.
        """
        for kept in self._kept.values():
            if position and (kept.position, kept.kind) == (position, kind) and view.are_equal(kept.view, made):
                return kept.view
        return made

    def _keep(self, name: str, kept: _Kept) -> None:
        self._kept[name] = kept
        self._kept.move_to_end(name)
        self._fit()

    def _fit(self) -> None:
        """Give up what was not asked for longest: views with their answers, of the last one the answers alone."""
        while len(self._kept) > 1 and self.nbytes > self._memory:
            self._kept.popitem(last=False)
        for last in self._kept.values():
            while last.answers and self.nbytes > self._memory:
                last.answers.drop_first()

    @property
    def nbytes(self) -> int:
        """Bytes that are kept, what several views have in common once."""
        parts: dict[int, int] = {}
        for kept in self._kept.values():
            parts |= kept.view.parts
        return sum(parts.values()) + sum(kept.answers.nbytes for kept in self._kept.values())


def key_of(scope: CompiledScope, types: Mapping[str, schema.Type], cache: Cache | None) -> str:
    """Equal only for callers who see the same of the same places, with the same types and the same model."""
    return canonical.sha256([scope.key, kind_of(types, cache)])


def kind_of(types: Mapping[str, schema.Type], cache: Cache | None) -> str:
    """Equal only for views of the same types and the same model.

    What a type says of places and readers is no content, and still decides which fields a document is silent of.
    """
    known = sorted((n, t.content_hash, t.path, t.readers.field if t.readers else "") for n, t in types.items())
    return canonical.sha256([known, cache.embedder.model_id if cache else ""])


_OF: WeakKeyDictionary[store.Database, Views] = WeakKeyDictionary()


def of(db: store.Database) -> Views:
    """The views of this process over `db`."""
    return _OF.setdefault(db, Views())
