"""What is readable, as SQL: true or false for a row of `node n`, in the form that suits a statement."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any
from uuid import UUID

Clause = tuple[str, Sequence[Any]]
"""What `Rights.sql("n", owning)` gives: text that is true for readable rows of `node n`, and its parameters."""


class Together(Clause):
    """A clause along owners, with a second form for many rows, which asks each owner once and not for each row."""

    among: Callable[[Clause], Clause]
    """Of an array of ids the array of those that may be read."""
    covered: Clause
    """What else the clause asks of `node n`."""
    candidates: Clause
    """Selects the ids of all rows for which the clause can hold, cheaply found."""
    fields: Clause
    """What `also` added, which the short ways to rows of `node n` do not tell."""

    def __new__(
        cls,
        clause: Clause,
        *,
        among: Callable[[Clause], Clause],
        covered: Clause,
        candidates: Clause,
        fields: Clause = ("true", ()),
    ) -> Together:
        made = super().__new__(cls, clause)
        made.among, made.covered, made.candidates, made.fields = among, covered, candidates, fields
        return made


def also(readable: Clause, fields: Clause) -> Clause:
    """`readable`, and of what is read beside the row of `node n` that its field may be read: `fields` says so."""
    both = _both(readable, fields)
    if not isinstance(readable, Together):
        return both
    covered = _both(readable.covered, fields)
    return Together(both, among=readable.among, covered=covered, candidates=readable.candidates, fields=fields)


def _both(one: Clause, other: Clause) -> Clause:
    return f"({one[0]} and {other[0]})", [*one[1], *other[1]]


def scanned(readable: Clause) -> Clause:
    """`readable` for a statement that would look at every row of `node`."""
    return among(readable, readable.candidates) if isinstance(readable, Together) else readable


def filtering(readable: Clause) -> tuple[Clause, Clause]:
    """What a statement begins with, and then `readable`, where something else leads to the rows of `node`.

    Looked up in a table of hashes: of an array PostgreSQL expects ten ids, and goes through it for each row.
    """
    if not isinstance(readable, Together):
        return ("", ()), readable
    text, params = readable.among(_array_of(readable.candidates))
    begin = f"with readable as materialized (select {text} as ids) ", params
    shown, values = readable.fields
    return begin, (f"((n.id in (select unnest((select ids from readable)::uuid[]))) is true and {shown})", values)  # noqa: S608


def among(readable: Clause, selected: Clause) -> Clause:
    """`readable` for a statement about rows whose ids are all `selected`."""
    return _among(readable, _array_of(selected))


def those(readable: Clause, ids: Sequence[UUID]) -> Clause:
    """`readable` for a statement about these rows."""
    return _among(readable, ("%s::uuid[]", [array(ids)]))


def _among(readable: Clause, ids: Clause) -> Clause:
    if not isinstance(readable, Together):
        return readable
    (covered, values), (text, params) = readable.covered, readable.among(ids)
    return f"({covered} and n.id = any({text}))", [*values, *params]


def _array_of(selected: Clause) -> Clause:
    return f"array({selected[0]})", selected[1]


def array(ids: Iterable[UUID]) -> str:
    """As PostgreSQL writes arrays: many ids cost less as one text than one by one."""
    return f"{{{','.join([i.hex for i in ids])}}}"
