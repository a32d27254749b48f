"""Sentences in order of how well they answer: BM25 and the cosine of their embeddings, mixed as z-scores.

`score = .5 z(BM25 + .5 BM25 of the surroundings) + .5 z(cosine)`, over all candidates. Without an embedder BM25 alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ukai.kit import bm25, words
from ukai.llm.extractive import evidence, names
from ukai.llm.protocols import Embedder

AROUND = 0.5
"""Weight of the title and the neighbours, where the names that a sentence leaves out usually stand."""
MIX = 0.5
EMBEDDED = 96
"""Candidates that are embedded, best by words first: a second of work on two cores."""
EMBEDDED_ITEMS = 16

Vector = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """One thing that could be quoted."""

    text: str
    """What would be quoted."""
    meant: str
    """What is compared: a field's label spoken as words."""
    around: str
    """Title and neighbours."""
    item: int
    """Which item it stands in."""
    label: str = ""
    """Of a `field: value` line: the field."""
    is_field: bool = False
    """A `field: value` line whose label shares a word with the question."""
    is_asked_for: bool = False
    """The question has every word of the label; it counts as much as the names of the record do."""


@dataclass(frozen=True, kw_only=True)
class Asked:
    """The question, and the question without the names in it."""

    question: str
    names: tuple[str, ...]
    bare: str

    @classmethod
    def of(cls, question: str) -> Asked:
        """Parsed once."""
        found = names.names(question)
        return cls(question=question, names=found, bare=names.without(question, found))


@dataclass(frozen=True, kw_only=True)
class Ranked:
    """A candidate with what speaks for it."""

    candidate: Candidate
    score: float
    cosine: float
    """Of the sentence and the question without its names; 0 without an embedder."""
    item_cosine: float
    """Of the whole item and the whole question; 0 without an embedder."""
    named: float
    """Share of the question's names that the item mentions; 1 when the question has none."""
    own: float
    """Share of the question's other words, weighed by rarity, in the sentence."""
    covered: float
    """The same share, in the sentence and around it."""


def order(
    asked: Asked, candidates: Sequence[Candidate], items: Sequence[evidence.Item], *, embedder: Embedder | None
) -> list[Ranked]:
    """All candidates, best first; ties stay in order. `Candidate.item` counts in `items`.

    Names are weighed apart from words: a whole item that mentions them outweighs one deviation of the mix.
    """
    if not candidates:
        return []
    wanted = list(dict.fromkeys(words.terms(asked.bare)))
    own = [words.terms(c.meant) for c in candidates]
    around = [words.terms(c.around) for c in candidates]
    both = bm25.Index([[*a, *b] for a, b in zip(own, around, strict=True)])
    weights = {term: both.rarity(term) for term in wanted}
    lexical = bm25.Index(own).scores(wanted) + AROUND * bm25.Index(around).scores(wanted)
    cosine, of_items = _cosines(asked, candidates, items, lexical, embedder)
    named_items = [share_named(asked.names, item.everything) for item in items]
    named = np.array([named_items[c.item] for c in candidates])
    asked_for = np.array([float(c.is_asked_for) for c in candidates])
    score = named + asked_for + (z(lexical) if embedder is None else MIX * z(lexical) + (1 - MIX) * z(cosine))
    return [
        Ranked(
            candidate=candidates[i],
            score=float(score[i]),
            cosine=float(cosine[i]),
            item_cosine=float(of_items[candidates[i].item]),
            named=float(named[i]),
            own=_share(weights, set(own[i])),
            covered=_share(weights, {*own[i], *around[i]}),
        )
        for i in _best_first(score)
    ]


def z(x: Vector) -> Vector:
    """Deviations from the mean; all zero when all are equal."""
    return (x - x.mean()) / (x.std() + 1e-9)


def _best_first(score: Vector) -> list[int]:
    return [int(i) for i in np.argsort(-score, kind="stable")]


def _share(weights: dict[str, float], present: set[str]) -> float:
    total = sum(weights.values())
    return sum(w for term, w in weights.items() if term in present) / total if total else 0.0


def _cosines(
    asked: Asked,
    candidates: Sequence[Candidate],
    items: Sequence[evidence.Item],
    lexical: Vector,
    embedder: Embedder | None,
) -> tuple[Vector, Vector]:
    cosine, of_items = np.zeros(len(candidates)), np.zeros(len(items))
    if embedder is None:
        return cosine, of_items
    chosen = _best_first(lexical)[:EMBEDDED]
    shown = list(dict.fromkeys(candidates[i].item for i in chosen))[:EMBEDDED_ITEMS]
    texts = [asked.bare, asked.question, *(candidates[i].meant for i in chosen), *(items[i].said for i in shown)]
    vectors = embedder.embed(texts).astype(float)
    cosine[chosen] = vectors[2 : 2 + len(chosen)] @ vectors[0]
    of_items[shown] = vectors[2 + len(chosen) :] @ vectors[1]
    return cosine, of_items


def share_named(asked: Sequence[str], text: str) -> float:
    """The share of the names `asked` that `text` mentions; 1 when none are asked."""
    return 1 - len(names.missing(asked, text)) / len(asked) if asked else 1.0
