"""What every kind of source gives: rows, and what could not be read as one. None is ever held whole."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Protocol, cast, runtime_checkable

from ukai.kit.finding import Finding

MAX_CELL = 16 << 20
"""Bytes of one value. What no text may hold is for the field to say (`max_length`); a document puts long ones aside."""
KEPT = 1 << 20
"""Characters that are kept of what could not be read."""
MAX_ROW = 32 << 20
"""Bytes of one row. Beyond that the source has lost its ends of lines, and is not read on."""


@dataclass(frozen=True, slots=True)
class Row:
    """One row as it came: JSON values by column."""

    place: str
    """`crm/accounts.csv:17`"""
    values: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Unread:
    """Something that should have been a row."""

    place: str
    finding: Finding
    raw: str
    """As it stood in the source, lone bytes as half surrogates."""
    ends: bool = False
    """What follows it was not read."""


Item = Row | Unread


@dataclass(frozen=True, kw_only=True)
class Site:
    """What a source is read with."""

    root: Path
    """The workspace: paths are relative to it."""
    environ: Mapping[str, str] = field(default_factory=dict[str, str])
    cursor: Any = None
    """How far the last pull came, for sources that can be asked for what is newer."""


class Source(Protocol):
    """One kind of source with its options, as the connector's file gives them."""

    is_fixed: ClassVar[bool]
    """Whether all rows have the same columns, so that a column that is not there is a mistake."""

    def items(self, site: Site) -> Iterator[Item]:
        """Every row, in an order that stays while the source does."""
        ...

    def fingerprint(self, site: Site) -> str:
        """Equal while nothing was written to the source; empty when that cannot be known."""
        ...


@runtime_checkable
class Told(Protocol):
    """A source of a kind that says which columns all its rows have."""

    @property
    def columns(self) -> frozenset[str]:
        """Their names."""
        ...


def unread(
    code: str,
    place: str,
    message: str,
    *,
    raw: str = "",
    ends: bool = False,
    expected: str = "",
    received: str = "",
    hint: str = "",
) -> Unread:
    """A row, or a whole source (`ends`), that could not be read."""
    finding = Finding(code=code, where=place, message=message, expected=expected, received=received, hint=hint)
    return Unread(place, finding, raw[:KEPT], ends)


def of_value(at: str, value: Any, raw: str) -> Item:
    """One row of what a JSON file holds."""
    if not isinstance(value, dict):
        return unread("row_unreadable", at, "no object", raw=raw, expected="{..}", hint="give the columns names")
    return Row(at, cast("dict[str, Any]", value))
