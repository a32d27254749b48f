"""Units at their levels as one markdown document: numbered sections by place, in them the natural order.

    ## 2. warehouse/sales · table
    - orders: id, customer, total
    ### customers
    One row for each customer.
    also here: audit_log, orders_{2024,2025}

Parts stand one a line. The number of a part stands before the first of a run; the lines below it count on. What the
conversation was given stands in one line a section, by its handles: the room is for what is new.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ukai.context import levels, structure
from ukai.context.item import Item
from ukai.context.render import alike, naming
from ukai.context.sections import Unit

Body = Callable[[Unit, str, Collection[str]], str]
"""A unit's body at a level, without the fields that its heading tells: `levels.body` of its first member, or what a
template makes of it."""
SHORT_LEAD = 6
"""Speakers with longer names stand by their initials where that saves much."""
SAVES = 8
"""As often as it must save what its legend costs: only some of the parts will be shown."""
ALIKE = 40
"""So many things of the same place that came in last are looked at for one with almost the same elements."""


@dataclass(frozen=True, kw_only=True)
class Shape:
    """What is told once for all that stands in one place, as ids and numbers: its words are those of the items."""

    place: str
    kind: str = ""
    """The content type, where all have the same."""
    whole: str = ""
    """The thing whose parts stand here."""
    part: str = ""
    """The first of the parts; the others have the fields `shared`, and its day where `is_dated`, like it."""
    shared: tuple[str, ...] = ()
    is_dated: bool = False
    speakers: tuple[tuple[str, int], ...] = ()
    """A part whose speaker stands by their initials, and which of these are free."""

    @property
    def items(self) -> Iterator[str]:
        """Whose words it needs."""
        yield from filter(None, (self.whole, self.part, *(id for id, _ in self.speakers)))


@dataclass(frozen=True, kw_only=True)
class Group:
    """A shape with its words."""

    place: str
    told: str
    """What its heading says behind the place."""
    initials: Mapping[str, str]
    """Speaker -> what stands for them."""

    def heading(self, number: int, *, told: str) -> str:
        """With the number under which it opened, and what is told of it where something stands there."""
        return structure.section(number, f"{structure.line(self.place)}{told}")


def _shape(place: str, units: Sequence[Unit]) -> Shape:
    parts = [u.item for u in units if u.item.is_part]
    owners = {u.item.id: u.item for u in units if not u.item.is_part}
    whole = next((owners[p.parent] for p in parts if p.parent in owners), None)
    kinds = {u.item.kind for u in units if u.item is not whole}
    if not parts:
        return Shape(place=place, kind=next(iter(kinds)) if len(kinds) == 1 else "")
    return Shape(
        place=place,
        whole=whole.id if whole else "",
        part=parts[0].id,
        shared=tuple(_shared(place, parts)),
        is_dated=parts[0].at is not None and all(p.at == parts[0].at for p in parts),
        speakers=tuple(_speakers(parts)),
    )


def _shared(place: str, parts: Sequence[Item]) -> Iterator[str]:
    common = dict(parts[0].fields)
    for part in parts[1:]:
        common = {k: v for k, v in common.items() if k in part.fields and part.fields[k] == v}
    stands = levels.standing(place)
    yield from (k for k, v in sorted(common.items()) if not levels.is_said(v, stands))


def _speakers(parts: Sequence[Item]) -> Iterator[tuple[str, int]]:
    often = Counter(p.lead for p in parts if len(p.lead) > SHORT_LEAD)
    first = {p.lead: p.id for p in reversed(parts)}
    taken = {p.lead for p in parts}
    for lead in sorted(often):
        free = next((n for n, c in enumerate(_abbreviations(lead)) if c and c not in taken), None)
        if free is None:
            continue
        short = _abbreviations(lead)[free]
        if often[lead] * (len(lead) - len(short)) > SAVES * (len(lead) + len(short) + 6):
            yield first[lead], free
            taken.add(short)


def _abbreviations(lead: str) -> list[str]:
    return ["".join(w[0] for w in lead.split()), *(lead[:n] for n in range(2, SHORT_LEAD))]


def _group(shape: Shape, items: Mapping[str, Item]) -> Group:
    whole, part = items.get(shape.whole), items.get(shape.part)
    leads = [(items[id].lead, free) for id, free in shape.speakers]
    initials = {lead: structure.speaker(_abbreviations(lead)[free]) for lead, free in leads}
    told = [f" {structure.line(whole.title)} {structure.bracketed(whole.id)}"] if whole else []
    told += [f" · {shape.kind}"] if shape.kind else []
    if part:
        told += [f" · {k}: {structure.line(levels.plain(part.fields[k]))}" for k in shape.shared]
        told += [f" · {part.at.date().isoformat()}"] if shape.is_dated and part.at else []
    told += [f" · {short} = {structure.line(lead)}" for lead, short in initials.items()]
    return Group(place=shape.place, told="".join(told), initials=initials)


class Layout:
    """What can be said of units before it is known which of them stand in a document; shared by pages of one input."""

    def __init__(
        self,
        units: Sequence[Unit],
        *,
        body: Body,
        given: Mapping[str, str] | None = None,
        after: Layout | None = None,
    ) -> None:
        """`given` holds ids and the levels at which a conversation has seen them, with the body they still have.

        `after` is the layout of the first of these units: what it tells of a place costs no more when others come to
        stand there, too.
        """
        self.units = {u.id: u for u in units}
        self.around = _neighbours(units)
        self._there: dict[str, list[Unit]] = {}
        for unit in units:
            self._there.setdefault(unit.place, []).append(unit)
        self._shapes: dict[str, Shape] = {}
        self._groups: dict[str, Group] = {}
        self._items = {u.item.id: u.item for u in units}
        self._body, self._given, self._after = body, given or {}, after
        self._blocks: dict[tuple[str, str], str] = {}

    def shape(self, place: str) -> Shape:
        """What is told once for all units that may come to stand there."""
        if place not in self._shapes:
            made = _shape(place, self._there[place])
            if self._after is not None and place in self._after._there:
                first = self._after.shape(place)
                made = replace(made, whole=first.whole, speakers=first.speakers)
            self._shapes[place] = made
        return self._shapes[place]

    def group(self, place: str) -> Group:
        """The same in words. Most places of the units never open."""
        if place not in self._groups:
            self._groups[place] = _group(self.shape(place), self._items)
        return self._groups[place]

    def block(self, unit: Unit, level: str) -> str:
        """The text of one unit at a level, without what depends on its neighbours."""
        key = (unit.id, level)
        known = self._blocks.get(key)
        if known is None:
            known = self._blocks[key] = self._written(unit, level)
        return known

    def name(self, unit: Unit) -> str:
        """What it is called, all members of a family at once, and by its handle what its heading calls by name."""
        several = len(unit.subjects) > 1
        if several:
            return naming.family([s.name for s in unit.subjects])
        is_called = "#" in unit.id and self.shape(unit.place).whole == unit.id
        return structure.bracketed(unit.id) if is_called else naming.name(unit.subjects[0])

    def _written(self, unit: Unit, level: str) -> str:
        item = unit.item
        if item.is_part:
            lead = self.group(unit.place).initials.get(item.lead) or structure.speaker(item.lead)
            own = self._body(unit, level, self.shape(unit.place).shared) if level == levels.FULL else ""
            return structure.part(lead, own)
        name = self.name(unit)
        if level == levels.IDENTITY:
            return f"{name}, "
        body = self._body(unit, level, ())
        if not body:
            return structure.entry(name)
        is_short = level == levels.NAMES and "\n" not in body
        return structure.entry(name, body) if is_short else structure.thing(name, body)

    def is_given(self, unit: Unit, level: str) -> bool:
        """The conversation has all of it at this level or above, and more than its name: a pointer is enough."""
        if not self._given:
            return False
        known = [self._given.get(s.item.id) for s in unit.subjects]
        return all(k is not None and k != levels.IDENTITY and levels.at_least(k, level) for k in known)


class Page:
    """A document that grows unit by unit, says beforehand what the next one costs, and is written out at the end."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self.levels: dict[str, str] = {}
        """Unit id -> its level."""
        self._opened: dict[str, int] = {}
        self._listed: Counter[str] = Counter()
        """Place -> how many stand in its `also here`."""
        self._lists: dict[str, list[tuple[str, frozenset[str]]]] = {}
        """Place -> the things there whose elements are all written out."""
        self._texts = alike.Texts()
        self._alike: dict[tuple[str, str], str] = {}
        """(Unit id, level) -> the id of another thing whose elements or text it tells as its own."""
        self._pointed: dict[str, dict[str, Unit]] = {}
        """Place -> what is pointed at there, since the conversation has it."""
        self._stand: Counter[str] = Counter()
        """Place -> how many stand there otherwise."""

    def cost(self, unit: Unit, level: str) -> tuple[str, str]:
        """What raising `unit` to `level` adds to the text, and what it takes away."""
        added, taken = "", ""
        if unit.place not in self._opened:
            added += self._layout.group(unit.place).heading(len(self._opened) + 1, told="")
        before = self.levels.get(unit.id)
        is_pointed = self.points_at(unit)
        if self._layout.is_given(unit, level):
            return added + ("" if is_pointed else self._pointer(unit)), taken
        if before is not None and not is_pointed:
            taken += self._standing(unit, before)
        if not self._stand[unit.place]:
            added += self._layout.group(unit.place).told
        if before is None and level == levels.IDENTITY and not self._listed[unit.place]:
            added += f"{structure.ALSO}\n"
        added += self._next(unit, level)[0]
        if unit.item.is_part:
            more, less = self._numbers(unit)
            added, taken = added + more, taken + less
        return added, taken

    def state(self, unit: Unit, level: str) -> Hashable:
        """What `cost` depends on beside the unit and the level: while it is the same, so are its tokens.

        Numbers of headings with as many digits have as many tokens (tests/llm/test_tokens.py).
        """
        place = unit.place
        digits = 0 if place in self._opened else len(str(len(self._opened) + 1))
        stands = (digits, self.levels.get(unit.id), self._listed[place] > 0, self._stand[place] > 0)
        around = self._layout.around.get(unit.id, ())
        if self._layout.is_given(unit, level):
            pointed = self._pointed.get(place, {})
            return *stands, next(iter(pointed), None), *(near in pointed for near in around)
        if unit.item.is_part:
            return *stands, *(self._is_told(near) for near in around)
        if level == levels.IDENTITY:
            return stands
        return *stands, self._texts.state(unit) if level == levels.FULL else len(self._lists.get(place, ()))

    def raise_to(self, unit: Unit, level: str) -> None:
        """`unit` stands at `level` from now on."""
        self._opened.setdefault(unit.place, len(self._opened) + 1)
        is_pointed = self._point(unit, level)
        self.levels[unit.id] = level
        if is_pointed:
            return
        self._listed[unit.place] += level == levels.IDENTITY
        block, other = self._next(unit, level)
        names = unit.subjects[0].names
        lists = self._lists.setdefault(unit.place, [])
        if not other and level == levels.FULL and unit.item.text in block:
            self._texts.add(unit)
        if other:
            self._alike[unit.id, level] = other
        elif level != levels.IDENTITY and names and all(id != unit.id for id, _ in lists):
            lists.append((unit.id, frozenset(names)))

    def _point(self, unit: Unit, level: str) -> bool:
        """Whether at this level it stands among what is pointed at, and no longer where it does not."""
        if self._layout.is_given(unit, level):
            self._pointed.setdefault(unit.place, {})[unit.id] = unit
            return True
        was_pointed = self._pointed.get(unit.place, {}).pop(unit.id, None)
        self._stand[unit.place] += was_pointed is not None or unit.id not in self.levels
        return False

    def _pointer(self, unit: Unit) -> str:
        """About what pointing at it adds to the line of its place, whatever else comes to stand there."""
        pointed = self._pointed.get(unit.place)
        said = naming.pointers(s.item.id for s in unit.subjects)
        if not pointed:
            return f"{structure.GIVEN}{said} with {{}}\n"
        if any(near in pointed for near in self._layout.around.get(unit.id, ())):
            return ""
        return f",{said[len(os.path.commonprefix([said, next(iter(pointed))])) :]}"  # noqa: RUF071

    def _is_told(self, id: str | None) -> bool:
        """Whether it stands in the document and not only as a pointer."""
        return id in self.levels and id not in self._pointed.get(self._layout.units[id].place, ())

    def _standing(self, unit: Unit, level: str) -> str:
        """Its block as it stands in the document."""
        other = self._alike.get((unit.id, level))
        return self._as(unit, self._layout.units[other], level) if other else self._layout.block(unit, level)

    def points_at(self, unit: Unit) -> bool:
        """Whether it stands there by its handle alone, since the conversation has it."""
        return unit.id in self._pointed.get(unit.place, ())

    def told(self, unit: Unit) -> str:
        """All that the document says of a unit that stands in it: its block, and the one that it refers to."""
        level = self.levels[unit.id]
        id = self._alike.get((unit.id, level))
        other = self._layout.units[id] if id else None
        return self._standing(unit, level) + (self._standing(other, self.levels[other.id]) if other else "")

    def _next(self, unit: Unit, level: str) -> tuple[str, str]:
        """Its block if it came in now: almost the elements of another thing are not told again."""
        block = self._layout.block(unit, level)
        other = None if level == levels.IDENTITY else self._near(unit, level)
        short = self._as(unit, other, level) if other else block
        return (short, other.id) if other and len(short) < len(block) else (block, "")

    def _near(self, unit: Unit, level: str) -> Unit | None:
        """A thing that stands in the document and has almost the same text, or almost the same elements."""
        if level == levels.FULL:
            return self._texts.near(unit)
        own = frozenset(unit.subjects[0].names) if level == levels.NAMES else frozenset[str]()
        lists = self._lists.get(unit.place, [])[-ALIKE:] if own else []
        id, names = max(lists, key=lambda o: len(own & o[1]), default=("", frozenset[str]()))
        return self._layout.units[id] if id and len(own & names) * 2 >= len(own) else None

    def _as(self, unit: Unit, other: Unit, level: str) -> str:
        """Its block, told by how it differs from the other one."""
        name = self._layout.name(other)
        if level == levels.FULL:
            return self._layout.block(unit, level).replace(unit.item.text, alike.told(unit, other, name), 1)
        names, others = unit.subjects[0].names, frozenset(other.subjects[0].names)
        more = [n for n in names if n not in others]
        less = sorted(others.difference(names))
        said = [f"{structure.AS}{name}"]
        said += [f"{structure.MORE}{', '.join(more)}"] if more else []
        said += [f"{structure.LESS}{', '.join(less)}"] if less else []
        return structure.entry(self._layout.name(unit), "; ".join(said))

    def text(self) -> str:
        """The whole document."""
        return "".join([text for text, _ in self.blocks()])

    def pieces(self) -> list[tuple[str, str]]:
        """Place and text of each section, in the order of their numbers."""
        return [(place, "".join([text for text, _ in self._section(place, u)])) for place, u in self._inside.items()]

    def blocks(self) -> Iterator[tuple[str, Sequence[str]]]:
        """The text in order, each part with the ids of the items whose words are in it."""
        for place, units in self._inside.items():
            yield from self._section(place, units)

    @property
    def _inside(self) -> Mapping[str, list[Unit]]:
        inside: dict[str, list[Unit]] = {place: [] for place in self._opened}
        for id in self.levels:
            unit = self._layout.units[id]
            inside[unit.place].append(unit)
        return inside

    def _section(self, place: str, units: Sequence[Unit]) -> Iterator[tuple[str, Sequence[str]]]:
        pointed = self._pointed.get(place, {})
        told = self._layout.group(place).told if self._stand[place] else ""
        heading = self._layout.group(place).heading(self._opened[place], told=told)
        yield heading, tuple(self._layout.shape(place).items) if told else ()
        if pointed:
            yield _pointing(pointed), ()
        names: list[tuple[str, Sequence[str]]] = []
        for u in sorted(units, key=_natural) if len(units) > 1 else units:
            if u.id in pointed:
                continue
            if (level := self.levels[u.id]) == levels.IDENTITY:
                names.append((self._layout.block(u, level), u.items))
                continue
            if number := self._number(u):
                yield number, ()
            other = self._alike.get((u.id, level))
            yield self._standing(u, level), (*u.items, *self._layout.units[other].items) if other else u.items
        if names:
            yield structure.ALSO, ()
            yield from names[:-1]
            last, ids = names[-1]
            yield last.removesuffix(", "), ids
            yield "\n", ()

    def _number(self, unit: Unit) -> str:
        if not unit.item.is_part:
            return ""
        before, _ = self._layout.around.get(unit.id, (None, None))
        return "" if self._is_told(before) else _called(unit)

    def _numbers(self, unit: Unit) -> tuple[str, str]:
        """The number that the part needs, and that of the part behind it, which it makes needless."""
        _, after = self._layout.around.get(unit.id, (None, None))
        needless = _called(self._layout.units[after]) if after and self._is_told(after) else ""
        return self._number(unit), needless


def _pointing(units: Mapping[str, Unit]) -> str:
    """The line of what the conversation was given."""
    return f"{structure.GIVEN}{naming.pointers(s.item.id for u in units.values() for s in u.subjects)}\n"


def _neighbours(units: Sequence[Unit]) -> dict[str, tuple[str | None, str | None]]:
    """The parts whose numbers come directly before and behind that of each part."""
    parts = {(u.place, u.item.kind, *u.item.number): u.id for u in units if u.item.is_part}
    return {
        id: (parts.get((place, kind, stem, number - 1)), parts.get((place, kind, stem, number + 1)))
        for (place, kind, stem, number), id in parts.items()
    }


def _called(unit: Unit) -> str:
    stem, number = unit.item.number
    return f"{stem}{number} "


def _natural(unit: Unit) -> tuple[Any, ...]:
    return (unit.item.order, unit.item.path, unit.id)
