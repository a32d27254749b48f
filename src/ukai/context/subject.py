"""The things that are ranked: an item with its elements (a table with its columns), in one fixed order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property

from ukai.context import structure
from ukai.context.item import Item
from ukai.kit import light


@light.value
class Subject:
    """One thing, and what it consists of."""

    item: Item
    place: str
    """Where it stands: the path above it; what has parts stands with them, at its own path."""
    elements: tuple[Item, ...] = ()
    """Items that name it as their parent and are no parts."""

    @property
    def name(self) -> str:
        """The last segment of its path."""
        return self.item.path.rpartition("/")[2]

    @cached_property
    def names(self) -> tuple[str, ...]:
        """What its elements are called inside it: `customers.email` is `email`."""
        own = f"{self.name}."
        called = [structure.line(e.title or e.path.rpartition("/")[2]) for e in self.elements]
        return tuple([name.removeprefix(own) for name in called])


def of(items: Iterable[Item]) -> list[Subject]:
    """Every item once, alone or among the elements of its parent, by place, order and path.

    An element whose parent is not among `items` stands by itself.
    """
    by_id = {item.id: item for item in items}
    elements: dict[str, list[Item]] = {}
    wholes: set[str] = set()
    for item in by_id.values():
        if item.is_part and item.parent is not None:
            wholes.add(item.parent)
        elif item.parent is not None and _is_element(item, by_id):
            elements.setdefault(item.parent, []).append(item)
    subjects = (
        Subject(
            item=item,
            place=_place(item, is_whole=item.id in wholes),
            elements=tuple(sorted(elements.get(item.id, ()), key=lambda e: (e.order, e.path, e.id))),
        )
        for item in by_id.values()
        if item.is_part or not _is_element(item, by_id)
    )
    return sorted(subjects, key=lambda s: (s.place, s.item.order, s.item.path, s.item.id))


def _place(item: Item, *, is_whole: bool) -> str:
    return item.path if is_whole or (item.is_part and item.parent is not None) else item.path.rpartition("/")[0]


def _is_element(item: Item, by_id: Mapping[str, Item]) -> bool:
    """One level only: an element of an element stands by itself, and so does whoever is in a cycle."""
    above = by_id.get(item.parent) if item.parent is not None else None
    return above is not None and above is not item and (above.parent is None or above.parent not in by_id)
