"""How one composition is made, not yet saved.

One snapshot: the scope is compiled once, strategies find ids, and bodies are read under the rights of that moment. What
follows is pure: the same items give the same bytes. What was made before for the same readers of an unchanged graph is
known as ids and numbers; its words are read and checked again each time.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import time
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any
from uuid import UUID

from ukai import store
from ukai.context import (
    assembly,
    bodies,
    cut,
    elements,
    levels,
    names,
    ranking,
    reading,
    retrieval,
    rows,
    score,
    spans,
)
from ukai.context import cache as caching
from ukai.context.clause import CompiledScope
from ukai.context.given import Given
from ukai.context.item import Item
from ukai.context.reader import Reader
from ukai.context.render import templates
from ukai.context.report import WITHOUT_VECTOR, Report
from ukai.context.request import Request
from ukai.context.rows import compositions
from ukai.context.rows import views as listing
from ukai.context.scope import BUDGET_TOKENS, CEILING_TOKENS
from ukai.context.settings import DEFAULT, Settings
from ukai.context.strategies import STRATEGIES
from ukai.context.strategies.asked import Asked, Candidate, Near, Strategy
from ukai.context.strategies.embedding import near_to
from ukai.context.view import View, with_vectors
from ukai.context.view import read as read_view
from ukai.kit import canonical, handle, words
from ukai.llm import tokens
from ukai.store.failures import DatabaseAway

CANDIDATE, LINE, UNIT, HELD = 180, 500, 250, 400
"""Bytes of a candidate; of a thing in a report with its line in the report's text; of one in a document; of one that a
conversation was given. Source: measured, as `tests/context/test_memory.py` does."""


@dataclass(frozen=True, kw_only=True)
class Past:
    """What a replay takes from the first time instead of from now, beside what was given."""

    without: frozenset[str]
    """Strategies that timed out then."""
    ranked: Mapping[str, str]
    """What a ranking model said then."""


@dataclass(frozen=True, kw_only=True)
class Made:
    """A composition before it is saved."""

    text: str
    digest: bytes
    """sha256 of the text."""
    report: Report
    cited: Callable[[], tuple[reading.Item, ...]] = field(compare=False)
    """What the document shows, for citations; made when somebody asks."""
    offloaded: tuple[assembly.Offloaded, ...] = ()
    given: Given = field(default_factory=dict[str, tuple[str, str]])
    """What was given before."""
    ranked: Mapping[str, str] = field(default_factory=dict[str, str])
    """What a ranking model said."""
    ann_recall: float | None = None
    is_again: bool = field(default=False, compare=False)
    """It was made before, so that its report is kept already."""
    ms: Mapping[str, float] = field(compare=False)


@dataclass(frozen=True, kw_only=True)
class Drawn:
    """A document that was made before, as ids and numbers. Its words are read anew each time (context req. 39)."""

    spans: spans.Spans
    digest: bytes
    """sha256 of its text."""
    report: Report
    wanted: tuple[Candidate, ...]
    """What stands in it, and what its headings name."""
    nodes: tuple[UUID, ...]
    """Of these."""
    elements: Mapping[str, tuple[str, ...]]
    offloaded: tuple[assembly.Offloaded, ...]
    shelf: templates.Shelf
    nbytes: int
    """What it takes in memory, roughly; the report's text stands beside the report."""


@dataclass(frozen=True, kw_only=True)
class Retrieved:
    """What retrieval came to for a question."""

    graph: Sequence[retrieval.Step]
    candidates: Sequence[Candidate]

    @property
    def nbytes(self) -> int:
        """What it takes in memory, roughly."""
        return CANDIDATE * len(self.candidates)


async def made_of(
    db: store.Database,
    request: Request,
    *,
    library: reading.Library,
    reader: Reader,
    settings: Settings = DEFAULT,
    strategies: Mapping[str, Strategy] = STRATEGIES,
    past: Past | None = None,
    given: Given | None = None,
    ranker: ranking.Ranker | None = None,
) -> Made:
    """The composition, not saved. With `past` it is made as it was then, of what is there now.

    `given` is what whoever reads it holds, in place of what is known of the request's conversation.
    """
    call = _Call(
        request=request,
        library=library,
        reader=reader,
        settings=settings,
        strategies=strategies,
        past=past,
        held=given,
        ranker=ranker,
        kept=caching.of(db),
    )
    return await call.made(db)


@dataclass(kw_only=True, eq=False)
class _Call:
    """One composition while it is made."""

    request: Request
    library: reading.Library
    reader: Reader
    settings: Settings
    strategies: Mapping[str, Strategy]
    past: Past | None
    held: Given | None
    ranker: ranking.Ranker | None
    kept: caching.Views
    secret: bytes = b""
    given: Given = field(default_factory=dict[str, tuple[str, str]])
    late: frozenset[str] = frozenset()
    """Strategies that ran out of time."""
    ms: dict[str, float] = field(default_factory=dict[str, float])
    _lap: float = field(default_factory=time.perf_counter)

    def __post_init__(self) -> None:
        self.scope = self.reader.narrowed(self.request.scope)
        self.readers = self.reader.rights.principals_hash
        tokens = self.request.budget_tokens or self.request.scope.budget_tokens
        self.budget = min(tokens, self.request.ceiling_tokens)
        self.question = (self.request.question, self.settings, tuple(self.strategies.items()))

    async def made(self, db: store.Database) -> Made:
        if (known := await self._known(db)) is not None:
            return known
        try:
            return await self._anew(db)
        except DatabaseAway:
            # A statement that is cancelled while it is being sent costs its connection: once more, without what hung.
            if not self.late:
                raise
            return await self._anew(db)

    async def _known(self, db: store.Database) -> Made | None:
        """The document that was made before, of the words that may be read now; None where anything has changed.

        The words first, then where the graph is: as long as that is where it was when the document was made, whatever
        was read in between is of one moment, without a transaction around it.
        """
        answers = self.kept.answers(self.scope, self.library.types, self.library.cache)
        if not answers.position or not self._is_as_ever:
            return None
        async with self.kept.line.place(), db.statements() as tx:
            self.given = await self._given(tx)
            drawn = self._drawn(answers)
            if drawn is None:
                return None
            shown = await bodies.read(tx, self.scope, self.library, drawn.nodes)
            self._took("bodies")
            if len(shown) < len(drawn.nodes):
                return None
            held = asyncio.ensure_future(self.kept.hold(tx, answers))
            try:
                await asyncio.sleep(0)  # it is asked now, and answered while the text is written
                made = self._again(drawn, shown)
            finally:
                is_true = await held
            self._took("view")
        return made if is_true else None

    async def _anew(self, db: store.Database) -> Made:
        async with self.kept.line.place(), db.snapshot() as tx:
            self.given = await self._given(tx)
            self.secret = await self.kept.secret(tx)
            view = await _view_of(tx, self.scope, self.library, self.settings, self.kept)
            # At once: whoever asks in the meantime may put a newer view in its place.
            answers = self.kept.answers(self.scope, self.library.types, self.library.cache)
            ask = await _asked(tx, self.scope, self.request.question, self.library, self.settings, view)
            self._took("view")
            graph, candidates = await self._found(ask, answers)
            self._took("strategies")
            known = {i for i, (_, level) in self.given.items() if level == levels.FULL}
            usual, most = (retrieval.within_reach(candidates, t, self.settings, known) for t in self._sizes)
            ranked = ranking.reach(usual, len(candidates), ask.view.size, self.ranker, self.settings)
            near = _best(ask, candidates, max(ranked, most))
            shown = await bodies.read(tx, self.scope, self.library, {c.node for c in near})
            items = bodies.items(shown, self.library, near)
            recall = await _ann_recall(ask)
        self._took("bodies")
        model = await self._ranked(ask, _among(items, _best(ask, candidates, ranked)), is_all=ranked >= len(candidates))
        if ranked > usual and model.wanted is None and not model.dropped:
            # What was read for a model that then said nothing moves nothing either.
            ranked, near = usual, _best(ask, candidates, max(usual, most))
            items = _among(items, near)
            model = replace(model, items=_among(items, _best(ask, candidates, usual)))
        assembled = self._assembled(model, items)
        self._took("assembly")
        beyond = _beyond(candidates, max(ranked, most), assembled.budget - assembled.used)
        report = self._report(ask, assembled, model, graph=graph, beyond=tuple(beyond), items=items)
        digest = _digest(assembled.text)
        if self._is_as_ever and _is_whole(graph):
            drawn = self._drawing(assembled, digest, report, near, items, shown)
            if drawn is not None:
                answers.keep(self._name, drawn)
        return Made(
            text=assembled.text,
            digest=digest,
            report=report,
            cited=partial(_cited, report, assembled.elements, items),
            offloaded=assembled.offloaded,
            given=self.given,
            ranked=model.said,
            ann_recall=recall,
            ms=report.ms | self.ms,
        )

    def _took(self, what: str) -> None:
        now = time.perf_counter()
        self.ms[what] = round((now - self._lap) * 1e3, 2)
        self._lap = now

    async def _given(self, tx: store.Transaction) -> Given:
        if self.held is not None:
            return dict(self.held)  # it may grow while this is made
        return (
            await compositions.given(tx, self.request.conversation, self.readers) if self.request.conversation else {}
        )

    @property
    def _is_as_ever(self) -> bool:
        """Neither a model nor an earlier call moves the document."""
        return not (self.past or self.ranker)

    @property
    def _name(self) -> Hashable:
        """Which conversation it is decides what was given, and nothing else."""
        return (self.request.alone, frozenset(self.given.items()), *self.question)

    def _drawn(self, answers: caching.Answers) -> Drawn | None:
        found: Drawn | None = answers.get(self._name)
        return found if found is not None and found.shelf == self.library.shelf else None

    def _drawing(
        self,
        assembled: assembly.Assembled,
        digest: bytes,
        report: Report,
        near: Sequence[Candidate],
        items: Sequence[Item],
        shown: Mapping[UUID, reading.Shown],
    ) -> Drawn | None:
        needed = {id for _, ids in assembled.blocks for id in ids}
        needed.update(assembled.shown, *assembled.elements.values())  # what is only pointed at, too
        wanted = tuple(c for c in near if c.id in needed)
        nodes, said = bodies.said(shown, self.library, wanted, items)
        found = spans.of(assembled.blocks, said, [o.ref for o in assembled.offloaded])
        told = len(report.ranking) + len(report.dropped)
        return found and Drawn(
            spans=found,
            digest=digest,
            report=report,
            wanted=wanted,
            nodes=nodes,
            elements=assembled.elements,
            offloaded=assembled.offloaded,
            shelf=self.library.shelf,
            nbytes=found.nbytes + LINE * told + UNIT * len(report.shown) + HELD * len(self.given),
        )

    def _again(self, drawn: Drawn, shown: Mapping[UUID, reading.Shown]) -> Made | None:
        """The same document of the words that may be read now; None where these are others."""
        text = drawn.spans.text([shown[node].record for node in drawn.nodes])
        self._took("assembly")
        if text is None or (digest := _digest(text)) != drawn.digest:
            return None

        def cited() -> tuple[reading.Item, ...]:
            return _cited(drawn.report, drawn.elements, bodies.items(shown, self.library, drawn.wanted))

        return Made(
            text=text,
            digest=digest,
            report=drawn.report,
            cited=cited,
            offloaded=drawn.offloaded,
            given=self.given,
            is_again=True,
            ms=self.ms,
        )

    async def _found(
        self, ask: Asked, answers: caching.Answers
    ) -> tuple[Sequence[retrieval.Step], Sequence[Candidate]]:
        """What retrieval comes to: anew, or as it did for the same question while nothing has changed since."""
        if self.past is not None:
            return await retrieval.run(ask, self.strategies, without=self.past.without | self.late)
        known: Retrieved | None = answers.get(self.question)
        if known is None:
            graph, candidates = await retrieval.run(ask, self.strategies, without=self.late)
            self.late |= {s.strategy for s in graph if s.timed_out}
            if _is_whole(graph):
                untimed = [replace(step, ms=0.0) for step in graph]
                answers.keep(self.question, Retrieved(graph=untimed, candidates=candidates))
            return graph, candidates
        return known.graph, known.candidates

    async def _ranked(self, ask: Asked, items: Sequence[Item], *, is_all: bool) -> ranking.Ranked:
        found = ranking.Found(
            items=items,
            question=self.request.question,
            in_scope=ask.view.size,
            is_all=is_all,
            budget_tokens=self.budget,
            settings=self.settings,
            count=counter().count,
            recorded=self.past.ranked if self.past else None,
        )
        return await ranking.ranked(found, self.ranker)

    @property
    def _sizes(self) -> tuple[int, int]:
        """Tokens of the documents that are read for: the usual one, however small this one is, so that a smaller
        document is made of the same things; and the largest, where this one is larger than usual."""
        return (BUDGET_TOKENS, BUDGET_TOKENS if self.budget <= BUDGET_TOKENS else CEILING_TOKENS)

    def _assembled(self, model: ranking.Ranked, items: Sequence[Item]) -> assembly.Assembled:
        known = {i.id for i in model.items} | {d.section for d in model.dropped}
        return assembly.assemble(
            [*model.items, *(i for i in items if i.id not in known)],
            usual=len(model.items),
            budget_tokens=self.budget,
            ceiling_tokens=self.request.ceiling_tokens,
            count=counter().count,
            given=self.given,
            ref=self._ref,
            wanted=model.wanted or (),
            shelf=self.library.shelf,
            plan=cut.Plan(prefix=self.settings.cut == "prefix"),
        )

    def _report(
        self,
        ask: Asked,
        assembled: assembly.Assembled,
        model: ranking.Ranked,
        *,
        graph: Sequence[retrieval.Step],
        beyond: Sequence[assembly.Dropped],
        items: Sequence[Item],
    ) -> Report:
        return Report(
            skill=self.request.skill,
            principal_hash=self.readers,
            clause_hash=self.scope.key,
            matched=ask.view.size,
            graph=(*graph, *model.steps),
            ranking=assembled.ranking,
            dropped=(*assembled.dropped, *model.dropped, *beyond),
            budget=assembled.budget,
            used=assembled.used,
            ceiling_hit=assembled.ceiling_hit,
            events=(*assembled.events, *model.events, *_mismatched(assembled), *_without_vector(ask.view)),
            found={i.id: i.why for i in items if i.why},
            shown=assembled.shown,
            versions=self._versions(ask),
        )

    def _versions(self, ask: Asked) -> dict[str, str]:
        """Everything beside the request that the document is a function of, by name."""
        library, owning = self.library, sorted((e.edge, e.owned_side) for e in self.scope.owning)
        return {
            "rights": self.readers,
            "scope": self.scope.written,
            "records": ask.view.token,
            "vectors": str(ask.view.missing),
            "types": canonical.sha256([owning, sorted((n, kind.content_hash) for n, kind in library.types.items())]),
            "model": library.cache.embedder.model_id if library.cache else "",
            "settings": canonical.sha256([vars(self.settings), list(self.strategies)]),
            "counter": counter().name,
            "ranker": getattr(self.ranker, "model_id", ""),
            "templates": canonical.sha256(vars(library.shelf)),
        }

    def _ref(self, item: str, name: str) -> str:
        """Equal for the same value and audience, so that the same input gives the same bytes; not to be guessed."""
        said = f"{self.readers}\0{item}\0{name}".encode("utf-8", "surrogatepass")
        return hmac.new(self.secret, said, hashlib.sha256).hexdigest()[:32]


def _is_whole(graph: Sequence[retrieval.Step]) -> bool:
    """What ran out of time may come in time the next time."""
    return not any(s.timed_out or s.failed for s in graph)


async def asked_of(
    tx: store.Transaction,
    scope: CompiledScope,
    question: str,
    library: reading.Library,
    settings: Settings = DEFAULT,
) -> Asked:
    """The question before any strategy has run, with the view of its scope, which is read for it."""
    view = await _view_of(tx, scope, library, settings, caching.Views())
    return await _asked(tx, scope, question, library, settings, view)


async def _view_of(
    tx: store.Transaction, scope: CompiledScope, library: reading.Library, settings: Settings, kept: caching.Views
) -> View | None:
    exact = settings.exact if scope.rights.approximate else settings.in_memory
    bounds = caching.Bounds(in_memory=settings.in_memory, exact=exact)
    return await kept.get(tx, scope, types=library.types, cache=library.cache, bounds=bounds)


async def _asked(
    tx: store.Transaction,
    scope: CompiledScope,
    question: str,
    library: reading.Library,
    settings: Settings,
    view: View | None,
) -> Asked:
    ann = None
    if view is None:
        view, ann = await _wide(tx, scope, question, library, settings)
    found = await elements.folded(view, library.types)
    return Asked(
        tx=tx,
        scope=scope,
        question=question,
        questions=score.asked(question),
        types=library.types,
        cache=library.cache,
        settings=settings,
        view=found.view,
        ann=ann,
        wholes=found.wholes,
        things=found.things,
    )


async def _wide(
    tx: store.Transaction, scope: CompiledScope, question: str, library: reading.Library, settings: Settings
) -> tuple[View, Near | None]:
    """Of a scope that is too large to be looked at as a whole: what shares a word, is named, pinned, or lies near."""
    ann = None
    if library.cache is not None and scope.rights.approximate:
        try:
            vector = (await asyncio.to_thread(library.cache.asked, [question]))[0]
        except Exception:  # the strategy asks the model once more, and its step says how it failed
            vector = None
        ann = None if vector is None else await near_to(tx, scope, library.types, vector, settings)
    near = await listing.matching(tx, scope.passages(library.types), words.terms(question), settings.composition_cap)
    named = await names.named(tx, question, reader=scope, types=library.types)
    owned = await rows.under(tx, scope.clause, [n.node.id for n in named], scope.owning, settings.composition_cap)
    pinned = await rows.by_handle(tx, [h for name in sorted(scope.pinned) if (h := handle.parse(name)) is not None])
    found = [] if ann is None else [node for node, _, _ in ann.found]
    wanted = sorted({*near, *owned, *(n.id for n in pinned.values()), *found})
    view = await read_view(tx, scope, library.types, await listing.listed_of(tx, scope.clause, wanted))
    return await with_vectors(tx, view, library.cache) if library.cache else view, ann


async def _ann_recall(ask: Asked) -> float | None:
    """Now and then an approximate answer is held against the exact one; which ones is drawn from the question."""
    if ask.ann is None or not ask.ann.found:
        return None
    drawn = int.from_bytes(hashlib.sha256(ask.question.encode("utf-8", "surrogatepass")).digest()[:4]) / 2**32
    if drawn >= ask.settings.ann_sample:
        return None
    readable = ask.scope.passages(ask.types, listing.FIELD)
    exact = await listing.nearest_exactly(ask.tx, readable, ask.ann.vector, len(ask.ann.found))
    # Of several that are equally near any one is right.
    least = min((cosine for _, _, cosine in exact), default=0.0) - 1e-9
    return sum(cosine >= least for _, _, cosine in ask.ann.found) / len(exact) if exact else None


def _mismatched(assembled: assembly.Assembled) -> Iterator[str]:
    """Templates that would have said something else, each with its item, and those of another schema."""
    for m in assembled.mismatches:
        yield m.event


def _without_vector(view: View) -> Iterator[str]:
    """How many of the items that this reader may see have a text without one."""
    if view.missing:
        yield f"{WITHOUT_VECTOR} {len(set(view.waiting))} of {view.size}"


def _best(ask: Asked, candidates: Sequence[Candidate], number: int) -> list[Candidate]:
    """So many of them, and what is pinned, with what they stand for."""
    return retrieval.whole(ask, [c for n, c in enumerate(candidates) if n < number or c.pinned])


def _among(items: Sequence[Item], candidates: Sequence[Candidate]) -> list[Item]:
    wanted = {c.id for c in candidates}
    return [i for i in items if i.id in wanted]


def _beyond(candidates: Sequence[Candidate], reach: int, left: int) -> Iterator[assembly.Dropped]:
    """Candidates that rank so far behind that their bodies were not read."""
    for rank, c in enumerate(candidates, 1):
        if rank > reach and not c.pinned:
            reason = f"rank {rank} not read: out of the budget's reach"
            yield assembly.Dropped(section=c.id, reason=reason, needed=-(-c.size // 4), left=max(0, left))


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def _cited(report: Report, elements: Mapping[str, Sequence[str]], items: Sequence[Item]) -> tuple[reading.Item, ...]:
    by_id = {i.id: i for i in items}
    told: list[Item] = []
    for id, (_, level) in report.shown.items():
        told.append(by_id[id])
        if level != levels.IDENTITY:
            told += [by_id[e] for e in elements.get(id, ())]
    return tuple([_citable(i) for i in told])


def _citable(item: Item) -> reading.Item:
    text = f"{item.lead}: {item.text}" if item.lead and item.text else item.text
    return reading.Item(handle=item.id, title=item.title, text=text, fields=item.fields, at=item.at)


@cache
def counter() -> Any:
    """How this process counts tokens: its vocabulary is loaded once."""
    return tokens.counter()
