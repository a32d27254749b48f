"""BM25 over documents that are given as lists of terms (Robertson & Zaragoza 2009).

Computed over exactly the documents handed in: when those are the ones a reader may see, no score tells of others.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

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
        return rarity(self.size, len(self._postings.get(term, ())))


ENTRY = np.dtype([("term", "<i8"), ("count", "<u2")])
"""One term of a packed document: ten bytes, by number."""
MOST_OFTEN = 65_535


@lru_cache(maxsize=65_536)
def number(term: str) -> int:
    """The eight bytes that stand for a term where documents are packed: what is kept of a text is no text."""
    return int.from_bytes(hashlib.blake2b(term.encode("utf-8", "surrogatepass"), digest_size=8).digest(), signed=True)


def packed(document: Sequence[str]) -> bytes:
    """A document as what BM25 needs of it, fit to be stored: each term's number and how often it comes, by number."""
    counts = sorted((number(t), min(c, MOST_OFTEN)) for t, c in Counter(document).items())
    return np.array(counts, ENTRY).tobytes()


class Packed:
    """`Index` over packed documents: the same scores, made of arrays, so that 10,000 documents cost milliseconds."""

    def __init__(self, documents: Sequence[bytes]) -> None:
        self.size = len(documents)
        entries = np.frombuffer(b"".join(documents), ENTRY)
        sizes = np.fromiter(map(len, documents), np.int64, self.size) // ENTRY.itemsize
        rows = np.repeat(np.arange(self.size), sizes)
        self.lengths = np.bincount(rows, weights=entries["count"], minlength=self.size).astype(float)
        order = np.argsort(entries["term"], kind="stable")
        self._terms = entries["term"][order]
        self._rows = rows[order].astype(np.int32)
        self._counts = entries["count"][order]

    @property
    def nbytes(self) -> int:
        """Memory of the arrays."""
        return int(self._terms.nbytes + self._rows.nbytes + self._counts.nbytes + self.lengths.nbytes)

    def breadth(self, group: NDArray[np.int32], groups: int) -> NDArray[np.float64]:
        """How many different terms each group of documents holds.

        `group`: for each document a number below `groups`, or -1 where it does not count.
        """
        terms = np.concatenate([[0], np.cumsum(np.diff(self._terms) != 0)])[: len(self._terms)]
        of = group[self._rows]
        # Not `np.unique`, which takes ten times as long.
        pairs = np.sort(terms[of >= 0] * groups + of[of >= 0])
        first = np.concatenate([[True], np.diff(pairs) != 0])[: len(pairs)]
        return np.bincount(pairs[first] % max(groups, 1), minlength=groups).astype(float)

    def spliced(self, other: Packed, order: NDArray[np.int64]) -> Packed:
        """What `Packed` would make of the documents that `order` names: numbers of these, then of those of `other`."""
        place = np.full(self.size + other.size, -1, np.int32)
        place[order] = np.arange(len(order), dtype=np.int32)
        made = object.__new__(Packed)
        made.size = len(order)
        made.lengths = np.concatenate([self.lengths, other.lengths])[order]
        stays, comes = place[self._rows], place[self.size + other._rows]
        is_kept, is_new = stays >= 0, comes >= 0
        terms = self._terms[is_kept]
        at = np.searchsorted(terms, other._terms[is_new], "left")
        made._terms = np.insert(terms, at, other._terms[is_new])
        made._rows = np.insert(stays[is_kept], at, comes[is_new])
        made._counts = np.insert(self._counts[is_kept], at, other._counts[is_new])
        return made

    def tf(self, term: str) -> NDArray[np.float64]:
        """How often each document holds `term`, in their order."""
        found = np.zeros(self.size)
        rows, counts = self.found(term)
        found[rows] = counts
        return found

    def found(self, term: str) -> tuple[NDArray[np.int32], NDArray[np.uint16]]:
        """The documents that hold `term`, each once, and how often each does."""
        wanted = number(term)
        first = int(np.searchsorted(self._terms, wanted, "left"))
        last = int(np.searchsorted(self._terms, wanted, "right"))
        return self._rows[first:last], self._counts[first:last]

    def scores(self, terms: Sequence[str]) -> NDArray[np.float64]:
        """One score a document; repeated terms count once."""
        return summed((self.found(t) for t in dict.fromkeys(terms)), self.lengths)


def weighed(counts: Sequence[NDArray[np.float64]], lengths: NDArray[np.float64]) -> NDArray[np.float64]:
    """BM25 of documents with these lengths. `counts` has one row of occurrences for each term of the query."""
    rows = (np.flatnonzero(found) for found in counts)
    return summed(((inside, found[inside]) for inside, found in zip(rows, counts, strict=True)), lengths)


def summed(found: Iterable[tuple[NDArray[Any], NDArray[Any]]], lengths: NDArray[np.float64]) -> NDArray[np.float64]:
    """The same of `(documents, occurrences)` for each term: what does not hold it costs nothing."""
    size = len(lengths)
    mean = float(lengths.mean()) if size else 0.0
    norm = K1 * (1 - B + B * lengths / (mean or 1.0))
    scores = np.zeros(size)
    for rows, counts in found:
        if len(rows):
            scores[rows] += rarity(size, len(rows)) * counts * (K1 + 1) / (counts + norm[rows])
    return scores


def rarity(size: int, inside: int) -> float:
    """The inverse document frequency of a term that `inside` of `size` documents hold, never negative."""
    return float(np.log1p((size - inside + 0.5) / (inside + 0.5)))
