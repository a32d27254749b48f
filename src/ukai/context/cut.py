"""What a budget holds: a ladder of small steps, of which the longest beginning that fits is taken.

A step raises one unit to a level. The ladder does not depend on the budget, so whatever a smaller budget shows a larger
one shows too, at the same level or above. It runs from stop to stop, the budgets that people use: up to each of them it
goes through the units in rank order and passes over what would not fit before it, which comes first behind it. The
passes run beside each other: identities ahead, names at the pace of the ranking, full bodies behind.
Source of the numbers, and why not a knapsack: docs/design/composing.md.
"""

from __future__ import annotations

import heapq
import math
from collections import deque
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ukai.context import levels
from ukai.context.render.document import Layout, Page
from ukai.context.scope import BUDGET_TOKENS, CEILING_TOKENS
from ukai.context.sections import Unit
from ukai.kit import light

STOPS = (1_000, 2_500, 5_000, 10_000, BUDGET_TOKENS, 30_000, CEILING_TOKENS)
"""Tokens. Budgets at which a document is as full as its units allow; between them it may lack the size of one unit."""
PASSED = 16
"""So many steps that do not fit before a stop, though they almost would, are passed over; then the next one begins. Of
the parts of one thing the first alone counts: those that are no shorter are passed over with it."""
THIN = 0.5
"""No text has fewer tokens than so many for four of its characters."""
RESERVE = 0.08
"""Share of a document that identities alone may take."""
AHEAD = 4
"""Identities run as many ranks ahead."""
BEHIND = 8
"""Of things that are useful by their names already, the full body of rank n comes with the names of rank BEHIND * n."""
WAITS, FREE = 1, 400
"""A step of more than FREE tokens waits until what stands before it is WAITS times as large."""
FIRST = "came first and it did not fit"
TURNS = "turns are kept, which are not ranks, so that a larger budget never shows less than a smaller one"
"""Said once where a reason has FIRST."""
Count = Callable[[str], float]
"""Tokens of a text; a fraction where the unit allows it."""
Order = Callable[[int], Sequence[Unit]]
"""The units, best first, as a document of so many tokens ranks them: what is read together depends on its size."""


@light.value
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
    is_given: bool = False
    """The conversation has what it says at this level."""
    is_next: bool = True
    """A larger document goes on with the step that ended the cut; else it ended after PASSED that had no room."""

    @property
    def reason(self) -> str:
        """In words."""
        if self.is_given:
            return f"rank {self.rank} already given in this conversation"
        if self.level == levels.FULL:
            return f"rank {self.rank} in full"
        what = "left out" if self.level == levels.NONE else f"degraded to {self.level}"
        figures = f"needed {self.tokens_full:,}, had {math.floor(self.left):,}"
        return f"rank {self.rank} {what}: {figures}{self._although}"

    @property
    def _although(self) -> str:
        """Why it was not taken though there was room: its turn, which is not its rank, did not come."""
        if not self.ended or self.ended == self.rank or self.tokens_full > self.left:
            return ""
        if self.is_next:
            return f", but the turn of rank {self.ended} {FIRST}"
        return f", but {PASSED} steps before it did not fit, the last of rank {self.ended}: then no more are tried"


@dataclass(frozen=True, kw_only=True)
class Cut:
    """A filled page."""

    paper: Page
    text: str
    """Of the page: the whole document."""
    layout: Layout
    units: tuple[Unit, ...]
    """In rank order."""
    steps: tuple[tuple[Unit, str], ...]
    """In which it came about."""
    used: float
    left: float
    shortened: bool
    """The document counted again was larger than its parts: its last steps were taken back."""
    ended: Unit | None = None
    """Whose step was the first that did not fit."""
    short: float = 0.0
    """What that step needed beyond what was left."""
    is_next: bool = True
    """A larger document goes on with that step."""
    passed: Mapping[str, tuple[float, float]] = field(default_factory=dict[str, tuple[float, float]])
    """Unit -> what its step needed when its turn came, and what was left then: it was passed over."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """How to cut."""

    passes: tuple[str, ...] = (levels.IDENTITY, levels.NAMES, levels.FULL)
    prefix: bool = False
    """The article's plain rule: sections in full, in rank order, up to the first that does not fit; then identities."""


DEFAULT = Plan()
Step = tuple[Unit, str]
"""A unit, and the level to which it is raised."""


def fill(
    order: Order,
    *,
    budget: float,
    count: Count,
    layout: Layout,
    plan: Plan = DEFAULT,
    before: Cut | None = None,
) -> Cut:
    """Fill a page from the units of `order`. `before` is the usual document, which this larger one goes on from."""
    units = tuple(order(stop_of(budget)))
    ladder = Ladder(order, count=count, page=Page(layout), passes=plan.passes)
    if plan.prefix:
        done = ladder.prefix(units, budget)
    else:
        for unit, level in before.steps if before else ():
            ladder.take(unit, level, ladder.cost(unit, level))
        done = [*(before.steps if before else ()), *ladder.up_to(budget, since=BUDGET_TOKENS if before else 0)]
    paper, ended, short, shortened = ladder.page, ladder.passed, ladder.short, False
    while (exact := count(text := paper.text())) > budget and done:
        # Tokens do not add up to the last one: the second count decides. One step at a time, so that a larger budget
        # keeps what a smaller one keeps.
        ended, short = done.pop()[0], exact - budget
        paper, shortened = _written(done, Page(layout)), True
    if before and len(done) < len(before.steps):
        # What came to stand there made the beginning larger than it is alone.
        return replace(
            before, units=units, left=budget - before.used, ended=ended, short=short, is_next=True, passed={}
        )
    return Cut(
        paper=paper,
        text=text,
        layout=layout,
        units=units,
        steps=tuple(done),
        used=exact,
        left=budget - exact,
        shortened=shortened,
        ended=ended,
        short=short,
        is_next=shortened or plan.prefix or ladder.is_full,
        passed=ladder.all_passed,
    )


def stop_of(budget: float) -> int:
    """The size of document for which the units of one of `budget` are ranked."""
    return next((s for s in STOPS if s >= budget), STOPS[-1])


def _cost(page: Page, unit: Unit, level: str, count: Count) -> float:
    added, taken = page.cost(unit, level)
    return count(added) - (count(taken) if taken else 0.0)


def _written(steps: Sequence[Step], paper: Page) -> Page:
    for unit, level in steps:
        paper.raise_to(unit, level)
    return paper


def fates(cut: Cut) -> Iterator[Fate]:
    """Every unit accounted for, in rank order. What it takes in full is an estimate: most are never counted."""
    left = max(0.0, cut.left)
    ended = 0 if cut.ended is None else next(n for n, u in enumerate(cut.units, 1) if u is cut.ended)
    for rank, unit in enumerate(cut.units, 1):
        level = cut.paper.levels.get(unit.id, levels.NONE)
        # With its heading, a step that did not fit needed more than its own text; and where the finished document
        # counts less than its parts, there was less room when its turn came.
        cost, room = (left + cut.short, left) if unit is cut.ended else cut.passed.get(unit.id, (unit.size, left))
        yield Fate(
            unit=unit,
            rank=rank,
            level=level,
            tokens_full=max(unit.size, math.ceil(cost)),
            left=left if cost > left else room,
            ended=ended,
            is_given=cut.paper.points_at(unit),
            is_next=cut.is_next,
        )


class Ladder:
    """All steps in their order, each taken when it is given out."""

    def __init__(self, order: Order, *, count: Count, page: Page, passes: Sequence[str]) -> None:
        self._order, self._count = order, count
        between = [p for p in passes if p not in (levels.IDENTITY, levels.FULL)]
        self._levels = ((levels.FULL,), (levels.IDENTITY, levels.FULL), (levels.IDENTITY, *between, levels.FULL))
        """Those that say more than the one before: of a part, of a thing without elements, of one with elements."""
        self.page = page
        """What stands."""
        self.stands = 0.0
        """Tokens of all steps so far."""
        self.passed: Unit | None = None
        """Whose step was the last that did not fit."""
        self.short = 0.0
        """What that step needed beyond what was left."""
        self.all_passed: dict[str, tuple[float, float]] = {}
        """Unit -> what its step needed and what was left, of those that did not fit on the way to the last stop."""
        self.is_full = False
        """The last that did not fit is the next step of a larger document."""
        self._identities = 0.0
        self._costs: dict[tuple[str, str], tuple[Hashable, float]] = {}
        """Unit and level -> the state of the page, and what the step cost in it: it is asked for again and again."""

    def up_to(self, budget: float, since: float = 0) -> Iterator[Step]:
        """The steps of a document of `budget`, from stop to stop, until one does not fit into it."""
        for stop in (*(s for s in STOPS if s > since), math.inf):
            yield from self._before(stop, budget)
            if stop >= budget or self.is_full:
                return

    def prefix(self, units: Sequence[Unit], budget: float) -> list[Step]:
        """In full up to the first that does not fit, with a reserve for the identities of all others."""
        done: list[Step] = []
        level, limit = levels.FULL, budget * (1 - RESERVE)
        for unit in units:
            cost = self.cost(unit, level)
            if level == levels.FULL and self.stands + cost > limit:
                self.passed, self.short = unit, self.stands + cost - limit
                level, limit = levels.IDENTITY, budget
                cost = self.cost(unit, level)
            if self.stands + cost <= limit and not (level == levels.IDENTITY and unit.item.is_part):
                self.take(unit, level, cost)
                done.append((unit, level))
        return done

    def cost(self, unit: Unit, level: str) -> float:
        """What `unit` would take at `level` as the page is now."""
        key, now = (unit.id, level), self.page.state(unit, level)
        known = self._costs.get(key)
        if known is None or known[0] != now:
            known = self._costs[key] = (now, _cost(self.page, unit, level, self._count))
        return known[1]

    def take(self, unit: Unit, level: str, cost: float) -> None:
        """`unit` stands at `level` from now on."""
        self.page.raise_to(unit, level)
        self.stands += cost
        self._is_waiting = False
        self._identities += cost if level == levels.IDENTITY else 0.0

    def _before(self, stop: float, budget: float) -> Iterator[Step]:
        """Steps in rank order, without those that do not fit before `stop`."""
        self._units = self._order(int(min(stop, STOPS[-1])))
        self._end, self._stop = min(stop, budget), stop
        self.is_full, self.passed, self.all_passed, left = False, None, {}, PASSED
        self._queue = deque(sorted(self._open()))
        """Time, rank, level."""
        self._fat: list[tuple[float, float, int, str]] = []
        """Cost when it was put aside, time, rank, level."""
        self._names: deque[Unit] = deque()
        """Those whose identities wait for their share of what stands."""
        self._is_waiting = False
        """The first of them has no room yet: before another step is taken it has none either."""
        self._too_long: dict[str, int] = {}
        """Thing -> the size of the shortest of its parts that did not fit before the stop."""
        while left and (self._queue or self._fat or self._names):
            found = self._next()
            if found is None:
                continue
            unit, level, cost = found
            if cost <= self._end - self.stands:
                self.take(unit, level, cost)
                yield unit, level
                continue
            self._pass(unit, cost)
            if cost <= stop - self.stands:
                self.is_full = True
                return
            whole = unit.item.parent if unit.item.is_part else None
            left -= whole is None or whole not in self._too_long
            if whole is not None:
                self._too_long[whole] = unit.size

    def _open(self) -> Iterator[tuple[float, int, str]]:
        """The steps that say more than what stands, with their time and rank."""
        for rank, unit in enumerate(self._units):
            stands = self.page.levels.get(unit.id)
            if stands == levels.FULL:
                continue
            found = self._levels[0 if unit.item.is_part else 2 if unit.subjects[0].names else 1]
            for level in found:
                if stands is None or not levels.at_least(stands, level):
                    yield _time(rank, level, has_names=len(found) > 2), rank, level
            if unit.item.pinned and stands is None:
                yield -1.0, rank, levels.IDENTITY

    def _next(self) -> tuple[Unit, str, float] | None:
        """The step whose turn it is, and what it costs. None: it does not fit, stands already, or has to wait."""
        if self._fat and (self._fat[0][0] * WAITS <= self.stands or not (self._queue or self._names)):
            _, _, rank, level = heapq.heappop(self._fat)
            return self._offered(self._units[rank], level)
        if self._names and not (self._is_waiting and self._queue):
            unit = self._names[0]
            offered = self._offered(unit, levels.IDENTITY)
            cost = offered[2] if offered else 0.0
            if not offered or not self._queue or self._identities + cost <= RESERVE * (self.stands + cost):
                self._names.popleft()
                return offered
            self._is_waiting = True
        time, rank, level = self._queue.popleft()
        unit = self._units[rank]
        if level == levels.IDENTITY and time >= 0:
            self._names.append(unit)
            return None
        offered = self._offered(unit, level)
        if offered is None or time < 0:
            return offered
        cost = offered[2]
        if cost > FREE and cost * WAITS > self.stands:
            heapq.heappush(self._fat, (cost, time, rank, level))
            return None
        return offered

    def _offered(self, unit: Unit, level: str) -> tuple[Unit, str, float] | None:
        stands = self.page.levels.get(unit.id)
        if stands is not None and levels.at_least(stands, level):
            return None
        if self._is_far(unit, level):
            self._pass(unit, unit.size)
            return None
        return unit, level, self.cost(unit, level)

    def _is_far(self, unit: Unit, level: str) -> bool:
        """It cannot fit before the stop: that is seen without counting."""
        if level != levels.FULL:
            return False
        known = self._too_long.get(unit.item.parent or "") if unit.item.is_part else None
        return THIN * unit.size > self._stop - self.stands or (known is not None and unit.size >= known)

    def _pass(self, unit: Unit, cost: float) -> None:
        room = self._end - self.stands
        self.passed, self.short = unit, cost - room
        self.all_passed[unit.id] = (cost, room)


def _time(rank: int, level: str, *, has_names: bool) -> float:
    if level == levels.IDENTITY:
        return rank / AHEAD
    return float(BEHIND * (rank + 1)) if level == levels.FULL and has_names else float(rank)
