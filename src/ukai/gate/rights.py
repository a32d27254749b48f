"""What the gate asks about rights; `access.Rights` is what answers in the product."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from ukai.access import decision, record
from ukai.access.write import Reach, Transition


class Rights(Protocol):
    """Rights of whoever stands behind a proposal, or behind a reader of history."""

    def may_write(
        self,
        type: str,
        fields: record.Fields,
        transition: Transition | None = None,
        record: record.Record | None = None,
    ) -> decision.Decision:
        """Whether these fields of the record may be written. Without a record: of whatever record of the type."""
        ...

    def read(self, record: record.Record, field: str | None = None) -> decision.Decision:
        """Whether the record may be read: what may not is answered as if it were not there."""
        ...

    def sql(self, alias: str = "n", owning: Sequence[record.OwningEdge] = ()) -> tuple[str, list[Any]]:
        """The same as a condition over the rows of `node alias`."""
        ...

    def sql_among(
        self, ids: tuple[str, Sequence[Any]], owning: Sequence[record.OwningEdge] = (), *, dead: bool = False
    ) -> tuple[str, list[Any]] | None:
        """The array of those of `ids` for which `sql` holds, each owner asked once; None where `sql` asks none."""
        ...

    def readable(self, type: str, fields: frozenset[str]) -> frozenset[str]:
        """Of `fields`, those that may be read of some record of the type."""
        ...

    def writable(self, type: str, fields: frozenset[str]) -> Reach:
        """Of `fields`, those that may be written of some record, and the transitions."""
        ...


@dataclass(frozen=True)
class _All:
    def may_write(
        self,
        type: str,
        fields: record.Fields,
        transition: Transition | None = None,
        record: record.Record | None = None,
    ) -> decision.Decision:
        return _YES

    def read(self, record: record.Record, field: str | None = None) -> decision.Decision:
        return _YES

    def sql(self, alias: str = "n", owning: Sequence[record.OwningEdge] = ()) -> tuple[str, list[Any]]:
        return "true", []

    def sql_among(
        self, ids: tuple[str, Sequence[Any]], owning: Sequence[record.OwningEdge] = (), *, dead: bool = False
    ) -> tuple[str, list[Any]] | None:
        return None

    def readable(self, type: str, fields: frozenset[str]) -> frozenset[str]:
        return fields

    def writable(self, type: str, fields: frozenset[str]) -> Reach:
        return Reach(fields=fields, moves=((frozenset({("*", "*")}), frozenset()),))


_YES = decision.Decision(allowed=True, reason="all rights were handed in")
ALL: Rights = _All()
"""Everything is allowed: for the system's own deltas and for tests. Absence of rights denies."""
