"""What a budget holds: a ladder of small steps, of which the longest beginning that fits is taken.

A step raises one unit to a level. The ladder does not depend on the budget, so whatever a smaller budget shows a larger
one shows too, at the same level or above. It runs through the units in rank order, with the passes beside each other:
identities ahead, names at the pace of the ranking, full bodies behind. A step that is large against what stands before
it waits, so that no fat thing ends a document early.
Source of the numbers, and why not a knapsack: docs/design/composing.md.
"""

from __future__ import annotations

import heapq
import math
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from ukai.context import levels
from ukai.context.render.document import Layout, Page
from ukai.context.sections import Section, Unit

RESERVE = 0.08
"""Share of a document that identities alone may take."""
AHEAD = 4
"""Identities run as many ranks ahead."""
BEHIND = 8
"""Of things that are useful by their names already, the full body of rank n comes with the names of rank BEHIND * n."""
WAITS, FREE = 1, 400
"""A step of more than FREE tokens waits until what stands before it is WAITS times as large."""
Count = Callable[[str], float]
"""Tokens of a text; a fraction where the unit allows it."""


@dataclass(frozen=True, kw_only=True)
class Fate:
    """What became of a unit."""

    unit: Unit
    rank: int
    """From 1."""
    level: str
    tokens_full: int
    left: float
    """Tokens of the budget that no step fitted in any more."""
    ended: int = 0
    """The rank whose step did not fit any more: there the cut ended. 0: all steps fitted."""

    @property
    def reason(self) -> str:
        """In words."""
        if self.level == levels.FULL:
            return f"rank {self.rank} in full"
        what = "left out" if self.level == levels.NONE else f"degraded to {self.level}"
        # A small step behind the one that ended the cut would have fitted: then a larger budget could show less.
        ended = self.ended and self.ended != self.rank and self.tokens_full <= self.left
        where = f"the cut ended at rank {self.ended}; " if ended else ""
        return f"rank {self.rank} {what}: {where}needed {self.tokens_full:,}, had {self.left:,.0f}"


@dataclass(frozen=True, kw_only=True)
class Cut:
    """A filled page."""

    paper: Page
    layout: Layout
    units: tuple[Unit, ...]
    """In rank order."""
    used: float
    left: float
    shortened: bool
    """The document counted again was larger than its parts: its last steps were taken back."""
    ended: Unit | None = None
    """Whose step was the first that did not fit."""
    short: float = 0.0
    """What that step needed beyond what was left."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """How to cut."""

    passes: tuple[str, ...] = (levels.IDENTITY, levels.NAMES, levels.FULL)
    prefix: bool = False
    """The article's plain rule: sections in full, in rank order, up to the first that does not fit; then identities."""


DEFAULT = Plan()


def fill(sections: Sequence[Section], *, budget: float, count: Count, layout: Layout, plan: Plan = DEFAULT) -> Cut:
    """Fill a page from `sections`, best first."""
    units = [u for s in sections for u in s.units]
    ended, short = None, 0.0
    if plan.prefix:
        done = _prefix(units, budget, count, Page(layout))
    else:
        done, ended, short = _passes(units, budget, count, layout, plan)
    paper, shortened = _written(done, Page(layout)), False
    while (exact := count(paper.text())) > budget and done:
        # Tokens do not add up to the last one: the second count decides.
        del done[-max(1, len(done) // 50) :]
        paper, shortened = _written(done, Page(layout)), True
    return Cut(
        paper=paper,
        layout=layout,
        units=tuple(units),
        used=exact,
        left=budget - exact,
        shortened=shortened,
        ended=ended,
        short=short,
    )


def _passes(
    units: Sequence[Unit], budget: float, count: Count, layout: Layout, plan: Plan
) -> tuple[list[tuple[Unit, str]], Unit | None, float]:
    """The longest beginning of the ladder that fits; the unit whose step did not, and by how much."""
    done: list[tuple[Unit, str]] = []
    used = 0.0
    for unit, level, size in Ladder(units, count=count, page=Page(layout), passes=plan.passes):
        if used + size > budget:
            return done, unit, used + size - budget
        done.append((unit, level))
        used += size
    return done, None, 0.0


def _prefix(units: Sequence[Unit], budget: float, count: Count, page: Page) -> list[tuple[Unit, str]]:
    """In full up to the first that does not fit, with a reserve for the identities of all others."""
    done: list[tuple[Unit, str]] = []
    used, level, limit = 0.0, levels.FULL, budget * (1 - RESERVE)
    for unit in units:
        size = _cost(page, unit, level, count)
        if level == levels.FULL and used + size > limit:
            level, limit = levels.IDENTITY, budget
            size = _cost(page, unit, level, count)
        if used + size <= limit and not (level == levels.IDENTITY and unit.item.is_part):
            page.raise_to(unit, level)
            done.append((unit, level))
            used += size
    return done


def _cost(page: Page, unit: Unit, level: str, count: Count) -> float:
    added, taken = page.cost(unit, level)
    return count(added) - (count(taken) if taken else 0.0)


def _written(steps: Sequence[tuple[Unit, str]], paper: Page) -> Page:
    for unit, level in steps:
        paper.raise_to(unit, level)
    return paper


def fates(cut: Cut) -> Iterator[Fate]:
    """Every unit accounted for, in rank order. What it takes in full is an estimate: most are never counted."""
    left = max(0.0, cut.left)
    ended = 0 if cut.ended is None else next(n for n, u in enumerate(cut.units, 1) if u is cut.ended)
    for rank, unit in enumerate(cut.units, 1):
        level = cut.paper.levels.get(unit.id, levels.NONE)
        # With its heading, the one that ended the cut needed more than its own text.
        size = max(unit.size, math.ceil(left + cut.short)) if unit is cut.ended else unit.size
        yield Fate(unit=unit, rank=rank, level=level, tokens_full=size, left=left, ended=ended)


class Ladder:
    """All steps in their order, each with what it adds to a document that holds those before it."""

    def __init__(self, units: Sequence[Unit], *, count: Count, page: Page, passes: Sequence[str]) -> None:
        self._units, self._count, self._page, self._passes = units, count, page, passes
        self._stands = self._identities = 0.0
        self._joined = 0
        self._queue: list[tuple[float, int, str]] = []
        self._fat: list[tuple[float, float, int, str]] = []
        """Cost when it was put aside, time, rank, level."""
        self._names: deque[tuple[int, str]] = deque()

    def __iter__(self) -> Iterator[tuple[Unit, str, float]]:
        pinned = [r for r, u in enumerate(self._units) if u.item.pinned]
        for rank in pinned:
            heapq.heappush(self._queue, (-1.0, rank, levels.IDENTITY))
        while self._is_open() or self._fat or self._names:
            step = self._next()
            if step is not None:
                yield step

    def _is_open(self) -> bool:
        """Whether steps are left in the queue; those of later ranks join it when their time has come."""
        while self._joined < len(self._units) and (not self._queue or self._joined / AHEAD <= self._queue[0][0]):
            unit = self._units[self._joined]
            found = self._levels(unit)
            for level in found:
                time = _time(self._joined, level, has_names=len(found) > 2)
                heapq.heappush(self._queue, (time, self._joined, level))
            self._joined += 1
        return bool(self._queue)

    def _levels(self, unit: Unit) -> list[str]:
        """Those that say more than the one before: a part has but its text, a thing without elements no names."""
        if unit.item.is_part:
            return [levels.FULL]
        between = [p for p in self._passes if p not in (levels.IDENTITY, levels.FULL)]
        return [levels.IDENTITY, *(between if unit.subjects[0].names else []), levels.FULL]

    def _next(self) -> tuple[Unit, str, float] | None:
        if self._fat and (self._fat[0][0] * WAITS <= self._stands or not (self._queue or self._names)):
            _, _, rank, level = heapq.heappop(self._fat)
            return self._step(rank, level)
        if self._names:
            rank, level = self._names[0]
            cost = self._cost(self._units[rank], level)
            if self._identities + cost <= RESERVE * (self._stands + cost) or not self._queue:
                self._names.popleft()
                return self._step(rank, level)
        time, rank, level = heapq.heappop(self._queue)
        unit = self._units[rank]
        if time < 0:
            return self._step(rank, level)
        if level == levels.IDENTITY:
            self._names.append((rank, level))
            return None
        cost = self._cost(unit, level)
        if cost > FREE and cost * WAITS > self._stands:
            heapq.heappush(self._fat, (cost, time, rank, level))
            return None
        return self._step(rank, level)

    def _step(self, rank: int, level: str) -> tuple[Unit, str, float] | None:
        unit = self._units[rank]
        stands = self._page.levels.get(unit.id)
        return None if stands is not None and levels.at_least(stands, level) else self._taken(unit, level)

    def _taken(self, unit: Unit, level: str) -> tuple[Unit, str, float]:
        cost = self._cost(unit, level)
        self._page.raise_to(unit, level)
        self._stands += cost
        self._identities += cost if level == levels.IDENTITY else 0.0
        return unit, level, cost

    def _cost(self, unit: Unit, level: str) -> float:
        return _cost(self._page, unit, level, self._count)


def _time(rank: int, level: str, *, has_names: bool) -> float:
    if level == levels.IDENTITY:
        return rank / AHEAD
    return float(BEHIND * (rank + 1)) if level == levels.FULL and has_names else float(rank)
