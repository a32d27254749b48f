"""Much of which little changes, in layers: what comes is laid on top, and what lies below stays where it is.

Nothing in a layer ever changes, so that whoever holds older layers keeps what they had. Two are joined where one is no
longer much smaller than the one below it, and one is made anew where half of it has gone: so they stay few, and each
thing is copied a few times only, however often something comes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

T = TypeVar("T")

SMALLER = 8
"""So many times what lies on a layer fits into it, at least."""
_NOWHERE = np.array([-1], np.int32)


@dataclass(frozen=True, kw_only=True)
class Layer(Generic[T]):
    """Things that have numbers from 0 on."""

    of: T
    row: NDArray[np.int32]
    """By number where each stands among all things of all layers; -1: it is none of them any more."""


Joined = Callable[[Sequence[Layer[T]], int], T]
"""Makes one of the things of several: `row` is what number each has in it, -1 for none, and then how many they are."""


def first(of: T, size: int) -> tuple[Layer[T], ...]:
    """The lowest layer, of things that stand in the order of their numbers."""
    return (Layer(of=of, row=np.arange(size, dtype=np.int32)),)


def spliced(
    below: Sequence[Layer[T]],
    above: Sequence[Layer[T]],
    order: NDArray[np.int64],
    *,
    sizes: tuple[int, int],
    joined: Joined[T],
) -> tuple[Layer[T], ...]:
    """The things that `order` names: rows of `below`, of which there are so many, then those of `above`."""
    place = np.full(sum(sizes), -1, np.int32)
    place[order] = np.arange(len(order), dtype=np.int32)
    result: list[Layer[T]] = []
    for layer in (*_moved(below, place[: sizes[0]]), *_moved(above, place[sizes[0] :])):
        is_thin = 2 * np.count_nonzero(layer.row >= 0) < len(layer.row)
        result.append(_one([layer], joined) if is_thin else layer)
        while len(result) > 1 and SMALLER * len(result[-1].row) > len(result[-2].row):
            result[-2:] = [_one(result[-2:], joined)]
        if not len(result[-1].row):
            result.pop()
    return tuple(result)


def _moved(layers: Sequence[Layer[T]], place: NDArray[np.int32]) -> list[Layer[T]]:
    known = np.concatenate([place, _NOWHERE])
    return [Layer(of=layer.of, row=known[layer.row]) for layer in layers]


def _one(layers: Sequence[Layer[T]], joined: Joined[T]) -> Layer[T]:
    row = np.sort(np.concatenate([layer.row[layer.row >= 0] for layer in layers]))
    number = np.full(int(row.max(initial=-1)) + 2, -1, np.int32)
    number[row] = np.arange(len(row), dtype=np.int32)
    return Layer(of=joined([Layer(of=layer.of, row=number[layer.row]) for layer in layers], len(row)), row=row)
