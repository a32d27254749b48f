"""When a model ranks: a cross-encoder, or a chat model's two views, over the same sections that scores would order.

What a model said is kept, so that the same composition can be made again without it. A model that fails ranks nothing:
the scores do.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from ukai.context import assembly, rank, sections
from ukai.context.item import Item

Ranker = rank.CrossEncoder | rank.Model
Order = Callable[[Sequence[sections.Section]], Sequence[int]]


@dataclass(frozen=True, kw_only=True)
class Ranked:
    """What came of it."""

    order: Order | None = None
    """None: the scores order."""
    said: Mapping[str, str] = field(default_factory=dict[str, str])
    """By a chat model, for a replay."""
    events: tuple[str, ...] = ()


async def ranked(
    items: Sequence[Item], question: str, ranker: Ranker | None, *, recorded: Mapping[str, str], budget_tokens: int
) -> Ranked:
    """How to order the sections of `items`."""
    if ranker is None or not items:
        return Ranked()
    scores = {i.id: i.score for i in items}
    found = assembly.ranked(sections.units(items), scores, budget_tokens=budget_tokens)
    said: Mapping[str, str] = {}
    try:
        if isinstance(ranker, rank.CrossEncoder):
            order: Sequence[int] = await asyncio.to_thread(rank.by_cross_encoder, found, question, ranker)
        else:
            order, record = await rank.by_model(found, question, ranker, rank.Record(answers=recorded))
            said = record.answers
    except Exception as error:  # whatever a provider does, a document is composed
        return Ranked(events=(f"ranker_failed {type(error).__name__}",))
    wanted = [found[i].id for i in order]

    def by_id(now: Sequence[sections.Section]) -> Sequence[int]:
        at = {section.id: i for i, section in enumerate(now)}
        return [at[name] for name in wanted if name in at]

    return Ranked(order=by_id, said=said)
