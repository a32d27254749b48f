"""Pieces of SQL that are true or false, and how they are put together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Clause:
    """A piece of SQL that is true or false, never null, with its parameters in the order of their places."""

    text: str
    params: tuple[Any, ...] = ()


TRUE, FALSE = Clause(text="true"), Clause(text="false")


def every(clauses: Iterable[Clause]) -> Clause:
    """All of them hold."""
    found = [c for c in clauses if c != TRUE]
    if FALSE in found:
        return FALSE
    return _joined(" and ", found) if found else TRUE


def some(clauses: Iterable[Clause]) -> Clause:
    """At least one of them holds."""
    found = [c for c in clauses if c != FALSE]
    if TRUE in found:
        return TRUE
    return _joined(" or ", found) if found else FALSE


def no(clause: Clause) -> Clause:
    """It does not hold."""
    if clause in (TRUE, FALSE):
        return FALSE if clause == TRUE else TRUE
    return Clause(text=f"not {clause.text}", params=clause.params)


def _joined(word: str, clauses: Sequence[Clause]) -> Clause:
    text = word.join(c.text for c in clauses)
    return Clause(text=f"({text})", params=tuple(p for c in clauses for p in c.params))


def one_of(column: str, names: Iterable[str]) -> Clause:
    """The column holds one of these."""
    return Clause(text=f"{column} = any(%s::text[])", params=(sorted(names),))


def put(text: str, *parts: Clause) -> Clause:
    """`text`, in which the texts of `parts` stand in this order."""
    return Clause(text=text, params=tuple(value for part in parts for value in part.params))
