"""From items with scores to a document: sections, their order, the cut, the text. Pure: equal items, equal bytes.

The composer over the store and `ukai context recall` over files both end here.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

from ukai.context import cut, levels, offload, rank, sections, spans, structure, subject
from ukai.context.given import Given
from ukai.context.item import Item
from ukai.context.render import document, templates
from ukai.context.scope import BUDGET_TOKENS
from ukai.context.subject import Subject
from ukai.kit import canonical, light

TRUNCATED = "composer_final_summary_truncated"
"""The document counted again was above its ceiling and was shortened (context req. 21)."""


@light.value
class Ranked:
    """One thing in the order of the ranking, and what became of it."""

    section: str
    """Its id; the first member's of a family. What it is called is looked up when somebody reads the report."""
    score: float
    tokens_full: int
    """What its body takes in full, by characters over four."""
    level: str
    """The level it stands at; `none` when it does not."""
    reason: str
    items: tuple[str, ...] = ()
    """All that stand and fall with it: the members of a family, and their elements."""
    best: str = ""
    """The best of what is ranked together with it, where that is another: its score is the section's."""


@light.value
class Dropped:
    """A thing that is not in the document."""

    section: str
    reason: str
    needed: int
    left: int


@dataclass(frozen=True, kw_only=True)
class Offloaded:
    """A value that was put aside."""

    ref: str
    item: str
    field: str
    size: int
    """Characters."""


@dataclass(frozen=True, kw_only=True)
class Assembled:
    """The document and how it came about."""

    text: str
    blocks: tuple[spans.Block, ...]
    """The same in order, each part with the items whose words are in it."""
    elements: Mapping[str, tuple[str, ...]]
    """Item that stands in it -> its elements, where it has any."""
    ranking: tuple[Ranked, ...] = ()
    dropped: tuple[Dropped, ...] = ()
    shown: Mapping[str, tuple[str, str]] = field(default_factory=dict[str, tuple[str, str]])
    """Item -> (hash of its body, level)."""
    offloaded: tuple[Offloaded, ...] = ()
    budget: int
    used: int
    ceiling_hit: bool = False
    events: tuple[str, ...] = ()
    mismatches: tuple[templates.Mismatch, ...] = ()
    """Of templates in shadow."""


def assemble(
    items: Sequence[Item],
    *,
    budget_tokens: int,
    ceiling_tokens: int,
    count: Callable[[str], float],
    given: Given,
    ref: Callable[[str, str], str],
    usual: int | None = None,
    wanted: Sequence[str] = (),
    shelf: templates.Shelf = templates.EMPTY,
    plan: cut.Plan = cut.DEFAULT,
) -> Assembled:
    """The document for `items`, whose scores are final.

    `count` counts tokens, `given` holds what this conversation was shown already, `ref` names the place where a value
    is put aside. The first `usual` of the items are what a document of the usual size is made of; a larger one goes on
    with the others. `wanted` are ids in the order that a model gave them (`rank`); the others the scores order.
    """
    items, put_aside = _quoted(items, ref)
    bodies = templates.Bodies(shelf)
    scores = {i.id: i.score for i in items}
    budget = min(budget_tokens, ceiling_tokens)

    same = _same(given, subject.of(items)) if given else {}

    def filled(units: Sequence[sections.Unit], budget: float, usual: cut.Cut | None = None) -> tuple[cut.Cut, Ranking]:
        layout = document.Layout(units, body=bodies, given=same, after=usual.layout if usual else None)
        ranking = ranking_of(units, scores, wanted)
        made = cut.fill(in_order(ranking), budget=budget, count=count, layout=layout, plan=plan, before=usual)
        return made, ranking

    units = sections.units(items[:usual])
    made, ranking = filled(units, min(budget, BUDGET_TOKENS))
    if budget > BUDGET_TOKENS:
        made, ranking = filled([*units, *sections.units(items[len(items[:usual]) :])], budget, made)
    fates = tuple(cut.fates(made))
    best = {u.id: s.units[0].id for s in ranking(cut.stop_of(budget)) for u in s.units[1:]}
    standing = [f for f in fates if f.level != levels.NONE]
    shown = {s.item.id: (_hash(s), f.level) for f in standing for s in f.unit.subjects}
    aside = Counter(o.item for o in put_aside)
    is_truncated = made.shortened and budget == ceiling_tokens
    return Assembled(
        text=made.text,
        blocks=tuple(made.paper.blocks()),
        elements={
            s.item.id: tuple([e.id for e in s.elements]) for f in standing for s in f.unit.subjects if s.elements
        },
        ranking=tuple(
            _ranked(f, max(scores[s.item.id] for s in f.unit.subjects), aside, best.get(f.unit.id, "")) for f in fates
        ),
        dropped=tuple(_dropped(f) for f in fates if f.level == levels.NONE),
        shown=shown,
        offloaded=_standing(put_aside, (f.unit for f in standing)),
        budget=budget_tokens,
        used=math.ceil(made.used),
        ceiling_hit=is_truncated,
        events=(TRUNCATED,) if is_truncated else (),
        mismatches=bodies.mismatches(),
    )


def _standing(put_aside: Sequence[Offloaded], units: Iterable[sections.Unit]) -> tuple[Offloaded, ...]:
    """Those of things, and of elements of things, that stand in the document."""
    if not put_aside:
        return ()
    there = {id for u in units for id in u.items}
    return tuple([o for o in put_aside if o.item in there])


def _same(given: Given, subjects: Iterable[Subject]) -> dict[str, str]:
    """The levels at which `given` holds those that still say the same, and so do their elements."""
    known = ((s.item.id, given[s.item.id], s) for s in subjects if s.item.id in given)
    return {id: level for id, (body, level), s in known if _hash(s) == body}


Ranking = Callable[[int], Sequence[sections.Section]]
"""The sections of a document of so many tokens, best first."""


def ranking_of(units: Sequence[sections.Unit], scores: Mapping[str, float], wanted: Sequence[str] = ()) -> Ranking:
    """The sections of `units` for a document of any size."""
    grouped = sections.Grouped(units, scores)

    @cache
    def ranking(tokens: int) -> Sequence[sections.Section]:
        return _ordered(grouped.within(tokens), wanted)

    return ranking


def in_order(ranking: Ranking) -> cut.Order:
    """Unit by unit."""

    @cache
    def order(tokens: int) -> Sequence[sections.Unit]:
        return [u for s in ranking(tokens) for u in s.units]

    return order


def ranked(
    units: Sequence[sections.Unit], scores: Mapping[str, float], budget_tokens: int, wanted: Sequence[str] = ()
) -> list[sections.Section]:
    """The sections of `units`: those that hold one of `wanted` in its order, the others by score."""
    return _ordered(sections.build(units, scores, budget_tokens=budget_tokens), wanted)


def _ordered(found: Sequence[sections.Section], wanted: Sequence[str]) -> list[sections.Section]:
    return rank.reordered(rank.by_score(found), wanted)


def _ranked(fate: cut.Fate, score: float, aside: Mapping[str, int], best: str) -> Ranked:
    """`aside`: how many values of an item a document does not hold, however full it is."""
    unit = fate.unit
    n = aside.get(unit.item.id, 0) if fate.level == levels.FULL and not fate.is_given else 0
    but = f", but for {n} value{'s' * (n > 1)} put aside: the document says how to fetch {'them' if n > 1 else 'it'}"
    return Ranked(
        section=unit.id,
        score=round(score, 6),
        tokens_full=fate.tokens_full,
        level=fate.level,
        reason=fate.reason + but if n else fate.reason,
        items=unit.items,
        best=best,
    )


def _dropped(fate: cut.Fate) -> Dropped:
    return Dropped(section=fate.unit.id, reason=fate.reason, needed=fate.tokens_full, left=math.floor(fate.left))


def _quoted(items: Sequence[Item], ref: Callable[[str, str], str]) -> tuple[list[Item], list[Offloaded]]:
    """The items as a document quotes them, and the values of theirs that are put aside."""
    kept: list[Item] = []
    aside: list[Offloaded] = []

    def quoted(item: Item, name: str, said: str) -> str:
        if not offload.is_oversized(said):
            return structure.quoted(said)
        reference = ref(item.id, name)
        aside.append(Offloaded(ref=reference, item=item.id, field=name, size=len(said)))
        return offload.placeholder(said, reference)

    for item in items:
        values = {k: v if type(v) is str else canonical.dumps(v) for k, v in item.fields.items() if not _is_bare(v)}
        said = "\n".join([item.text, *values.values()])
        if not (offload.is_oversized(said) or item.lead) and structure.is_plain(said):  # most are
            kept.append(item)
            continue
        text = quoted(item, offload.TEXT, item.text)
        if item.lead and item.is_part:
            text = structure.spoken(text)
        instead = {k: q for k, v in values.items() if (q := quoted(item, offload.value_of(k), v)) is not v}
        kept.append(replace(item, text=text, fields={**item.fields, **instead} if instead else item.fields))
    return kept, aside


def _is_bare(value: object) -> bool:
    """It is written without a word."""
    return value is None or type(value) in (int, float, bool)


def _hash(subject: Subject) -> str:
    item = subject.item
    said = canonical.dumps([item.title, item.lead, item.text, item.fields, item.at, *map(_told, subject.elements)])
    return hashlib.sha256(said.encode("utf-8", "surrogatepass")).hexdigest()


def _told(element: Item) -> list[Any]:
    return [element.id, element.title, element.text, element.fields]
