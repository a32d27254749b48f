"""BM25 over documents that are given as lists of terms (Robertson & Zaragoza 2009).

Computed over exactly the documents handed in: when those are the ones a reader may see, no score tells of others.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ukai.kit import layers

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
_NO_POSTINGS = np.zeros(0, np.int32), np.zeros(0, np.uint16)


@lru_cache(maxsize=65_536)
def number(term: str) -> int:
    """The eight bytes that stand for a term where documents are packed: what is kept of a text is no text."""
    return int.from_bytes(hashlib.blake2b(term.encode("utf-8", "surrogatepass"), digest_size=8).digest(), signed=True)


def packed(document: Sequence[str]) -> bytes:
    """A document as what BM25 needs of it, fit to be stored: each term's number and how often it comes, by number."""
    counts = sorted((number(t), min(c, MOST_OFTEN)) for t, c in Counter(document).items())
    return np.array(counts, ENTRY).tobytes()


@dataclass(frozen=True, kw_only=True)
class Postings:
    """Which documents hold which terms, both ways round. Documents are numbers from 0 on."""

    words: NDArray[np.int64]
    """Each term once, by number."""
    begin: NDArray[np.int64]
    """Where the documents of each term begin, and where the last ones end."""
    rows: NDArray[np.int32]
    """The documents of each term."""
    counts: NDArray[np.uint16]
    """How often each of these holds it."""
    starts: NDArray[np.int64]
    """Where the terms of each document begin, and where the last ones end."""
    terms: NDArray[np.int32]
    """The terms of each document, as places in `words`."""

    @property
    def nbytes(self) -> int:
        """Memory of the arrays."""
        return sum(int(array.nbytes) for array in vars(self).values())

    def entries(self) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.uint16]]:
        """Term, document and how often, by term."""
        return np.repeat(self.words, np.diff(self.begin)), self.rows, self.counts

    def terms_of(self, documents: NDArray[np.int64]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """The terms of these documents, as places in `words`, and how many each has."""
        sizes = np.diff(self.starts)[documents]
        before = np.cumsum(sizes) - sizes
        return self.terms[np.repeat(self.starts[documents] - before, sizes) + np.arange(sizes.sum())], sizes


def _postings(terms: NDArray[Any], rows: NDArray[Any], counts: NDArray[Any], size: int) -> Postings:
    """Of entries in any order."""
    order = np.argsort(terms, kind="stable")
    ordered = terms[order]
    begin = np.flatnonzero(np.concatenate([[True], np.diff(ordered) != 0])[: len(ordered)])
    ends = np.append(begin, len(ordered))
    place = np.empty(len(ordered), np.int32)
    place[order] = np.repeat(np.arange(len(begin), dtype=np.int32), np.diff(ends))
    return Postings(
        words=ordered[begin],
        begin=ends,
        rows=rows[order].astype(np.int32),
        counts=counts[order],
        starts=np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=size))]),
        terms=place[np.argsort(rows, kind="stable")],
    )


class Packed:
    """`Index` over packed documents: the same scores, made of arrays, so that 10,000 documents cost milliseconds."""

    def __init__(self, documents: Sequence[bytes]) -> None:
        self.size = len(documents)
        entries = np.frombuffer(b"".join(documents), ENTRY)
        sizes = np.fromiter(map(len, documents), np.int64, self.size) // ENTRY.itemsize
        rows = np.repeat(np.arange(self.size), sizes)
        self.lengths = np.bincount(rows, weights=entries["count"], minlength=self.size).astype(float)
        self.layers = layers.first(_postings(entries["term"], rows, entries["count"], self.size), self.size)

    def breadth(self, group: NDArray[np.int32], groups: int) -> NDArray[np.float64]:
        """How many different terms each group of documents holds.

        `group`: for each document a number below `groups`, or -1 where it does not count.
        """
        held = [_held(layer, group) for layer in self.layers]
        held = [(words, terms, of) for words, terms, of in held if len(of)]
        if not held:
            return np.zeros(groups)
        # What is a place in one list of words is none in another.
        terms = (
            held[0][1]
            if len(held) == 1
            else np.unique(np.concatenate([w[t] for w, t, _ in held]), return_inverse=True)[1]
        )
        # Not `np.unique`, which takes ten times as long.
        pairs = np.sort(terms.astype(np.int64) * groups + np.concatenate([of for _, _, of in held]))
        first = np.concatenate([[True], np.diff(pairs) != 0])
        return np.bincount(pairs[first] % groups, minlength=groups).astype(float)

    def contents(self) -> NDArray[np.int64]:
        """A number for each document: equal for those that hold the same terms, each as often."""
        found = np.zeros(self.size, np.int64)
        for layer in self.layers:
            terms, rows, counts = layer.of.entries()
            row = layer.row[rows]
            np.add.at(found, row[row >= 0], (terms * counts)[row >= 0])
        return found

    def spliced(self, other: Packed, order: NDArray[np.int64]) -> Packed:
        """What `Packed` would make of the documents that `order` names: numbers of these, then of those of `other`."""
        made = object.__new__(Packed)
        made.size = len(order)
        made.lengths = np.concatenate([self.lengths, other.lengths])[order]
        sizes = self.size, other.size
        made.layers = layers.spliced(self.layers, other.layers, order, sizes=sizes, joined=_joined)
        return made

    @classmethod
    def folded(cls, parts: Sequence[tuple[Packed, NDArray[np.int64]]], size: int) -> Packed:
        """`size` documents of others put together: of each part every document goes into the one whose number stands
        beside it, and into none where that is negative."""
        made = object.__new__(cls)
        made.size, made.lengths = size, np.zeros(size)
        kept: list[tuple[NDArray[Any], ...]] = []
        for packed, into in parts:
            np.add.at(made.lengths, into[into >= 0], packed.lengths[into >= 0])
            for layer in packed.layers:
                terms, rows, counts = layer.of.entries()
                row = np.where(layer.row[rows] >= 0, into[layer.row[rows]], -1)
                kept.append((terms[row >= 0], row[row >= 0], counts[row >= 0]))
        term, row, count = (np.concatenate(arrays) for arrays in zip(*kept, strict=True))
        order = np.lexsort((row, term))
        term, row, count = term[order], row[order].astype(np.int32), count[order].astype(np.int64)
        first = np.flatnonzero(np.concatenate([[True], (np.diff(term) != 0) | (np.diff(row) != 0)])[: len(term)])
        summed = np.minimum(np.add.reduceat(count, first) if len(first) else count, MOST_OFTEN).astype(np.uint16)
        made.layers = layers.first(_postings(term[first], row[first], summed, size), size)
        return made

    def tf(self, term: str) -> NDArray[np.float64]:
        """How often each document holds `term`, in their order."""
        found = np.zeros(self.size)
        rows, counts = self.found(term)
        found[rows] = counts
        return found

    def found(self, term: str) -> tuple[NDArray[np.int32], NDArray[np.uint16]]:
        """The documents that hold `term`, each once, in any order, and how often each does."""
        wanted, found = number(term), [_NO_POSTINGS]
        for layer in self.layers:
            at = int(np.searchsorted(layer.of.words, wanted))
            if at < len(layer.of.words) and layer.of.words[at] == wanted:
                inside = slice(int(layer.of.begin[at]), int(layer.of.begin[at + 1]))
                row, counts = layer.row[layer.of.rows[inside]], layer.of.counts[inside]
                is_there = row >= 0
                found.append((row, counts) if is_there.all() else (row[is_there], counts[is_there]))
        rows, counts = zip(*found, strict=True)
        return np.concatenate(rows), np.concatenate(counts)

    def scores(self, terms: Sequence[str]) -> NDArray[np.float64]:
        """One score a document; repeated terms count once."""
        return summed((self.found(t) for t in dict.fromkeys(terms)), self.lengths)


def _held(
    layer: layers.Layer[Postings], group: NDArray[np.int32]
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]]:
    """A list of words, and for each entry that counts its place in it and its group."""
    of = np.where(layer.row >= 0, group[layer.row], -1)
    documents = np.flatnonzero(of >= 0)
    terms, sizes = layer.of.terms_of(documents)
    return layer.of.words, terms, np.repeat(of[documents], sizes)


def _joined(of: Sequence[layers.Layer[Postings]], size: int) -> Postings:
    kept: list[tuple[NDArray[Any], ...]] = []
    for layer in of:
        terms, rows, counts = layer.of.entries()
        now = layer.row[rows]
        kept.append((terms[now >= 0], now[now >= 0], counts[now >= 0]))
    terms, rows, counts = (np.concatenate(arrays) for arrays in zip(*kept, strict=True))
    return _postings(terms, rows, counts, size)


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
