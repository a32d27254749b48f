"""How well each thing answers a question: words and meaning, of the thing and of what stands around it.

    score = w z(BM25) + (1 - w) z(cosine)          z over all things in scope that the caller may read

Of a part (a turn, a page) both are mostly those of the parts around it, up to REACH characters on either side; of what
has a name, a share is that of its name and place. A long question counts as a whole and by its best sentences; those
that are about what is in scope weigh more. The composer over the store and `ukai context recall` over files both come
here. Source of the numbers: docs/design/composing.md.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import numpy as np

from ukai.kit import bm25, words

if TYPE_CHECKING:
    from numpy.typing import NDArray

WORDS = 0.4
"""Weight of words against meaning."""
AROUND_PART, AROUND_NAMED = 0.83, 0.5
"""Share of what stands around."""
REACH = 550
"""Characters on either side of a part that are read with it, at least one neighbour."""
FAR, ROUNDS = 0.05, 8
"""Share of a part's score that is the mean of its wider surroundings, and how many windows they reach either way."""
SENTENCES, MOST = 2, 96
"""Of a long question, as many of its sentences count for a thing, those that it answers best; and so many are asked at
all, the longest, since each is a pass over the scope. Briefs of tau_banking have up to 91."""
NEAREST, MANY = 0.95, 4
"""Of a brief of more than MANY sentences each weighs as much as it is near to what is in scope, at this quantile."""
PLACE = 0.5
"""Weight of the place in which a thing stands, once for its words and once for its meaning."""
SHORTEST = 3
"""Terms of a sentence that asks something by itself."""
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_NONE = np.zeros(0, np.int64)
_stem = lru_cache(maxsize=200_000)(words.stem)


@dataclass(frozen=True, kw_only=True, eq=False)
class Corpus:
    """Things in one order, counted once and asked often. The parts of one thing stand together, in their order."""

    own: bm25.Packed
    title: bm25.Packed
    place: bm25.Packed
    """Of the path, and of who speaks."""
    first: NDArray[np.int32]
    """The rows `[first, last)` are read with a row: `spans`."""
    last: NDArray[np.int32]
    is_part: NDArray[np.bool_]
    """A turn, a page: it has no name of its own. A piece of a long text has that of its record and is none."""
    size: NDArray[np.int32]
    """Characters, or anything in proportion to them."""
    group: NDArray[np.int32] | None = None
    """Rows of one place have one number, from 0; None where places do not count."""
    known: NDArray[np.float64] | None = None
    """`breadth`, where it is known already; negative where it is not."""

    @cached_property
    def groups(self) -> int:
        """How many places."""
        return int(self.group.max()) + 1 if self.group is not None and len(self.group) else 0

    @cached_property
    def has_parts(self) -> bool:
        """Whether any row is a part."""
        return bool(self.is_part.any())

    @cached_property
    def share(self) -> NDArray[np.float64]:
        """What share of a row's words is that of what stands around it."""
        return np.where(self.is_part, AROUND_PART, AROUND_NAMED)

    @cached_property
    def around(self) -> NDArray[np.float64]:
        """How many words stand around a row."""
        named = self.title.lengths + self.place.lengths
        return np.where(self.is_part, _window(self, self.own.lengths), 0) + named if self.has_parts else named

    @cached_property
    def wide(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """The rows `[first, last)` around a row: the windows of its window's ends, and so on."""
        first, last = self.first, self.last
        for _ in range(ROUNDS - 1):
            first, last = self.first[first], self.last[last - 1]
        return first, last

    @cached_property
    def breadth(self) -> NDArray[np.float64]:
        """How many different words each place holds."""
        if self.known is None:
            return self.own.breadth(_numbered(self.group), self.groups)
        group = _numbered(self.group)
        counted = self.own.breadth(np.where(self.known[group] < 0, group, -1), self.groups)
        return np.where(self.known < 0, counted, self.known)

    def spliced(
        self,
        other: Corpus,
        order: NDArray[np.int64],
        *,
        first: NDArray[np.int32],
        last: NDArray[np.int32],
        group: NDArray[np.int32],
        known: NDArray[np.float64] | None,
    ) -> Corpus:
        """The rows that `order` names: numbers of these, then of those of `other`."""
        return Corpus(
            own=self.own.spliced(other.own, order),
            title=self.title.spliced(other.title, order),
            place=self.place.spliced(other.place, order),
            first=first,
            last=last,
            is_part=np.concatenate([self.is_part, other.is_part])[order],
            size=np.concatenate([self.size, other.size])[order],
            group=group,
            known=known,
        )


def asked(question: str) -> tuple[str, ...]:
    """The whole question, then its sentences where several say something by themselves: the longest, as they stand."""
    found = [s.strip() for s in _SENTENCE.split(question) if len(terms(s)) >= SHORTEST]
    if len(found) > MOST:
        longest = sorted(range(len(found)), key=lambda n: -len(found[n]))[:MOST]
        found = [found[n] for n in sorted(longest)]
    return (question, *found) if len(found) > 1 else (question,)


def terms(text: str) -> list[str]:
    """The words of `text` as they are compared; those of `snake_case`, `camelCase` and of a path one by one."""
    return [_stem(w) for w in words.words(_CAMEL.sub(" ", text.replace("_", " "))) if w not in words.STOP]


def spans(
    group: NDArray[np.int32], size: NDArray[np.int32], is_part: NDArray[np.bool_], reach: int = REACH
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """For each row the rows `[first, last)` of its group that are read with it; itself alone where it is no part."""
    rows = np.arange(len(group))
    ends = np.concatenate([[0], np.cumsum(size)])
    edge = np.flatnonzero(np.diff(group) != 0) + 1
    begin = np.concatenate([[0], edge]).astype(int)[np.searchsorted(edge, rows, "right")] if len(rows) else rows
    stop = np.concatenate([edge, [len(rows)]]).astype(int)[np.searchsorted(edge, rows, "right")] if len(rows) else rows
    # The last neighbour is the one that crosses `reach`.
    first = np.maximum(np.searchsorted(ends, ends[rows] - reach, "right") - 1, begin)
    first = np.minimum(first, np.maximum(rows - 1, begin))
    last = np.minimum(np.searchsorted(ends, ends[rows + 1] + reach, "left"), stop)
    last = np.maximum(last, np.minimum(rows + 2, stop))
    return (
        np.where(is_part, first, rows).astype(np.int32),
        np.where(is_part, last, rows + 1).astype(np.int32),
    )


def meaning(corpus: Corpus, vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """One vector a row from the row's own: the surroundings of a part are the mean of their vectors by size.

    Times a question's vector it gives the cosine of the mix, so that no window has to be embedded by itself.
    """
    return surrounded(vectors, corpus.size, corpus.first, corpus.last, corpus.is_part)


def surrounded(
    vectors: NDArray[np.float32],
    size: NDArray[np.int32],
    first: NDArray[np.int64] | NDArray[np.int32],
    last: NDArray[np.int64] | NDArray[np.int32],
    is_part: NDArray[np.bool_],
) -> NDArray[np.float32]:
    """The same of some rows of a corpus. To the bit, a part's vector hangs on the rows around it alone."""
    found = vectors.copy()
    for parts in np.array_split(np.flatnonzero(is_part), max(1, len(vectors) // 4096)):
        mean = np.zeros((len(parts), vectors.shape[1]))
        for away in range(int((last[parts] - first[parts]).max(initial=0))):
            reach = np.flatnonzero(first[parts] + away < last[parts])
            near = first[parts[reach]] + away
            mean[reach] += vectors[near] * size[near, None].astype(float)
        mean /= np.linalg.norm(mean, axis=1, keepdims=True) + 1e-9
        found[parts] = (1 - AROUND_PART) * vectors[parts].astype(float) + AROUND_PART * mean
    return found


def lexical(corpus: Corpus, asked: Sequence[str]) -> NDArray[np.float64]:
    """BM25 of each row with what stands around it, for the terms of one question."""
    wanted = list(dict.fromkeys(asked))
    own = corpus.own.scores(wanted)
    around = bm25.summed((_around(corpus, term) for term in wanted), corpus.around)
    return (1 - corpus.share) * own + corpus.share * around


def places(corpus: Corpus, asked: Sequence[str], cosine: NDArray[np.float64] | None) -> NDArray[np.float64]:
    """How well the place of each row answers: one that holds all words of a question somewhere is the right one.

    A word counts once a place, however often it comes, so that a large place does not answer by its size.
    """
    group = _numbered(corpus.group)
    if corpus.groups < 2:
        return np.zeros(len(corpus.size))
    rows = (corpus.own.found(t)[0] for t in dict.fromkeys(asked))
    held = [(np.bincount(group[r], minlength=corpus.groups) > 0).astype(float) for r in rows]
    found = _z(bm25.weighed(held, corpus.breadth))
    if cosine is not None:
        sizes = np.bincount(group, minlength=corpus.groups)
        found = found + _z(np.bincount(group, cosine, corpus.groups) / np.maximum(sizes, 1))
    # What stands around a part is in its own score: its place would count it twice.
    return np.where(corpus.is_part, 0.0, PLACE * found[group])


def scores(
    corpus: Corpus, questions: Sequence[Sequence[str]], cosines: Sequence[NDArray[np.float64]] | None
) -> NDArray[np.float64]:
    """One score a row. `questions` are the terms of `asked`, `cosines` theirs; without them words decide alone."""
    return mixed([lexical(corpus, q) for q in questions], cosines, corpus=corpus, questions=questions)


def mixed(
    lexicals: Sequence[NDArray[np.float64]],
    cosines: Sequence[NDArray[np.float64]] | None,
    *,
    corpus: Corpus | None = None,
    questions: Sequence[Sequence[str]] = (),
) -> NDArray[np.float64]:
    """The same, of what `lexical` gave for each question. With `corpus` and `questions` places count too."""
    if not len(lexicals[0]):
        return np.zeros(0)
    rows: list[NDArray[np.float64]] = []
    for n, found in enumerate(lexicals):
        cosine = None if cosines is None else cosines[n]
        row = _z(_mix(found, cosine))
        rows.append(row if corpus is None else _far(corpus, row) + places(corpus, questions[n], cosine))
    if len(rows) == 1:
        return rows[0]
    sentences = np.array(rows[1:])
    if cosines is not None and len(sentences) > MANY:
        sentences *= _weights(cosines[1:])[:, None]
    return _z(rows[0]) + _z(np.sort(sentences, axis=0)[-SENTENCES:].mean(axis=0))


def _far(corpus: Corpus, row: NDArray[np.float64]) -> NDArray[np.float64]:
    """What is talked about for longer stands in more than one window."""
    if not corpus.has_parts:
        return row
    (first, last), size = corpus.wide, np.maximum(corpus.size, 1)  # a record without a text has none
    sums, sizes = (np.concatenate([[0.0], np.cumsum(x)]) for x in (row * size, size))
    return (1 - FAR) * row + FAR * _z((sums[last] - sums[first]) / (sizes[last] - sizes[first]))


def _weights(cosines: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    """How much each sentence is about what is in scope: in standard scores one that nothing answers is as loud."""
    near = np.array([max(0.01, float(np.quantile(c, NEAREST))) for c in cosines])
    return near / near.mean()


def _numbered(group: NDArray[np.int32] | None) -> NDArray[np.int32]:
    return np.zeros(0, np.int32) if group is None else group


def _around(corpus: Corpus, term: str) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The rows around which `term` stands, and how often: in the parts beside a part, in a title, in a place."""
    found = [(rows, counts) for rows, counts in (corpus.title.found(term), corpus.place.found(term)) if len(rows)]
    if corpus.has_parts:
        near = np.where(corpus.is_part, _window(corpus, corpus.own.tf(term)), 0)
    elif found:
        near = np.zeros(len(corpus.size))
    else:
        return _NONE, np.zeros(0)
    for rows, counts in found:
        near[rows] += counts
    inside = np.flatnonzero(near)
    return inside, near[inside]


def _window(corpus: Corpus, values: NDArray[np.float64]) -> NDArray[np.float64]:
    sums = np.concatenate([[0.0], np.cumsum(values)])
    return sums[corpus.last] - sums[corpus.first]


def _mix(lexical: NDArray[np.float64], cosine: NDArray[np.float64] | None) -> NDArray[np.float64]:
    return _z(lexical) if cosine is None else WORDS * _z(lexical) + (1 - WORDS) * _z(cosine)


def _z(x: NDArray[np.float64]) -> NDArray[np.float64]:
    return (x - x.mean()) / (x.std() + 1e-9)
