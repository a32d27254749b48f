"""The door: a question, a scope and a caller's rights become one document with its report (C1-C49).

One snapshot: the scope is compiled once, strategies find ids, and bodies are read under the rights of that moment. What
follows is pure: the same items give the same bytes.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any
from uuid import UUID

from ukai import store
from ukai.context import assembly, bodies, names, ranking, reading, retrieval, rows, score
from ukai.context import cache as caching
from ukai.context.clause import CompiledScope
from ukai.context.reader import Reader
from ukai.context.report import Report
from ukai.context.rows import compositions
from ukai.context.rows import views as listing
from ukai.context.scope import CEILING_TOKENS, Scope
from ukai.context.settings import DEFAULT, Settings
from ukai.context.strategies import STRATEGIES
from ukai.context.strategies.asked import Asked, Candidate, Strategy
from ukai.context.view import View, with_vectors
from ukai.context.view import read as read_view
from ukai.kit import canonical, handle, ids, words
from ukai.kit.clock import Clock
from ukai.llm import tokens

NOBODY: Mapping[str, tuple[str, str]] = {}


@dataclass(frozen=True, kw_only=True)
class Request:
    """What is asked for. Who asks is no part of it: that is the reader."""

    question: str
    scope: Scope
    """The skill's; the agent's own is in the reader, and both hold."""
    skill: str = ""
    budget_tokens: int | None = None
    """None: what the scope says."""
    conversation: str | None = None
    """Bodies that this audience was given in it before are pointed at and not sent again, unless they changed."""
    ranker: str = "score"
    """What the given `Ranker` is called in reports; `score` ranks without one."""
    ceiling_tokens: int = CEILING_TOKENS
    """A surface that cuts long replies off says here where."""


@dataclass(frozen=True, kw_only=True)
class Composition:
    """A document for one call, and how it came about."""

    id: UUID
    text: str
    """Markdown."""
    report: Report
    items: tuple[reading.Item, ...]
    """What the document shows, for citations."""
    ms: Mapping[str, float] = field(default_factory=dict[str, float], compare=False)
    """What took how long."""


@dataclass(frozen=True, kw_only=True)
class Past:
    """What a replay takes from the first time instead of from now."""

    given: Mapping[str, tuple[str, str]]
    without: frozenset[str]
    """Strategies that timed out then."""
    ranked: Mapping[str, str]
    """What a ranking model said then."""


@dataclass(frozen=True, kw_only=True)
class Made:
    """A composition before it is saved."""

    assembled: assembly.Assembled
    report: Report
    items: tuple[reading.Item, ...]
    given: Mapping[str, tuple[str, str]]
    ranked: Mapping[str, str]
    """What a ranking model said."""
    ann_recall: float | None
    ms: Mapping[str, float] = field(compare=False)


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
    ranker: ranking.Ranker | None = None,
) -> Composition:
    """The document for `request`, its report saved. Whoever may read nothing in the scope gets an empty one.

    `ranker` leaves out and orders instead of the scores: a model whose words are kept with the composition.
    """
    made = await made_of(
        db, request, library=library, reader=reader, settings=settings, strategies=strategies, ranker=ranker
    )
    at = clock.now()
    id = ids.time_ordered(at, entropy=entropy)
    readers = reader.rights.principals_hash
    without = sorted(s.strategy for s in made.report.graph if s.timed_out)
    asked = _written(request) | {
        "given": {k: list(v) for k, v in made.given.items()},
        "without": without,
        "ranked": dict(made.ranked),
    }
    async with db.transaction() as tx:
        await compositions.save(
            tx,
            compositions.Saved(
                id=id,
                at=at,
                principals=tuple(sorted(c.id for c in reader.rights.audience.callers)),
                agent=reader.rights.agent,
                skill=request.skill,
                request=canonical.dumps(asked),
                report=made.report.text,
                document=hashlib.sha256(made.assembled.text.encode("utf-8", "surrogatepass")).digest(),
                timing=canonical.dumps(dict(made.ms)),
                ann_recall=made.ann_recall,
            ),
        )
        if made.assembled.offloaded:
            put_aside = [(o.ref, o.item, o.field) for o in made.assembled.offloaded]
            await compositions.save_offloaded(tx, readers, put_aside, at)
        if request.conversation and made.assembled.shown:
            await compositions.save_given(tx, request.conversation, readers, made.assembled.shown, at)
    return Composition(id=id, text=made.assembled.text, report=made.report, items=made.items, ms=made.ms)


async def made_of(
    db: store.Database,
    request: Request,
    *,
    library: reading.Library,
    reader: Reader,
    settings: Settings = DEFAULT,
    strategies: Mapping[str, Strategy] = STRATEGIES,
    past: Past | None = None,
    ranker: ranking.Ranker | None = None,
) -> Made:
    """The composition, not saved. With `past` it is made as it was then, of what is there now."""
    started = time.perf_counter()
    scope = reader.narrowed(request.scope)
    readers = reader.rights.principals_hash
    budget = min(request.budget_tokens or request.scope.budget_tokens, request.ceiling_tokens)
    async with db.snapshot() as tx:
        given: Mapping[str, tuple[str, str]] = past.given if past else NOBODY
        if past is None and request.conversation:
            given = await compositions.given(tx, request.conversation, readers)
        secret = await caching.of(db).secret(tx)
        ask = await asked_of(tx, scope, request.question, library, settings, caching.of(db))
        viewed = time.perf_counter()
        graph, candidates = await _found(ask, caching.of(db), strategies, past)
        found = time.perf_counter()
        reach = retrieval.within_reach(candidates, budget, settings)
        reach = ranking.reach(reach, len(candidates), ask.view.size, ranker, settings)
        near = [c for n, c in enumerate(candidates) if n < reach or c.pinned]
        items = await bodies.fetch(tx, scope, library, near)
        recall = await _ann_recall(ask)
    fetched = time.perf_counter()
    to_choose_from = ranking.Found(
        items=items,
        question=request.question,
        in_scope=ask.view.size,
        is_all=reach >= len(candidates),
        budget_tokens=budget,
        settings=settings,
        count=counter().count,
        recorded=past.ranked if past else None,
    )
    model = await ranking.ranked(to_choose_from, ranker)
    assembled = assembly.assemble(
        model.items,
        budget_tokens=budget,
        ceiling_tokens=request.ceiling_tokens,
        count=counter().count,
        given=given,
        ref=lambda item, name: _ref(secret, readers, item, name),
        ranker=request.ranker,
        order=model.order,
        shelf=library.shelf,
    )
    ended = time.perf_counter()
    by_id = {i.id: i for i in items}
    report = Report(
        skill=request.skill,
        principal_hash=readers,
        clause_hash=scope.key,
        matched=ask.view.size,
        graph=(*graph, *model.steps),
        ranking=assembled.ranking,
        dropped=(*assembled.dropped, *model.dropped, *_beyond(candidates, reach, assembled.budget - assembled.used)),
        budget=assembled.budget,
        used=assembled.used,
        ceiling_hit=assembled.ceiling_hit,
        events=(*assembled.events, *model.events, *_mismatched(assembled)),
        found={i.id: i.why for i in items},
        shown=assembled.shown,
        versions=_versions(request, ask, library, settings, strategies)
        | {"ranker": getattr(ranker, "model_id", ""), "templates": canonical.sha256(vars(library.shelf))},
    )
    return Made(
        assembled=assembled,
        report=report,
        items=tuple(_citable(by_id[i]) for i in assembled.shown if i in by_id),
        given=given,
        ranked=model.said,
        ann_recall=recall,
        ms=report.ms
        | {
            "view": _ms(started, viewed),
            "strategies": _ms(viewed, found),
            "bodies": _ms(found, fetched),
            "assembly": _ms(fetched, ended),
        },
    )


async def _found(
    ask: Asked, kept: caching.Views, strategies: Mapping[str, Strategy], past: Past | None
) -> tuple[list[retrieval.Step], list[Candidate]]:
    """What retrieval comes to: anew, or as it did for the same question while nothing has changed since."""
    if past is not None:
        return await retrieval.run(ask, strategies, without=past.without)
    answers = kept.answers(ask.scope, ask.types, ask.cache)
    question = (ask.question, ask.settings, tuple(strategies.items()))
    known = answers.get(question)
    if known is None:
        known = await retrieval.run(ask, strategies)
        # What ran out of time may come in time the next time.
        if not any(s.timed_out or s.failed for s in known[0]):
            answers.keep(question, known)
    return known


async def asked_of(
    tx: store.Transaction,
    scope: CompiledScope,
    question: str,
    library: reading.Library,
    settings: Settings = DEFAULT,
    kept: caching.Views | None = None,
) -> Asked:
    """The question before any strategy has run, with the view of its scope."""
    kept = kept or caching.Views()
    bounds = caching.Bounds(in_memory=settings.in_memory, exact=settings.exact)
    view = await kept.get(tx, scope, types=library.types, cache=library.cache, bounds=bounds)
    if view is None:
        view = await _wide(tx, scope, question, library, settings)
    return Asked(
        tx=tx,
        scope=scope,
        question=question,
        questions=score.asked(question),
        types=library.types,
        cache=library.cache,
        settings=settings,
        view=view,
    )


async def _wide(
    tx: store.Transaction, scope: CompiledScope, question: str, library: reading.Library, settings: Settings
) -> View:
    """Of a scope that is too large to be looked at as a whole: what shares a word, is named, or is pinned."""
    near = await listing.matching(tx, scope.clause, words.terms(question), settings.composition_cap)
    named = await names.named(tx, question, reader=scope, types=library.types)
    owned = await rows.under(tx, scope.clause, [n.node.id for n in named], scope.owning, settings.composition_cap)
    pinned = await rows.by_handle(tx, [h for name in sorted(scope.pinned) if (h := handle.parse(name)) is not None])
    wanted = sorted({*near, *owned, *(n.id for n in pinned.values())})
    view = await read_view(tx, scope, library.types, await listing.listed_of(tx, scope.clause, wanted))
    return await with_vectors(tx, view, library.cache) if library.cache else view


async def _ann_recall(ask: Asked) -> float | None:
    """Now and then an approximate answer is held against the exact one; which ones is drawn from the question."""
    if ask.ann is None or not ask.ann[0]:
        return None
    drawn = int.from_bytes(hashlib.sha256(ask.question.encode("utf-8", "surrogatepass")).digest()[:4]) / 2**32
    if drawn >= ask.settings.ann_sample:
        return None
    near, vector = ask.ann
    exact = await listing.nearest_exactly(ask.tx, ask.scope.clause, vector, len(near))
    return len(set(near) & set(exact)) / len(exact) if exact else None


def _mismatched(assembled: assembly.Assembled) -> Iterator[str]:
    """Templates in shadow that would have said something else, each with its first item."""
    for m in assembled.mismatches:
        yield f"template_mismatch {m.template} {m.item}: {m.problem}"


def _beyond(candidates: Sequence[Candidate], reach: int, left: int) -> Iterator[assembly.Dropped]:
    """Candidates that rank so far behind that their bodies were not read."""
    for rank, c in enumerate(candidates, 1):
        if rank > reach and not c.pinned:
            reason = f"rank {rank} not read: out of the budget's reach"
            yield assembly.Dropped(section=c.id, reason=reason, needed=-(-c.size // 4), left=max(0, left))


def _written(request: Request) -> dict[str, Any]:
    scope = request.scope
    return {
        "question": request.question,
        "scope": {
            "globs": list(scope.globs),
            "exclude": list(scope.exclude),
            "static_ids": list(scope.static_ids),
            "budget_tokens": scope.budget_tokens,
        },
        "skill": request.skill,
        "budget_tokens": request.budget_tokens,
        "conversation": request.conversation,
        "ranker": request.ranker,
        "ceiling_tokens": request.ceiling_tokens,
    }


def _versions(
    request: Request,
    ask: Asked,
    library: reading.Library,
    settings: Settings,
    strategies: Mapping[str, Strategy],
) -> dict[str, str]:
    """Everything the document is a function of, by name."""
    return {
        "rights": ask.scope.rights.principals_hash,
        "scope": ask.scope.key,
        "request": canonical.sha256(_written(request)),
        "records": ask.view.token,
        "vectors": str(ask.view.missing),
        "types": caching.key_of(ask.scope, library.types, None),
        "model": library.cache.embedder.model_id if library.cache else "",
        "settings": canonical.sha256([vars(settings), list(strategies)]),
        "counter": counter().name,
    }


def _ref(secret: bytes, readers: str, item: str, name: str) -> str:
    """Equal for the same value and audience, so that the same input gives the same bytes; not to be guessed."""
    said = f"{readers}\0{item}\0{name}".encode("utf-8", "surrogatepass")
    return hmac.new(secret, said, hashlib.sha256).hexdigest()[:32]


def _citable(item: Any) -> reading.Item:
    lead = f"{item.lead}: " if item.lead else ""
    return reading.Item(
        handle=item.id, title=item.title, text=lead + item.text if item.text else "", fields=item.fields, at=item.at
    )


def _ms(start: float, end: float) -> float:
    return round((end - start) * 1e3, 2)


@cache
def counter() -> Any:
    """How this process counts tokens: its vocabulary is loaded once."""
    return tokens.counter()
