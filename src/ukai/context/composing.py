"""The door: a question, a scope and a caller's rights become one document with its report (C1-C49)."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from uuid import UUID

from ukai import store
from ukai.context import making, ranking, reading
from ukai.context.given import Given
from ukai.context.reader import Reader
from ukai.context.report import Report
from ukai.context.request import Request
from ukai.context.rows import compositions
from ukai.context.settings import DEFAULT, Settings
from ukai.context.strategies import STRATEGIES
from ukai.context.strategies.asked import Strategy
from ukai.kit import canonical, ids
from ukai.kit.clock import Clock


@dataclass(frozen=True, kw_only=True)
class Composition:
    """A document for one call, and how it came about."""

    id: UUID
    text: str
    """Markdown."""
    report: Report
    cited: Callable[[], tuple[reading.Item, ...]] = field(compare=False, repr=False)
    ms: Mapping[str, float] = field(default_factory=dict[str, float], compare=False)
    """What took how long."""

    @cached_property
    def items(self) -> tuple[reading.Item, ...]:
        """What the document shows, for citations; made when somebody asks."""
        return self.cited()


async def compose(
    db: store.Database,
    request: Request,
    *,
    library: reading.Library,
    reader: Reader,
    clock: Clock,
    entropy: ids.Entropy = os.urandom,
    settings: Settings = DEFAULT,
    strategies: Mapping[str, Strategy] = STRATEGIES,
    given: Given | None = None,
    ranker: ranking.Ranker | None = None,
) -> Composition:
    """The document for `request`, its report saved. Whoever may read nothing in the scope gets an empty one.

    `given` is what they hold, where that is known otherwise than by the request's conversation. `ranker` leaves out
    and orders instead of the scores: a model whose words are kept with the composition.
    """
    made = await making.made_of(
        db,
        request,
        library=library,
        reader=reader,
        settings=settings,
        strategies=strategies,
        given=given,
        ranker=ranker,
    )
    at = clock.now()
    id = ids.time_ordered(at, entropy=entropy)
    without = sorted(s.strategy for s in made.report.graph if s.timed_out)
    asked = request.as_json() | {
        "given": {k: list(v) for k, v in made.given.items()},
        "without": without,
        "ranked": dict(made.ranked),
    }
    saved = compositions.Saved(
        id=id,
        at=at,
        principals=tuple(sorted(c.id for c in reader.rights.audience.callers)),
        agent=reader.rights.agent,
        skill=request.skill,
        request=canonical.dumps(asked),
        report=made.report.text,
        document=made.digest,
        timing=canonical.dumps(dict(made.ms)),
        ann_recall=made.ann_recall,
    )
    await _save(db, request, reader, made, saved)
    return Composition(id=id, text=made.text, report=made.report, cited=made.cited, ms=made.ms)


async def _save(
    db: store.Database, request: Request, reader: Reader, made: making.Made, saved: compositions.Saved
) -> None:
    readers = reader.rights.principals_hash
    more = made.offloaded or request.conversation
    async with db.transaction() if more else db.statements() as tx:
        save = compositions.save_again if made.is_again else compositions.save
        await save(tx, saved, made.report.digest)
        if made.offloaded:
            put_aside = [(o.ref, o.item, o.field) for o in made.offloaded]
            await compositions.save_offloaded(tx, readers, put_aside, saved.at)
        if request.conversation and made.report.shown:
            await compositions.save_given(tx, request.conversation, readers, made.report.shown, saved.at)
