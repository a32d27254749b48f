"""The executed graph: every strategy under its own time and cap, and the candidates that they leave.

A strategy that hangs or breaks contributes nothing and says so; what the others found stands (context req. 15-19).
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from uuid import UUID

import numpy as np

from ukai.context import sections
from ukai.context.settings import Settings
from ukai.context.strategies.asked import Asked, Candidate, Strategy

MOST, WIDE = 4, 3
"""Of bodies as many times the candidates of a composition are read, where some stand for many; and of what stands for
many what would fill the document as many times by names alone."""


@dataclass(frozen=True, kw_only=True)
class Step:
    """What one strategy came to."""

    strategy: str
    fired: bool
    candidates: int = 0
    capped: bool = False
    """It found more than it may bring."""
    timed_out: bool = False
    failed: str = ""
    """The kind of error it ended with; never its words, which may quote what it read."""
    way: str = ""
    """The branch that the count decided on."""
    ms: float = field(default=0.0, compare=False)

    def as_json(self) -> dict[str, object]:
        """Without the time it took, which differs from call to call."""
        found: dict[str, object] = {
            "strategy": self.strategy,
            "fired": self.fired,
            "candidates": self.candidates,
            "timed_out": self.timed_out,
            "capped": self.capped,
        }
        return found | {k: v for k, v in (("failed", self.failed), ("way", self.way)) if v}


async def run(
    ask: Asked, strategies: Mapping[str, Strategy], *, without: frozenset[str] = frozenset()
) -> tuple[list[Step], list[Candidate]]:
    """All strategies in their order. `without` names those that timed out when this was composed the first time."""
    steps: list[Step] = []
    for name, strategy in strategies.items():
        if name in without:
            steps.append(Step(strategy=name, fired=True, timed_out=True))
            continue
        step, rows = await _one(ask, name, strategy)
        _note(ask.found, name, rows)
        steps.append(step)
    return steps, _candidates(ask)


def _note(found: dict[int, tuple[str, ...]], name: str, rows: Sequence[int]) -> None:
    """Rows that the same strategies found share one tuple of their names."""
    more: dict[tuple[str, ...], tuple[str, ...]] = {}
    for row in rows:
        before = found.get(row, ())
        found[row] = more.get(before) or more.setdefault(before, (*before, name))


async def _one(ask: Asked, name: str, strategy: Strategy) -> tuple[Step, Sequence[int]]:
    started = time.perf_counter()
    timed_out, failed, rows = False, "", list[int]()
    fired, limit = False, asyncio.timeout(strategy.timeout_ms(ask.settings) / 1_000)
    try:
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(limit)
            fired = strategy.fires(ask)
            if fired and strategy.reads(ask):
                await stack.enter_async_context(ask.tx.savepoint())
            rows = list(await strategy.find(ask)) if fired else []
    except TimeoutError:
        timed_out = True
    except Exception as error:  # whatever a strategy does must not cost the others' work
        # What is cancelled while it is being sent ends with a connection that is lost.
        timed_out = limit.expired()
        failed = "" if timed_out else type(error).__name__
    cap = strategy.cap(ask.settings)
    step = Step(
        strategy=name,
        fired=fired,
        candidates=min(len(rows), cap),
        capped=len(rows) > cap,
        timed_out=timed_out,
        failed=failed,
        way=ask.notes.get(name, ""),
        ms=round((time.perf_counter() - started) * 1e3, 2),
    )
    return step, rows[:cap]


def _candidates(ask: Asked) -> list[Candidate]:
    if not ask.found:
        return []
    score = ask.score
    rows = sorted(ask.found)
    best = ask.best(score, ask.settings.composition_cap, np.array(rows, np.int64))
    pinned = {r for r in rows if "pinned" in ask.found[r]}
    chosen = [*best, *sorted(pinned.difference(best))]
    numbers = zip(score[chosen].round(6).tolist(), ask.view.corpus.size[chosen].tolist(), strict=True)
    entries, found, wholes = ask.view.entries, ask.found, ask.wholes
    return [
        Candidate(
            entries[r].id,
            entries[r].node,
            entries[r].part,
            value,
            found[r],
            r in pinned,
            size,
            r in ask.theirs,
            bodies=sum(1 + len(e) for _, e in wholes.get(entries[r].node, ())) or 1
            if wholes and not entries[r].part
            else 1,
        )
        for r, (value, size) in zip(chosen, numbers, strict=True)
    ]


def whole(ask: Asked, candidates: Sequence[Candidate]) -> list[Candidate]:
    """The candidates with what they stand for, elements behind what they are elements of."""
    result: list[Candidate] = []
    for c in candidates:
        of = () if c.part or not ask.wholes else ask.wholes.get(c.node, ())
        for entry, elements in of:
            result.append(c._replace(id=entry.id, node=entry.node))
            # Not `_replace`, which takes ten times as long: there are thousands.
            told = (c.score, (), c.pinned, c.size, c.owned, entry.id, c.bodies)
            result += [Candidate(e.id, e.node, c.part, *told) for e in elements]
        if not of:
            result.append(c)
    return result


def within_reach(candidates: Sequence[Candidate], tokens: int, settings: Settings, given: Collection[str] = ()) -> int:
    """How many of `candidates`, best first, are worth reading for a document of so many tokens.

    What was `given` takes no room: it is read to see whether it still says the same. A table counts as one, for its
    name or those of its columns may be all that stands: what bounds the work are these names, which are its size, and
    the bodies that come with it. Like a section of a document, one record counts as at most a share of it where there
    are others: with many long parts, of which none fits, it would else stand for all that was found.
    """
    least = settings.least + tokens // settings.least_tokens
    room, filled, named, read, counted = 4 * settings.room * tokens, 0.0, 0, 0, 0
    most = room / sections.SHARE if len({c.node for c in candidates}) > 1 else math.inf
    fills: dict[UUID, int] = {}
    for number, c in enumerate(candidates):
        is_full = (filled > room and counted >= least) or (named > WIDE * room and counted >= settings.least)
        if is_full or read > MOST * settings.composition_cap:
            return number
        left = most - fills.get(c.node, 0)
        if c.id not in given and left > 0:
            fills[c.node] = fills.get(c.node, 0) + c.size
            counted += 1
            filled += min(c.size, left)
            named += c.size if c.bodies > 1 else 0
        read += c.bodies
    return len(candidates)
