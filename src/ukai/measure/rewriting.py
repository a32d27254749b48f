"""A rewrite laid beside its original, sentence by sentence: what stayed, moved, was reworded, vanished or is new.

Sentences that stand unchanged are anchors; between two anchors the others are aligned in order, so that a free
paraphrase is recognised by its place even where it shares few words. Measurements: docs/design/measure.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from rapidfuzz import fuzz

from ukai.kit import figures, sentences
from ukai.measure import content, normal

ALIKE = 75.0
"""token_set_ratio from which two sentences are one, reworded (research §4.3), wherever they stand in the gap."""
PLACED = 30.0
"""The same for two sentences that are alone in their gap, or share a figure: their place says the rest."""


@dataclass(frozen=True, kw_only=True)
class Part:
    """One sentence of one side."""

    i: int
    start: int
    end: int
    text: str
    norm: str
    marked: bool = False


@dataclass(frozen=True, kw_only=True)
class Laid:
    """Both sides, and which sentence of the rewrite each of the original became."""

    original: tuple[Part, ...]
    rewritten: tuple[Part, ...]
    same: dict[int, int]
    """Original -> rewritten, word for word, in whatever place."""
    reworded: dict[int, int]
    """Original -> rewritten, in other words."""

    @property
    def missing(self) -> tuple[Part, ...]:
        """Of the original, without a successor."""
        return tuple(p for p in self.original if p.i not in self.same and p.i not in self.reworded)

    @property
    def new(self) -> tuple[Part, ...]:
        """Of the rewrite, without a predecessor."""
        known = {*self.same.values(), *self.reworded.values()}
        return tuple(p for p in self.rewritten if p.i not in known)


def laid(original: str, rewritten: str, marks: Sequence[tuple[int, int]]) -> Laid:
    """`marks` are spans of the original that a rewrite was to change."""
    left = _parts(original, marks)
    right = _parts(rewritten, ())
    anchors = _anchors(left, right)
    same = dict(anchors)
    _moved(left, right, same)
    reworded: dict[int, int] = {}
    for gap_left, gap_right in _gaps(left, right, anchors, same):
        reworded.update(_aligned(gap_left, gap_right))
        reworded.update(_succeeded(gap_left, gap_right, reworded))
    _elsewhere(left, right, same, reworded)
    return Laid(original=left, rewritten=right, same=same, reworded=reworded)


def _parts(text: str, marks: Sequence[tuple[int, int]]) -> tuple[Part, ...]:
    return tuple(
        Part(
            i=i,
            start=unit.start,
            end=unit.end,
            text=text[unit.start : unit.end],
            norm=normal.text(text[unit.start : unit.end]),
            marked=any(start < unit.end and unit.start < end for start, end in marks),
        )
        for i, unit in enumerate(sentences.split(text))
    )


def _anchors(left: Sequence[Part], right: Sequence[Part]) -> list[tuple[int, int]]:
    """The longest run of equal sentences in order (longest common subsequence)."""
    head = 0
    while head < min(len(left), len(right)) and left[head].norm == right[head].norm:
        head += 1
    tail = 0
    while tail < min(len(left), len(right)) - head and left[-1 - tail].norm == right[-1 - tail].norm:
        tail += 1
    middle = _common(left[head : len(left) - tail], right[head : len(right) - tail])
    last = [(len(left) - n, len(right) - n) for n in range(tail, 0, -1)]
    return [*((n, n) for n in range(head)), *((left[i + head].i, right[k + head].i) for i, k in middle), *last]


def _common(left: Sequence[Part], right: Sequence[Part]) -> list[tuple[int, int]]:
    rows = [[0] * (len(right) + 1) for _ in range(len(left) + 1)]
    for i in range(len(left) - 1, -1, -1):
        for k in range(len(right) - 1, -1, -1):
            equal = left[i].norm == right[k].norm
            rows[i][k] = rows[i + 1][k + 1] + 1 if equal else max(rows[i + 1][k], rows[i][k + 1])
    found: list[tuple[int, int]] = []
    i = k = 0
    while i < len(left) and k < len(right):
        if left[i].norm == right[k].norm:
            found.append((i, k))
            i, k = i + 1, k + 1
        elif rows[i + 1][k] >= rows[i][k + 1]:
            i += 1
        else:
            k += 1
    return found


def _moved(left: Sequence[Part], right: Sequence[Part], same: dict[int, int]) -> None:
    """Equal sentences that changed their place."""
    free: dict[str, list[int]] = {}
    taken = set(same.values())
    for part in right:
        if part.i not in taken:
            free.setdefault(part.norm, []).append(part.i)
    for part in left:
        if part.i not in same and free.get(part.norm):
            same[part.i] = free[part.norm].pop(0)


def _gaps(
    left: Sequence[Part], right: Sequence[Part], anchors: list[tuple[int, int]], same: dict[int, int]
) -> list[tuple[list[Part], list[Part]]]:
    """What stands between two anchors on either side, without the sentences that moved."""
    edges = [(-1, -1), *anchors, (len(left), len(right))]
    taken = set(same.values())
    return [
        (
            [p for p in left[a + 1 : c] if p.i not in same],
            [p for p in right[b + 1 : d] if p.i not in taken],
        )
        for (a, b), (c, d) in pairwise(edges)
    ]


def _aligned(left: list[Part], right: list[Part]) -> dict[int, int]:
    """Pairs in order with the largest sum of likeness; pairs that are not alike enough stay apart."""
    if not left or not right:
        return {}
    alone = len(left) == len(right)
    worth = [[_worth(one, other, alone=alone) for other in right] for one in left]
    rows = [[0.0] * (len(right) + 1) for _ in range(len(left) + 1)]
    for i in range(len(left) - 1, -1, -1):
        for k in range(len(right) - 1, -1, -1):
            pair = worth[i][k] + rows[i + 1][k + 1] if worth[i][k] else 0.0
            rows[i][k] = max(pair, rows[i + 1][k], rows[i][k + 1])
    found: dict[int, int] = {}
    i = k = 0
    while i < len(left) and k < len(right):
        if worth[i][k] and rows[i][k] == worth[i][k] + rows[i + 1][k + 1]:
            found[left[i].i] = right[k].i
            i, k = i + 1, k + 1
        elif rows[i][k] == rows[i + 1][k]:
            i += 1
        else:
            k += 1
    return found


def _succeeded(left: list[Part], right: list[Part], reworded: dict[int, int]) -> dict[int, int]:
    """A marked sentence was to change: whatever else stands between its neighbours is what became of it."""
    taken = set(reworded.values())
    free = [p.i for p in right if p.i not in taken]
    lost = [p.i for p in left if p.marked and p.i not in reworded]
    return dict(zip(lost, free, strict=False))


def continues(marked: Part, other: Part) -> bool:
    """Whether a sentence may be the second half of what a marked one became."""
    return likeness_of(marked.norm, other.norm) >= PLACED and _share_something(marked, other)


def _worth(one: Part, other: Part, *, alone: bool) -> float:
    """How alike two sentences are, 0 to 100; 0 when not enough to be one."""
    likeness = likeness_of(one.norm, other.norm)
    if likeness >= ALIKE:
        return likeness
    placed = (alone and likeness >= PLACED) or (likeness >= PLACED and _share_something(one, other))
    return likeness if placed else 0.0


def likeness_of(one: str, other: str) -> float:
    """The token set ratio, held down where one sentence is a small part of the other."""
    sets = fuzz.token_set_ratio(one, other)
    whole = fuzz.ratio(one, other)
    return min(sets, whole + 40.0)


def _share_something(one: Part, other: Part) -> bool:
    """A figure, or a third of the content words of the shorter."""
    said = {f.said for f in figures.extract(one.text)} & {f.said for f in figures.extract(other.text)}
    left, right = content.near(one.text), content.near(other.text)
    return bool(said) or 3 * len(left & right) >= max(1, min(len(left), len(right)))


def _elsewhere(left: Sequence[Part], right: Sequence[Part], same: dict[int, int], reworded: dict[int, int]) -> None:
    """Sentences that were both reworded and moved."""
    free = [p for p in right if p.i not in same.values() and p.i not in reworded.values()]
    for part in left:
        if part.i in same or part.i in reworded or not free:
            continue
        best = max(free, key=lambda other: (likeness_of(part.norm, other.norm), -other.i))
        if likeness_of(part.norm, best.norm) >= ALIKE:
            reworded[part.i] = best.i
            free.remove(best)
