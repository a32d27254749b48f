"""When a model ranks: a cross-encoder, or a chat model that first leaves out and then sorts in two views.

Counts decide whether it is asked at all (context req. 17, E9): where everything found fits the budget there is nothing
to choose. What a model said is kept, so that the same composition can be made again without it. A model that fails
ranks nothing: the scores do.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ukai.context import assembly, cut, levels, rank, relevance, sections
from ukai.context.item import Item
from ukai.context.retrieval import Step
from ukai.context.settings import Settings

Ranker = rank.CrossEncoder | rank.Model
Count = Callable[[str], float]
FILTER, RANK = "filter", "rank"
FAILED = ("filter_failed", "ranker_failed")
"""How the events begin that tell of a model that did not do its part."""
FITS = "not needed: everything fits"
LOOSE = 1.1
"""Bodies may take so much more in a document, with their headings, than by themselves."""


class NotRecorded(LookupError):
    """A replay needs what no model said then."""


@dataclass(frozen=True, kw_only=True)
class Found:
    """What there is to choose from, and how much room there is."""

    items: Sequence[Item]
    question: str
    in_scope: int
    """Items in scope that the caller may read."""
    is_all: bool
    """No candidate lies beyond `items`."""
    budget_tokens: int
    settings: Settings
    count: Count
    recorded: Mapping[str, str] | None = None
    """A replay: what was said then, and no model is asked."""


@dataclass(frozen=True, kw_only=True)
class Ranked:
    """What came of it."""

    items: Sequence[Item]
    """Without those that were judged not relevant."""
    wanted: Sequence[str] | None = None
    """Ids in the order that a model gave them. None: it gave none."""
    said: Mapping[str, str] = field(default_factory=dict[str, str])
    """By a model, for a replay."""
    steps: tuple[Step, ...] = ()
    """For the executed graph."""
    dropped: tuple[assembly.Dropped, ...] = ()
    events: tuple[str, ...] = ()


def reach(within: int, candidates: int, in_scope: int, ranker: Ranker | None, settings: Settings) -> int:
    """How many candidates are read: `within` the budget's reach, and what a model is to choose among."""
    if ranker is None:
        return within
    chosen = candidates if _filters(ranker, in_scope, settings) else settings.rerank
    return max(within, min(candidates, chosen))


async def ranked(found: Found, ranker: Ranker | None) -> Ranked:
    """What of the items is left, and how to order their sections."""
    if ranker is None:
        return Ranked(items=found.items)
    asked = ranker if found.recorded is None else _silent(ranker)
    made = Ranked(items=found.items, said=found.recorded or {})
    if not isinstance(asked, rank.CrossEncoder):
        made = await _filtered(found, asked, made)
    return await _ordered(found, asked, made)


def _filters(ranker: Ranker, in_scope: int, settings: Settings) -> bool:
    return not isinstance(ranker, rank.CrossEncoder) and settings.fetch_all < in_scope <= settings.filter


async def _filtered(found: Found, model: rank.Model, made: Ranked) -> Ranked:
    """A chat model leaves out what cannot help, where there is neither little nor too much to ask it about."""
    settings, way = found.settings, ""
    units = sections.units(made.items)
    if found.in_scope <= settings.fetch_all:
        way = f"not needed: at most {settings.fetch_all} items in scope"
    elif found.in_scope > settings.filter:
        way = f"not asked: more than {settings.filter:,} items in scope"
    elif found.is_all and _fits(units, found):
        way = FITS
    if way:
        return replace(made, steps=(*made.steps, Step(strategy=FILTER, fired=False, way=way)))
    started = time.perf_counter()
    limit_s = settings.model_ms / 1_000
    said = await relevance.judged(units, found.question, model, recorded=made.said, limit_s=limit_s)
    out = {i.id: u for u in units if u.id in said.out for i in _items(u)}
    left = [i for i in made.items if i.id not in out]
    failed = ", ".join(sorted(set(said.failures)))
    step = Step(
        strategy=FILTER,
        fired=True,
        candidates=len(left),
        timed_out="TimeoutError" in said.failures,
        failed=f"{len(said.failures)} batches {failed}" if failed else "",
        way=f"{_counted(said.batches, 'batch', 'batches')} over {len(made.items)} items",
        ms=_ms(started),
    )
    reason = f"judged not relevant by {model.model_id}"
    dropped = (assembly.Dropped(section=i, reason=reason, needed=u.size, left=0) for i, u in out.items())
    return replace(
        made,
        items=left,
        said=said.said,
        steps=(*made.steps, step),
        dropped=(*made.dropped, *dropped),
        events=(*made.events, *(f"{FAILED[0]} {f}" for f in said.failures)),
    )


async def _ordered(found: Found, ranker: Ranker, made: Ranked) -> Ranked:
    """The best sections by their scores, put in order."""
    units = sections.units(made.items)
    if found.is_all and _fits(units, found):
        return replace(made, steps=(*made.steps, Step(strategy=RANK, fired=False, way=FITS)))
    started = time.perf_counter()
    scores = {i.id: i.score for i in made.items}
    # The same for every budget, so that every document follows one order; fine enough for a small one.
    all_of_them = assembly.ranked(units, scores, cut.STOPS[0])
    best = all_of_them[: found.settings.rerank]
    order, said, failed = await _asked(best, found, ranker, made.said)
    views = "" if isinstance(ranker, rank.CrossEncoder) else f" in {rank.VIEWS} views"
    step = Step(
        strategy=RANK,
        fired=True,
        candidates=len(best),
        capped=len(best) < len(all_of_them),
        timed_out=failed == "TimeoutError",
        failed=failed,
        way=f"{len(best)} of {_counted(len(all_of_them), 'section', 'sections')}{views} by {ranker.model_id}",
        ms=_ms(started),
    )
    if failed:
        return replace(made, steps=(*made.steps, step), events=(*made.events, f"{FAILED[1]} {failed}"))
    return replace(made, wanted=[u.id for i in order for u in best[i].units], said=said, steps=(*made.steps, step))


async def _asked(
    best: Sequence[sections.Section], found: Found, ranker: Ranker, recorded: Mapping[str, str]
) -> tuple[Sequence[int], Mapping[str, str], str]:
    """The order of `best`, what was said, and the kind of error that it ended with."""
    record = rank.Record(answers=recorded)
    asking: Awaitable[tuple[list[int], rank.Record]] = (
        rank.by_cross_encoder(best, found.question, ranker, record)
        if isinstance(ranker, rank.CrossEncoder)
        else rank.by_model(best, found.question, ranker, record)
    )
    try:
        async with asyncio.timeout(found.settings.model_ms / 1_000):
            order, record = await asking
    except Exception as error:  # whatever a provider does, a document is composed
        return (), recorded, _kind(error)
    return order, record.answers, ""


def _kind(error: Exception) -> str:
    """Of several at once, the first's."""
    inside: Any = getattr(error, "exceptions", ())
    return _kind(inside[0]) if inside else type(error).__name__


def _fits(units: Sequence[sections.Unit], found: Found) -> bool:
    """Whether all of them stand in full inside the budget: then a model has nothing to choose."""
    if sum(u.size for u in units) > 2 * found.budget_tokens:
        return False
    bodies = (f"{u.place}\n{u.item.title}\n{levels.body(u.subjects[0], levels.FULL)}" for u in units)
    return LOOSE * sum(found.count(body) for body in bodies) <= found.budget_tokens


def _items(unit: sections.Unit) -> list[Item]:
    return [i for s in unit.subjects for i in (s.item, *s.elements)]


def _silent(ranker: Ranker) -> Ranker:
    return _SilentEncoder(ranker.model_id) if isinstance(ranker, rank.CrossEncoder) else _SilentModel(ranker.model_id)


@dataclass(frozen=True)
class _SilentModel:
    """In the place of a model at a replay: it has said what it had to say."""

    model_id: str

    async def ask(self, prompt: str, *, seed: int) -> str:
        raise NotRecorded


@dataclass(frozen=True)
class _SilentEncoder:
    model_id: str

    async def score(self, question: str, texts: Sequence[str]) -> Sequence[float]:
        raise NotRecorded


def _counted(number: int, one: str, more: str) -> str:
    return f"{number} {one if number == 1 else more}"


def _ms(started: float) -> float:
    return round((time.perf_counter() - started) * 1e3, 2)
