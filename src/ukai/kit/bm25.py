"""BM25 over documents that are given as lists of terms (Robertson & Zaragoza 2009).

Computed over exactly the documents handed in: when those are the ones a reader may see, no score tells of others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

K1, B = 1.2, 0.75  # the values that most engines use


class Index:
    """Documents counted once, asked often."""

    def __init__(self, documents: Sequence[Sequence[str]]) -> None:
        self.size = len(documents)
        lengths = np.array([len(d) for d in documents], float)
        mean = float(lengths.mean()) if self.size else 0.0
        self._norm = K1 * (1 - B + B * lengths / (mean or 1.0))
        postings: dict[str, list[tuple[int, int]]] = {}
        for number, document in enumerate(documents):
            for term, count in Counter(document).items():
                postings.setdefault(term, []).append((number, count))
        self._postings = postings

    def scores(self, terms: Sequence[str]) -> NDArray[np.float64]:
        """One score a document, in their order; repeated terms count once."""
        scores = np.zeros(self.size)
        for term in dict.fromkeys(terms):
            found = self._postings.get(term)
            if found:
                places, counts = np.array(found, float).T
                at = places.astype(int)
                scores[at] += self.rarity(term) * counts * (K1 + 1) / (counts + self._norm[at])
        return scores

    def rarity(self, term: str) -> float:
        """The inverse document frequency of `term`, never negative."""
        inside = len(self._postings.get(term, ()))
        return float(np.log1p((self.size - inside + 0.5) / (inside + 0.5)))
