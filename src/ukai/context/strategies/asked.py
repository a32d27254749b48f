"""What strategies work with, and what they bring: rows of a view with what speaks for them, never a body."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import UUID

import numpy as np

from ukai import store
from ukai.context import names, score
from ukai.context.clause import CompiledScope
from ukai.context.elements import Wholes
from ukai.context.settings import Settings
from ukai.context.view import View
from ukai.graph import schema
from ukai.llm.cache import Cache

if TYPE_CHECKING:
    from numpy.typing import NDArray


BOUND, AHEAD = 5.0, 1.0
"""Where names were said: what words and meaning can give to what belongs to others, with less than one more; and how
far the named records stand before all else."""


class Candidate(NamedTuple):
    """What may stand in the document: an id with a score. Only the access-checked fetch makes a body of it."""

    id: str
    node: UUID
    part: str
    score: float
    why: tuple[str, ...]
    """The strategies that found it, in the order in which they ran."""
    pinned: bool = False
    size: int = 0
    """Characters of its text, as the index counted them."""
    owned: bool = False
    """It is named, or belongs to what is."""
    parent: str | None = None
    """The id of the candidate that it is an element of: it comes with that one."""
    bodies: int = 1
    """So many come with it, itself counted."""


class Near(NamedTuple):
    """What the approximate index says lies near a vector."""

    found: Sequence[tuple[UUID, str, float]]
    """`(node, part, cosine)` of passages, the nearest first."""
    vector: Sequence[float]


@dataclass(kw_only=True, eq=False)
class Asked:
    """One question while it is worked on. Strategies read what earlier ones left; each returns rows of `view`."""

    tx: store.Transaction
    scope: CompiledScope
    question: str
    """As it was asked."""
    questions: tuple[str, ...]
    """What is looked for: the question without the names in it, once they are known, and its sentences."""
    types: Mapping[str, schema.Type]
    cache: Cache | None
    settings: Settings
    view: View
    wholes: Mapping[UUID, Wholes] = field(default_factory=dict[UUID, Wholes])
    """Records of the view that stand for others, too: their elements, and siblings that are like them."""
    things: frozenset[UUID] = frozenset()
    """What consists of others, and these: words find them, for they are called as all things are, `DATE`, `ORDERS`."""
    named: Sequence[names.Named] = ()
    lexicals: Sequence[NDArray[np.float64]] | None = None
    """How well the words fit, for each of `questions` one number an item; None: not weighed."""
    cosines: Sequence[NDArray[np.float64]] | None = None
    """How near the meaning is."""
    bonus: dict[int, float] = field(default_factory=dict[int, float])
    """Row -> what is added to its score."""
    theirs: frozenset[int] = frozenset()
    """Rows of the named records and of what they own, with their parts."""
    first: Sequence[int] = ()
    """Rows of the named records: nothing stands before them."""
    others: NDArray[np.int64] | None = None
    """Rows of the types of what is named or belongs to it, that belong to something else."""
    found: dict[int, tuple[str, ...]] = field(default_factory=dict[int, tuple[str, ...]])
    """Row -> the strategies that found it, so far."""
    notes: dict[str, str] = field(default_factory=dict[str, str])
    """Strategy -> the way it took, where it has several."""
    ann: Near | None = None
    """What the approximate index said, where it was asked: to be checked now and then."""
    _known: tuple[tuple[Any, Any], NDArray[np.float64]] | None = None

    @property
    def score(self) -> NDArray[np.float64]:
        """One number an item, in standard deviations: words and meaning mixed, and what strategies add."""
        mixed = self._mixed().copy()
        if self.others is not None:
            mixed[self.others] = _bounded(mixed[self.others])
        for row, more in self.bonus.items():
            mixed[row] += more
        if self.first:
            first = list(self.first)
            best = np.delete(mixed, first).max(initial=mixed[first].min())
            mixed[first] += AHEAD + best - mixed[first].min()
        return mixed

    def _mixed(self) -> NDArray[np.float64]:
        of = (self.lexicals, self.cosines)
        if self._known is None or any(a is not b for a, b in zip(self._known[0], of, strict=True)):
            terms = [score.terms(q) for q in self.questions]
            lexicals = self.lexicals or [np.zeros(self.view.size) for _ in self.questions]
            mixed = score.mixed(lexicals, self.cosines, corpus=self.view.corpus, questions=terms)
            self._known = of, mixed
        return self._known[1]

    def best(self, score: NDArray[np.float64], limit: int, among: NDArray[np.int64] | None = None) -> list[int]:
        """The rows with the highest `score`, best first, ties in the order of the view."""
        values = score if among is None else score[among]
        near = np.arange(len(values))
        if len(values) > limit:
            near = np.flatnonzero(values >= np.partition(values, -limit)[-limit])
        order = near[np.argsort(-values[near], kind="stable")[:limit]]
        return (order if among is None else among[order]).tolist()


def _bounded(score: NDArray[np.float64]) -> NDArray[np.float64]:
    """In the same order. The standard score of a word that few things hold has no bound; what a name adds has one."""
    over = np.maximum(score - BOUND, 0.0)
    return np.minimum(score, BOUND) + over / (1 + over)


@dataclass(frozen=True, kw_only=True)
class Strategy:
    """One way to candidates."""

    fires: Callable[[Asked], bool]
    """Whether it has anything to do with this question in this scope."""
    find: Callable[[Asked], Awaitable[Sequence[int]]]
    """Rows of the view, best first."""
    timeout_ms: Callable[[Settings], int]
    cap: Callable[[Settings], int] = lambda s: s.strategy_cap
    reads: Callable[[Asked], bool] = lambda _: False
    """Whether it asks the store, and is to be undone there when it is stopped."""
