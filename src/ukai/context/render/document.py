"""Units at their levels as one markdown document: numbered sections by place, in them the natural order.

    ## 2. warehouse/sales · table
    - orders: id, customer, total
    ### customers
    One row for each customer.
    also here: audit_log, orders_{2024,2025}

Parts stand one a line. The number of a part stands before the first of a run; the lines below it count on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ukai.context import levels
from ukai.context.render import alike, naming
from ukai.context.sections import Unit

Body = Callable[[Unit, str], str]
"""A unit's body at a level: `levels.body` of its first member, or what a template makes of it."""
ALSO = "also here: "
GIVEN = "already given above"
SHORT_LEAD = 6
"""Speakers with longer names stand by their initials where that saves much."""
SAVES = 8
"""As often as it must save what its legend costs: only some of the parts will be shown."""
ALIKE = 40
"""So many things of the same place that came in last are looked at for one with almost the same elements."""


@dataclass(frozen=True, kw_only=True)
class Group:
    """What is told once for all that stands in one place."""

    place: str
    title: str
    """Of the thing whose parts stand here, else empty."""
    kind: str
    """The content type, where all have the same."""
    shared: str
    """Fields that all parts have alike, ` · at: 8 May 2023`."""
    initials: Mapping[str, str] = field(default_factory=dict[str, str])
    """Speaker -> what stands for them."""

    def heading(self, number: int) -> str:
        """With the number under which it opened."""
        named = f" {self.title}" if self.title else ""
        kind = f" · {self.kind}" if self.kind else ""
        legend = "".join(f" · {short} = {lead}" for lead, short in self.initials.items())
        return f"\n## {number}. {self.place}{named}{kind}{self.shared}{legend}\n"


def groups(units: Sequence[Unit]) -> dict[str, Group]:
    """The groups of all units that may come to stand in the document, by place."""
    by_place: dict[str, list[Unit]] = {}
    for unit in units:
        by_place.setdefault(unit.place, []).append(unit)
    return {place: _group(place, found) for place, found in by_place.items()}


def _group(place: str, units: Sequence[Unit]) -> Group:
    parts = [u for u in units if u.item.is_part]
    owners = {u.item.id: u.item for u in units if not u.item.is_part}
    whole = next((owners[p.item.parent] for p in parts if p.item.parent in owners), None)
    kinds = {u.item.kind for u in units if u.item is not whole}
    return Group(
        place=place,
        title=f"{whole.title} [{whole.id}]" if whole else "",
        kind=next(iter(kinds)) if len(kinds) == 1 and not parts else "",
        shared=_shared(place, parts),
        initials=_initials([p.item.lead for p in parts]),
    )


def _shared(place: str, parts: Sequence[Unit]) -> str:
    if not parts:
        return ""
    common = dict(parts[0].item.fields)
    for part in parts[1:]:
        common = {k: v for k, v in common.items() if k in part.item.fields and part.item.fields[k] == v}
    at = {p.item.at for p in parts}
    said = {k: levels.plain(v) for k, v in sorted(common.items())}
    dated = next(iter(at)) if len(at) == 1 else None
    told = [f" · {k}: {v}" for k, v in said.items() if v not in place]
    return "".join(told) + (f" · {dated.date().isoformat()}" if dated else "")


def _initials(leads: Sequence[str]) -> dict[str, str]:
    often = Counter(lead for lead in leads if len(lead) > SHORT_LEAD)
    short: dict[str, str] = {}
    taken = set(leads)
    for lead in sorted(often):
        words = lead.split()
        candidates = ["".join(w[0] for w in words), *(lead[:n] for n in range(2, SHORT_LEAD))]
        initial = next((c for c in candidates if c and c not in taken), None)
        if initial and often[lead] * (len(lead) - len(initial)) > SAVES * (len(lead) + len(initial) + 6):
            short[lead] = initial
            taken.add(initial)
    return short


class Layout:
    """What can be said of units before it is known which of them stand in a document; shared by pages of one input."""

    def __init__(self, units: Sequence[Unit], *, body: Body, given: Mapping[str, str] | None = None) -> None:
        """`given` holds ids and the levels at which a conversation has seen them, with the body they still have."""
        self.units = {u.id: u for u in units}
        self.groups = groups(units)
        self.around = _neighbours(units)
        self._body, self._given = body, given or {}
        self._blocks: dict[tuple[str, str], str] = {}

    def block(self, unit: Unit, level: str) -> str:
        """The text of one unit at a level, without what depends on its neighbours."""
        key = (unit.id, level)
        if key not in self._blocks:
            self._blocks[key] = self._written(unit, level)
        return self._blocks[key]

    def name(self, unit: Unit) -> str:
        """What it is called, all members of a family at once."""
        first, *more = unit.subjects
        return naming.family([s.name for s in unit.subjects]) if more else naming.name(first)

    def _written(self, unit: Unit, level: str) -> str:
        item = unit.item
        if self._is_given(unit, level):
            return f"- {item.id if item.is_part else self.name(unit)}: {GIVEN}\n"
        if item.is_part:
            lead = self.groups[unit.place].initials.get(item.lead, item.lead)
            own = self._body(unit, level) if level == levels.FULL else ""
            return f"{lead}: {own}\n" if lead else f"{own}\n"
        name = self.name(unit)
        if level == levels.IDENTITY:
            return f"{name}, "
        body = self._body(unit, level)
        if not body:
            return f"- {name}\n"
        return f"- {name}: {body}\n" if "\n" not in body and level == levels.NAMES else f"### {name}\n{body}\n"

    def _is_given(self, unit: Unit, level: str) -> bool:
        """The conversation has all of it at this level or above: a pointer is enough."""
        known = [self._given.get(s.item.id) for s in unit.subjects]
        return level != levels.IDENTITY and all(k is not None and levels.at_least(k, level) for k in known)


class Page:
    """A document that grows unit by unit, says beforehand what the next one costs, and is written out at the end."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self.levels: dict[str, str] = {}
        """Unit id -> its level, in the order in which units came in."""
        self._opened: dict[str, int] = {}
        self._listed: Counter[str] = Counter()
        """Place -> how many stand in its `also here`."""
        self._lists: dict[str, list[tuple[str, frozenset[str]]]] = {}
        """Place -> the things there whose elements are all written out."""
        self._texts = alike.Texts()
        self._alike: dict[tuple[str, str], tuple[str, str]] = {}
        """(Unit id, level) -> its block where it tells another thing's elements or text as its own, and that thing's
        id."""

    def cost(self, unit: Unit, level: str) -> tuple[str, str]:
        """What raising `unit` to `level` adds to the text, and what it takes away."""
        added, taken = "", ""
        if unit.place not in self._opened:
            added += self._layout.groups[unit.place].heading(len(self._opened) + 1)
        before = self.levels.get(unit.id)
        if before is not None:
            taken += self._standing(unit, before)
        elif level == levels.IDENTITY and not self._listed[unit.place]:
            added += f"{ALSO}\n"
        added += self._next(unit, level)[0]
        if unit.item.is_part:
            more, less = self._numbers(unit)
            added, taken = added + more, taken + less
        return added, taken

    def raise_to(self, unit: Unit, level: str) -> None:
        """`unit` stands at `level` from now on."""
        self._opened.setdefault(unit.place, len(self._opened) + 1)
        self._listed[unit.place] += level == levels.IDENTITY
        block, other = self._next(unit, level)
        names = unit.subjects[0].names
        lists = self._lists.setdefault(unit.place, [])
        if not other and level == levels.FULL and unit.item.text in block:
            self._texts.add(unit)
        if other:
            self._alike[unit.id, level] = (block, other)
        elif level != levels.IDENTITY and names and all(id != unit.id for id, _ in lists):
            lists.append((unit.id, frozenset(names)))
        self.levels[unit.id] = level

    def _standing(self, unit: Unit, level: str) -> str:
        """Its block as it stands in the document."""
        told_as = self._alike.get((unit.id, level))
        return told_as[0] if told_as else self._layout.block(unit, level)

    def told(self, unit: Unit) -> str:
        """All that the document says of a unit that stands in it: its block, and the one that it refers to."""
        level = self.levels[unit.id]
        told_as = self._alike.get((unit.id, level))
        other = self._layout.units[told_as[1]] if told_as else None
        return self._standing(unit, level) + (self._standing(other, self.levels[other.id]) if other else "")

    def _next(self, unit: Unit, level: str) -> tuple[str, str]:
        """Its block if it came in now: almost the elements of another thing are not told again."""
        block = self._layout.block(unit, level)
        names = unit.subjects[0].names
        if level == levels.FULL and (same := self._texts.near(unit)) is not None:
            told = same.told(self._layout.name(same.unit))
            short = block.replace(unit.item.text, told, 1)
            return (short, same.unit.id) if len(short) < len(block) else (block, "")
        if level != levels.NAMES or not names:
            return block, ""
        own = frozenset(names)
        near = max(self._lists.get(unit.place, [])[-ALIKE:], key=lambda o: len(own & o[1]), default=None)
        if near is None:
            return block, ""
        shared = own & near[1]
        if len(shared) * 2 < len(own):
            return block, ""
        more = [n for n in names if n not in shared]
        less = sorted(near[1] - shared)
        told = [f"as {self._layout.name(self._layout.units[near[0]])}"]
        told += [f"also {', '.join(more)}"] if more else []
        told += [f"without {', '.join(less)}"] if less else []
        short = f"- {self._layout.name(unit)}: {'; '.join(told)}\n"
        return (short, near[0]) if len(short) < len(block) else (block, "")

    def text(self) -> str:
        """The whole document."""
        return "".join(text for _, text in self.pieces())

    def pieces(self) -> list[tuple[str, str]]:
        """Place and text of each section, in the order of their numbers."""
        inside: dict[str, list[Unit]] = {place: [] for place in self._opened}
        for id in self.levels:
            inside[self._layout.units[id].place].append(self._layout.units[id])
        return [
            (place, self._layout.groups[place].heading(number) + self._section(inside[place]))
            for place, number in self._opened.items()
        ]

    def _section(self, units: Sequence[Unit]) -> str:
        listed = [u for u in units if self.levels[u.id] == levels.IDENTITY]
        lines: list[str] = []
        for u in sorted((u for u in units if self.levels[u.id] != levels.IDENTITY), key=_natural):
            lines.append(self._number(u) + self._standing(u, self.levels[u.id]))
        if listed:
            names = "".join(self._layout.block(u, levels.IDENTITY) for u in sorted(listed, key=_natural))
            lines.append(f"{ALSO}{names.removesuffix(', ')}\n")
        return "".join(lines)

    def _number(self, unit: Unit) -> str:
        if not unit.item.is_part:
            return ""
        before, _ = self._layout.around.get(unit.id, (None, None))
        return "" if before in self.levels else f"{unit.item.order} "

    def _numbers(self, unit: Unit) -> tuple[str, str]:
        """The number that the part needs, and that of the part behind it, which it makes needless."""
        _, after = self._layout.around.get(unit.id, (None, None))
        needless = f"{self._layout.units[after].item.order} " if after in self.levels and after else ""
        return self._number(unit), needless


def _neighbours(units: Sequence[Unit]) -> dict[str, tuple[str | None, str | None]]:
    """The parts directly before and behind each part."""
    parts = {(u.place, u.item.order): u.id for u in units if u.item.is_part}
    return {id: (parts.get((place, order - 1)), parts.get((place, order + 1))) for (place, order), id in parts.items()}


def _natural(unit: Unit) -> tuple[Any, ...]:
    return (unit.item.order, unit.item.path, unit.id)
