"""Which field opens a record: policies may cover one of which they leave no field, and that one is not read.

Worked out type by type, once, so that a row is asked about single fields only where its type does not settle it.
"""

from __future__ import annotations

from ukai.access.reading import Reading
from ukai.access.record import ALL, Fields, includes
from ukai.access.rule import types_of

Opening = tuple[frozenset[str] | None, str | None]
"""Of these types (None: of any) a record is read where this field of it is; None: wherever policies cover it."""

COVERED: Opening = (None, None)
"""Any record that policies cover."""

OTHER = ""
"""Stands for the fields that nobody names."""

_Concern = tuple[frozenset[int], frozenset[int]]
"""The rules that grant a field, and those that withhold it."""


def of(reading: Reading) -> tuple[Opening, ...]:
    """What `reading` asks of a record: one of these is enough. None at all: nothing is read."""
    if reading.bound is None:
        return tuple((None, field) for field in _opening(reading, None))
    found: dict[str | None, set[str]] = {}
    alike: dict[_Concern, str] = {}
    rules = (r for m in reading.members for r in (*m.allows, *m.partial))
    unsure = types_of(r for r in rules if r.policy.fields is not ALL)
    for type in sorted(reading.bound):
        is_sure = unsure is not None and type not in unsure and bool(_fields(reading, type))
        for field in [None] if is_sure else _opening(reading, type):
            same = None if field is None else alike.setdefault(_concern(reading, None, field), field)
            found.setdefault(same, set()).add(type)
    return tuple((frozenset(types), field) for field, types in found.items())


def _opening(reading: Reading, type: str | None) -> list[str | None]:
    """Of all fields those that are read whenever another one is; None alone where they always are."""
    fields = _fields(reading, type)
    if type is not None and any(reading.always(type, f) for f in fields):
        return [None]
    found: dict[_Concern, str | None] = {}
    for field in sorted(fields):
        found.setdefault(_concern(reading, type, field), field)
    everything = frozenset(id(r) for m in reading.members for r in m.reaching(type)[0])
    if (everything, frozenset[int]()) in found:
        return [None]
    return [f for c, f in found.items() if not any(o[0] >= c[0] and o[1] <= c[1] for o in found if o != c)]


def _fields(reading: Reading, type: str | None) -> frozenset[str]:
    """Those that a record of the type may have and the field policies list."""
    listed: Fields = ALL if type is None else reading.listed(type)
    names = None if type is None else reading.names(type)
    if names is not None:
        return (names or frozenset({OTHER})) if listed is ALL else names & listed
    if listed is not ALL:
        return listed
    rules = [r for m in reading.members for side in m.reaching(type) for r in side]
    return frozenset({OTHER}).union(*(r.policy.fields for r in rules if r.policy.fields is not ALL))


def _concern(reading: Reading, type: str | None, field: str) -> _Concern:
    sides = [m.reaching(type) for m in reading.members]
    granting, withholding = (
        frozenset(id(r) for side in sides for r in side[i] if includes(r.policy.fields, field)) for i in (0, 1)
    )
    return granting, withholding
