"""Sections: what stands in one place is read together, unless it is too large for that (context req. 22, 24).

Things are grouped by their paths, `integration/selection/object/element`. A group larger than min(5,000, a third of the
budget) tokens is exploded into the groups below it, in the end into single things. Parts are always ranked one by one:
what stands around a part is in its score already. So is what the question names. What belongs to that and what belongs
to others are never one section: the one would bring the other along.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace

from ukai.context import levels, subject
from ukai.context.item import Item
from ukai.context.subject import Subject
from ukai.kit import light

EXPLODED_ABOVE = 5_000
"""Tokens. Source: the composer's article."""
TOGETHER = 150
"""Tokens. A longer text is read by itself: its neighbours are other texts. What has elements is read with its siblings,
for a question about one table is often one about the table beside it. Source of both: docs/design/composing.md."""
SHARE = 3
"""And no section takes more than this part of a document. Source: docs/design/composing.md."""
_NUMBER = re.compile(r"\d")


@light.value
class Unit:
    """What is shown or left out as one: a thing, or a family of things with one body."""

    subjects: tuple[Subject, ...]
    """Equal but for their names where there are several, by path."""
    item: Item = field(init=False, compare=False)
    """Its first member."""
    id: str = field(init=False, compare=False)
    """The first member's."""
    place: str = field(init=False, compare=False)
    """Where it stands."""
    size: int = field(default=0, compare=False)
    """Tokens in full, as characters over four: good enough to decide what is read together. 0 where nobody asks."""

    def __post_init__(self) -> None:
        first = self.subjects[0]
        # Asked for thousands of times a composition: plain attributes cost a tenth of cached properties.
        self.__dict__.update(item=first.item, id=first.item.id, place=first.place)

    @property
    def items(self) -> tuple[str, ...]:
        """All that stand and fall with it: its members, and their elements."""
        return tuple([i.id for s in self.subjects for i in (s.item, *s.elements)])


@light.value
class Section:
    """What is ranked."""

    place: str
    """The path that all of it stands under."""
    units: tuple[Unit, ...]
    """Best first."""
    scores: tuple[float, ...]
    """Of the units: that of the best member of each."""
    score: float

    @property
    def id(self) -> str:
        """Its place where it holds several things, else the thing's id."""
        return self.units[0].id if len(self.units) == 1 else self.place

    @property
    def tokens(self) -> int:
        """In full, by characters over four."""
        return sum(u.size for u in self.units)


def units(items: Iterable[Item]) -> list[Unit]:
    """What is shown or left out as one, by place. Families: siblings with one schema and the same elements, or the same
    text, that say the same have one body."""
    found = (alike for members in _by(_family, subject.of(items)) for alike in _saying_the_same(members))
    return [Unit(subjects=tuple(members), size=_size(members)) for members in found]


def _by(key: Callable[[Subject], Hashable], subjects: Iterable[Subject]) -> Iterable[list[Subject]]:
    found: dict[Hashable, list[Subject]] = {}
    for s in subjects:
        found.setdefault(key(s), []).append(s)
    return found.values()


def _saying_the_same(members: list[Subject]) -> Iterable[list[Subject]]:
    return [members] if len(members) == 1 else _by(_said, members)


def _said(s: Subject) -> Hashable:
    """What its body says; where its text lists what it consists of, in whatever order, as exports do. A table is none
    of those that are numbered after it, as its days or versions are.
    """
    if not s.elements:
        return levels.body(s, levels.FULL)
    said, _, listed = s.item.text.partition(": ")
    told = levels.body(replace(s, item=replace(s.item, text="")), levels.FULL)
    return bool(_NUMBER.search(s.name)), said, tuple(sorted(listed.split("; "))), told


def _size(members: Sequence[Subject]) -> int:
    names = sum([len(s.item.path) - s.item.path.rfind("/") for s in members])
    return 1 + (levels.length(members[0]) + names) // 4


def build(
    units: Sequence[Unit], scores: Mapping[str, float], *, budget_tokens: int, aggregate: str = "max"
) -> list[Section]:
    """The sections of `units` in a document of this size, by place."""
    return Grouped(units, scores, aggregate=aggregate).within(budget_tokens)


@light.value
class Group:
    """What stands below one place."""

    place: str
    units: tuple[Unit, ...]
    size: int
    """Tokens of all."""
    is_deeper: bool
    """Some of it stands in places below this one."""


class Grouped:
    """The sections of some units, for documents of any size: what these have in common is made once."""

    def __init__(self, units: Sequence[Unit], scores: Mapping[str, float], *, aggregate: str = "max") -> None:
        """`scores` are those of items by id; `aggregate` makes a section's score of its units': `max`, `top2` or
        `mean`."""
        self._aggregate = aggregate
        self._best = {u.id: max([scores.get(s.item.id, 0.0) for s in u.subjects]) for u in units}
        self._single = {u.id: _single(u, self._best[u.id]) for u in units}
        self._alone = [self._single[u.id] for u in units if _is_read_alone(u)]
        things = [u for u in units if not _is_read_alone(u)]
        self._things = [t for owned in (True, False) if (t := [u for u in things if u.item.owned is owned])]
        self._below: dict[tuple[bool, str], list[Group]] = {}
        """Place, of what belongs to what is named or of the rest -> what stands one level below it."""
        self._made: dict[tuple[int, bool, str], Section] = {}

    def within(self, budget_tokens: int) -> list[Section]:
        """Those of a document of this size, by place."""
        limit = max(1, min(EXPLODED_ABOVE, budget_tokens // SHARE))
        return [*self._alone, *(s for things in self._things for s in self._exploded("", things, 1, limit))]

    def _exploded(self, above: str, units: Sequence[Unit], depth: int, limit: int) -> Iterator[Section]:
        owned = units[0].item.owned
        groups = self._below.get((owned, above))
        if groups is None:
            groups = self._below[owned, above] = _groups(units, depth)
        for group in groups:
            if len(group.units) == 1:
                yield self._single[group.units[0].id]
            elif group.size <= limit:
                yield self._section((depth, owned, group.place), group.units)
            elif group.is_deeper:
                yield from self._exploded(group.place, group.units, depth + 1, limit)
            else:
                yield from (self._single[u.id] for u in group.units)

    def _section(self, name: tuple[int, bool, str], units: Sequence[Unit]) -> Section:
        if name not in self._made:
            self._made[name] = _section(units, self._best, self._aggregate)
        return self._made[name]


def _groups(units: Sequence[Unit], depth: int) -> list[Group]:
    """By the first `depth` segments of their places."""
    found: dict[str, list[Unit]] = {}
    for u in units:
        found.setdefault("/".join(u.place.split("/")[:depth]), []).append(u)
    return [
        Group(
            place=place,
            units=tuple(group),
            size=sum([u.size for u in group]),
            is_deeper=any(u.place != place for u in group),
        )
        for place, group in found.items()
    ]


def _is_read_alone(unit: Unit) -> bool:
    return unit.item.is_part or unit.item.is_named or (unit.size > TOGETHER and not unit.subjects[0].elements)


def _single(unit: Unit, score: float) -> Section:
    return Section(place=unit.place, units=(unit,), scores=(score,), score=score)


def _family(s: Subject) -> Hashable:
    item = s.item
    if item.is_part or not (s.elements or item.text):
        return item.id
    body = (True, s.names, levels.types(s)) if s.elements else (False, item.text, item.title)
    return (s.place, item.kind, item.schema_hash, body, item.pinned, item.is_named, item.owned)


def _section(units: Sequence[Unit], best: Mapping[str, float], aggregate: str) -> Section:
    ordered = sorted(units, key=lambda u: (-best[u.id], u.place, u.item.order, u.item.path, u.id))
    scores = tuple(best[u.id] for u in ordered)
    score = {"max": scores[0], "top2": sum(scores[:2]) / min(2, len(scores)), "mean": sum(scores) / len(scores)}
    place = "/".join(_common([u.place.split("/") for u in ordered]))
    return Section(place=place, units=tuple(ordered), scores=scores, score=score[aggregate])


def _common(places: Sequence[Sequence[str]]) -> Iterator[str]:
    for segments in zip(*places, strict=False):
        if len(set(segments)) > 1:
            return
        yield segments[0]
