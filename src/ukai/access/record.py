"""What rights are decided about: records, their fields, and the edges along which rights pass."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final, Literal

from ukai.kit import light


class _All(Enum):
    ALL = "*"


ALL: Final = _All.ALL
"""Every field, also those that nobody has named yet."""
Fields = frozenset[str] | Literal[_All.ALL]
"""Field names, or `ALL`."""

NONE: Final[frozenset[str]] = frozenset()

OWNERS_DEPTH = 4
"""How many owning edges rights travel. Whoever loads records need not look further."""


@light.value
class Record:
    """One record as it is stored, with the records that own it."""

    type: str
    key: str
    path: str | None = None
    """Its place in the hierarchy. None, like the empty text, is no place: only a pattern such as `**` covers it."""
    fields: Mapping[str, Any]
    """Everything that can be read of it, as JSON values (no dates, no decimals), its state as `state` included."""
    readers: frozenset[str] | None = None
    """Canonical principals. None: the type declares no readers. Empty: nobody."""
    owners: tuple[Record, ...] = ()
    """The records at the owning end of its owning edges, with their own owners, up to `OWNERS_DEPTH` away."""

    @property
    def handle(self) -> str:
        return f"{self.type}#{self.key}"


@dataclass(frozen=True, kw_only=True)
class OwningEdge:
    """An edge type that declares `owns`: rights on the record at one end pass to the other."""

    edge: str
    owned_side: Literal["from", "to"]
    """The end that receives the rights: `owns: to` in a domain makes the `from` end owned."""


def includes(fields: Fields, field: str) -> bool:
    """Whether it is one of them."""
    return fields is ALL or field in fields


def common(one: Fields, other: Fields) -> Fields:
    """The fields in both."""
    if one is ALL:
        return other
    return one if other is ALL else one & other


def union(one: Fields, other: Fields) -> Fields:
    """The fields in either."""
    return ALL if one is ALL or other is ALL else one | other
