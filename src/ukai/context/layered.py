"""What of a view is large, in layers, so that a view which follows another one copies little: its names and vectors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Generic, Self, TypeVar

import numpy as np

from ukai.kit import layers

if TYPE_CHECKING:
    from numpy.typing import NDArray

Name = TypeVar("Name")


class Names(Mapping[Name, int], Generic[Name]):
    """The rows of a view by name; not each row need have one."""

    def __init__(self, rows: Mapping[Name, int], size: int) -> None:
        self.layers = layers.first(rows, size)
        self._size = size

    def spliced(self, other: Self, order: NDArray[np.int64]) -> Self:
        """The names of the rows that `order` names: numbers of these, then of those of `other`."""
        made = object.__new__(type(self))
        sizes = self._size, other._size
        made.layers = layers.spliced(self.layers, other.layers, order, sizes=sizes, joined=_names)
        made._size = len(order)
        return made

    def get(self, name: Name, default: int | None = None) -> int | None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Its row."""
        for layer in self.layers:
            at = layer.of.get(name)
            if at is not None and (row := int(layer.row[at])) >= 0:
                return row
        return default

    def __getitem__(self, name: Name) -> int:
        row = self.get(name)
        if row is None:
            raise KeyError(name)
        return row

    def __contains__(self, name: object) -> bool:
        return self.get(name) is not None  # pyright: ignore[reportArgumentType]

    def __iter__(self) -> Iterator[Name]:
        return (name for layer in self.layers for name, at in layer.of.items() if layer.row[at] >= 0)

    def __len__(self) -> int:
        return sum(1 for _ in self)


def _names(of: Sequence[layers.Layer[Mapping[Name, int]]], size: int) -> Mapping[Name, int]:
    now = [(layer.of, layer.row.tolist()) for layer in of]
    return {name: row[at] for names, row in now for name, at in names.items() if row[at] >= 0}


class Vectors:
    """One vector a row of a view; zeros where none is known."""

    def __init__(self, vectors: NDArray[np.float32]) -> None:
        self.size = len(vectors)
        self.layers = layers.first(vectors, self.size)

    def spliced(self, other: Vectors, order: NDArray[np.int64]) -> Vectors:
        """Those of the rows that `order` names: numbers of these, then of those of `other`."""
        made = object.__new__(Vectors)
        sizes = self.size, other.size
        made.layers = layers.spliced(self.layers, other.layers, order, sizes=sizes, joined=_vectors)
        made.size = len(order)
        return made

    def folded(self, into: NDArray[np.int64], size: int) -> Vectors:
        """`size` vectors: each the mean of those whose number stands in `into`, in its direction; negative is none.

        What is one of these alone stays what it is, to the bit.
        """
        is_used = into >= 0
        found = np.zeros((size, self.layers[0].of.shape[1]), np.float32)
        np.add.at(found, into[is_used], _vectors(self.layers, self.size)[is_used])
        several = np.flatnonzero(np.bincount(into[is_used], minlength=size) > 1)
        lengths = np.linalg.norm(found[several], axis=1, keepdims=True)
        found[several] /= np.where(lengths == 0, 1, lengths)
        return Vectors(found)

    def times(self, question: NDArray[np.float32]) -> NDArray[np.float32]:
        """The product with each."""
        found = np.zeros(self.size, np.float32)
        for layer in self.layers:
            is_there = layer.row >= 0
            # Row by row: a product with a matrix has other last bits for the rows at its end, and takes three times as
            # long.
            found[layer.row[is_there]] = np.vecdot(layer.of, question)[is_there]
        return found


def _vectors(of: Sequence[layers.Layer[NDArray[np.float32]]], size: int) -> NDArray[np.float32]:
    made = np.empty((size, of[0].of.shape[1]), np.float32)
    for layer in of:
        is_there = layer.row >= 0
        made[layer.row[is_there]] = layer.of[is_there]
    return made
