"""Layers: few however often something comes, and not much larger than what is there."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ukai.kit import layers

Kept = Sequence[layers.Layer[tuple[int, ...]]]


def joined(of: Kept, size: int) -> tuple[int, ...]:
    made = [-1] * size
    for layer in of:
        for thing, row in zip(layer.of, layer.row.tolist(), strict=True):
            if row >= 0:
                made[row] = thing
    return tuple(made)


def test_one_thing_after_another_is_changed_and_little_is_copied():
    size, copied = 1_000, list[int]()

    def counted(of: Kept, count: int) -> tuple[int, ...]:
        copied.append(count)
        return joined(of, count)

    things, kept = list(range(size)), layers.first(tuple(range(size)), size)
    most = held = 0
    for number in range(size):
        row = number * 7 % size
        order = np.arange(size)
        order[row] = size
        things[row] = -number
        kept = layers.spliced(kept, layers.first((-number,), 1), order, sizes=(size, 1), joined=counted)
        most, held = max(most, len(kept)), max(held, sum(len(layer.of) for layer in kept))

    assert list(joined(kept, size)) == things
    assert most <= 5
    assert held < 1.5 * size
    assert sum(copied) < 30 * size


def test_where_most_of_a_layer_has_gone_the_rest_is_made_anew():
    before = layers.first(tuple(range(100)), 100)

    after = layers.spliced(before, layers.first((), 0), np.arange(40), sizes=(100, 0), joined=joined)

    assert [layer.of for layer in after] == [tuple(range(40))]
    assert [layer.of for layer in before] == [tuple(range(100))]


def test_nothing_is_left_of_layers_of_which_all_has_gone():
    none = np.zeros(0, np.int64)

    assert layers.spliced(layers.first((1, 2), 2), layers.first((), 0), none, sizes=(2, 0), joined=joined) == ()
