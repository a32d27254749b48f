"""Cases measured: which required items a document mentions, and which stand there so that they can be used."""

from __future__ import annotations

import hashlib
import random
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from ukai.context import assembly, cut, levels, structure
from ukai.context.item import Item
from ukai.context.recall.memory import Counted, Embed, Memory
from ukai.context.recall.outside import Case, Corpus
from ukai.context.scope import CEILING_TOKENS
from ukai.context.sections import Unit

SEEDS = 3
"""Random orders that are averaged."""
CANDIDATES = 2_000
"""As many things as a composition takes at most: the composer's own cap."""
KEPT = 8
"""Scopes whose numbers are kept between cases."""


@dataclass(frozen=True, kw_only=True)
class Held:
    """Shares of the required items of one case, by budget."""

    recall: Mapping[int, float]
    usable: Mapping[int, float]


@dataclass(frozen=True, kw_only=True)
class Row:
    """One case."""

    id: str
    visible: int
    required: int
    held: Held
    random: Held
    end_to_end: float
    """Usable in a document as large as any may be: what is missing there is lost before the budget."""
    missing: tuple[str, ...]
    """Required items that cannot be used at the largest budget."""
    ms: float = field(default=0.0, compare=False)

    @property
    def is_even(self) -> bool:
        """Whether the sha256 of its id is even: what was tuned on those is reported on the others."""
        return int(hashlib.sha256(self.id.encode()).hexdigest(), 16) % 2 == 0

    def as_json(self) -> dict[str, Any]:
        """With budgets as text."""
        return {
            "id": self.id,
            "visible": self.visible,
            "required": self.required,
            "recall": {str(b): round(v, 4) for b, v in self.held.recall.items()},
            "usable": {str(b): round(v, 4) for b, v in self.held.usable.items()},
            "random": {str(b): round(v, 4) for b, v in self.random.usable.items()},
            "end_to_end": round(self.end_to_end, 4),
            "missing": list(self.missing),
        }


def measured(
    corpus: Corpus,
    cases: Sequence[Case],
    *,
    budgets: Sequence[int],
    count: Callable[[str], float],
    embed: Embed | None,
    plan: cut.Plan = cut.DEFAULT,
    seeds: int = SEEDS,
) -> Iterator[Row]:
    """One row a case, in their order. `embed` keeps vectors by content; without it words decide alone."""
    counted = Counted()
    kept: dict[tuple[Any, ...], Memory] = {}
    for case in cases:
        key = (case.scope, case.principal)
        if key not in kept:
            while len(kept) >= KEPT:
                kept.pop(next(iter(kept)))
            kept[key] = Memory(corpus.visible(case), counted=counted, embed=embed)
        yield _row(kept[key], case, budgets=budgets, count=count, embed=embed, plan=plan, seeds=seeds)


def _row(
    memory: Memory,
    case: Case,
    *,
    budgets: Sequence[int],
    count: Callable[[str], float],
    embed: Embed | None,
    plan: cut.Plan,
    seeds: int,
) -> Row:
    started = time.perf_counter()
    scores = memory.scores(case.question, embed)
    documents = _documents(memory, scores, budgets, count, plan)
    ms = (time.perf_counter() - started) * 1e3 / max(1, len(budgets))
    largest = _documents(memory, scores, (CEILING_TOKENS,), count, plan)
    chance = [
        held(case, _documents(memory, _shuffled(memory, case, seed), budgets, count, plan)) for seed in range(seeds)
    ]
    last = documents[max(budgets)] if budgets else None
    return Row(
        id=case.id,
        visible=len(memory.items),
        required=len(case.required),
        held=held(case, documents),
        random=_mean(chance, budgets),
        end_to_end=held(case, largest).usable[CEILING_TOKENS],
        missing=tuple(r for r in case.required if last is not None and not last.holds(r)),
        ms=ms,
    )


def _documents(
    memory: Memory, scores: Mapping[str, float], budgets: Sequence[int], count: Callable[[str], float], plan: cut.Plan
) -> dict[int, Document]:
    best = sorted(memory.units, key=lambda u: -scores[u.id])[:CANDIDATES]
    order = assembly.in_order(assembly.ranking_of(best, scores))
    return {b: Document(cut.fill(order, budget=b, count=count, layout=memory.layout, plan=plan)) for b in budgets}


class Shown(Protocol):
    """A document of which can be said what it holds."""

    def mentions(self, id: str) -> bool: ...
    def holds(self, id: str) -> bool: ...


class Document:
    """A document as a reader has it: only what stands in the text of a section counts."""

    def __init__(self, made: cut.Cut) -> None:
        self._texts = dict(made.paper.pieces())
        self._paper = made.paper
        self._units: dict[str, Unit] = {}
        self._levels = made.paper.levels
        for unit in made.units:
            if unit.id in self._levels:
                self._units |= {s.item.id: unit for s in unit.subjects}
                self._units |= {e.id: unit for s in unit.subjects for e in s.elements}

    def mentions(self, id: str) -> bool:
        """Whether the item is named: it, or the thing whose element it is and which tells its elements' names."""
        unit = self._units.get(id)
        if unit is None:
            return False
        return self._levels[unit.id] != levels.IDENTITY or any(s.item.id == id for s in unit.subjects)

    def holds(self, id: str) -> bool:
        """Whether its text stands there in full; of a table, the name of every column."""
        unit = self._units.get(id)
        if unit is None or not self.mentions(id):
            return False
        told = self._paper.told(unit)
        if not all(line.removesuffix(", ") in self._texts[unit.place] for line in told.splitlines()):
            raise AssertionError(f"what is told of {id!r} does not stand in the document")
        subject = next((s for s in unit.subjects if s.item.id == id), None)
        if subject is not None:
            return is_usable(subject.item, subject.names, told)
        return is_usable(next(e for s in unit.subjects for e in s.elements if e.id == id), (), told)


def is_usable(item: Item, names: Sequence[str], told: str) -> bool:
    """Whether its text stands in what is told of it in full; of a table, each of the columns' `names` as a word."""
    if item.kind == "table" and names:
        return all(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", told) for name in names)
    said = (item.text, structure.inset(item.text), structure.part("", item.text).removesuffix("\n"))
    return any(one in told for one in said)


def held(case: Case, documents: Mapping[int, Shown]) -> Held:
    """What the documents hold of what the case requires, by budget. Whoever made them is measured alike."""
    size = len(case.required)
    return Held(
        recall={b: sum(d.mentions(r) for r in case.required) / size for b, d in documents.items()},
        usable={b: sum(d.holds(r) for r in case.required) / size for b, d in documents.items()},
    )


def _mean(rows: Sequence[Held], budgets: Sequence[int]) -> Held:
    size = max(1, len(rows))
    return Held(
        recall={b: sum(r.recall[b] for r in rows) / size for b in budgets},
        usable={b: sum(r.usable[b] for r in rows) / size for b in budgets},
    )


def _shuffled(memory: Memory, case: Case, seed: int) -> dict[str, float]:
    """Scores of a seeded random order of the same scope."""
    rng = random.Random(f"{seed}/{case.id}")  # noqa: S311
    return {u.id: rng.random() for u in memory.units}
