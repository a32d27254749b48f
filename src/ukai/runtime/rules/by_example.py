"""A rule of kind `model` where no language model is configured: judged by the examples that its file gives (X2).

A sentence fires when it is nearer in meaning to an example that must fire than to any that must pass, and near enough
at all. Without examples of both kinds the rule cannot be decided, and its failure policy holds.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ukai.kit import sentences, words
from ukai.llm.extractive import citation
from ukai.llm.protocols import Embedder
from ukai.runtime.guardrail import Guardrail
from ukai.runtime.rules.judged import Judged, Span, Text, at

NEAR = 0.5
"""Cosine from which a sentence means what an example means; docs/reference/guardrail.md says how it was chosen."""
NEARER = 0.1
"""By how much the nearest firing example must lead."""
SHORTEST = 3
"""Words of a sentence that can mean something."""


def judge(rule: Guardrail, text: Text, embedder: Embedder) -> Judged:
    """Slow: it embeds. Quotes are read without their citations, as the ranking that chose them did."""
    fire, passing = rule.examples.fire, rule.examples.passes
    if not fire or not passing:
        return Judged(failure="it needs a language model, or examples that pass and examples that fire")
    places = [(s.start, s.end) for s in sentences.split(text.words)]
    said = {place: _plain(text.words[slice(*place)]) for place in places}
    meant = {place: plain for place, plain in said.items() if len(words.words(plain)) >= SHORTEST}
    if not meant:
        return Judged()
    return at(_firing(list(meant), embedder.embed(list(meant.values())), embedder.embed([*fire, *passing]), len(fire)))


def _firing(places: Sequence[Span], said: np.ndarray, examples: np.ndarray, fire: int) -> list[Span]:
    likeness = said @ examples.T
    worst, best = likeness[:, :fire].max(axis=1), likeness[:, fire:].max(axis=1)
    return [p for p, w, b in zip(places, worst, best, strict=True) if w >= NEAR and w - b >= NEARER]


def _plain(sentence: str) -> str:
    quoted = citation.quotes(sentence if sentence.startswith("- ") else f"- {sentence}")
    return quoted[0].text if quoted else sentence
