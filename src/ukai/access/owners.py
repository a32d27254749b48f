"""Two ways in SQL to ask whether something holds of an owner of a row: each row for itself, or all of them together.

For single rows the first is quicker. For many it reads an owner as often as there are rows below it: one field of many
megabytes and a hundred thousand rows took longer than a statement may. The second asks each owner once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from ukai.access.clause import Clause, every, one_of, put, some
from ukai.access.record import OWNERS_DEPTH, OwningEdge

Way = Callable[[str, int, Sequence[OwningEdge], Clause], Clause]
"""`(alias, away, owning, inside)`: whether `inside` holds of some `node {alias}_o` that owns `node alias`.

An owner is so many edges `away` from the row that is asked for.
"""


def joined(alias: str, away: int, owning: Sequence[OwningEdge], inside: Clause) -> Clause:
    """Looked up when it comes to the row."""
    edge, owner = f"{alias}_e", f"{alias}_o"
    ties = some(
        every([Clause(text=f"{edge}.{here} = {alias}.id and {owner}.id = {edge}.{there}"), one_of(f"{edge}.type", of)])
        for here, there, of in _ends(owning)
    )
    source = f"from edge {edge} join node {owner} on {ties.text}"
    return put(f"exists (select 1 {source} where {edge}.alive and {owner}.alive and {inside.text})", ties, inside)


def known(alias: str, away: int, owning: Sequence[OwningEdge], inside: Clause) -> Clause:
    """Looked up among the owners of which it holds. Stands behind `steps`."""
    owner, ids = f"{alias}_o", _of(owning, f"{alias}.id")
    # `is true` keeps PostgreSQL from making a join of it, which would ask the owner again for each row.
    such = f"select {owner}.id from node {owner} where {is_at(owner, away)} and {owner}.alive and {inside.text}"  # noqa: S608
    return put(f"exists (select 1 from ({ids.text}) e where (e.owner in ({such})) is true)", ids, inside)  # noqa: S608


def steps(owning: Sequence[OwningEdge], ids: Clause) -> Clause:
    """What stands in the `with` of a statement: the rows that are asked for, and the owners at each distance.

    Arrays, since joins would be planned for numbers of rows that nobody knows.
    """
    found = [put(f"above0 as materialized (select {ids.text} as ids)", ids)]
    for away in range(1, OWNERS_DEPTH + 1):
        of = _of(owning, f"any((select ids from above{away - 1})::uuid[])")  # noqa: S608
        text = f"above{away} as materialized (select array(select distinct e.owner from ({of.text}) e) as ids)"  # noqa: S608
        found.append(put(text, of))
    return put(", ".join(s.text for s in found), *found)


def is_at(alias: str, away: int) -> str:
    """Whether `node alias` is so many edges away from a row that is asked for."""
    return f"{alias}.id = any((select ids from above{away})::uuid[])"  # noqa: S608


def _of(owning: Sequence[OwningEdge], owned: str) -> Clause:
    """Selects the `owner` of each row whose id equals `owned`, living or not."""
    sides = [
        put(f"select e.{there} as owner from edge e where e.{here} = {owned} and e.alive and {types.text}", types)  # noqa: S608
        for here, there, of in _ends(owning)
        for types in [one_of("e.type", of)]
    ]
    return put(" union all ".join(s.text for s in sides), *sides)


def _ends(owning: Sequence[OwningEdge]) -> Iterator[tuple[str, str, list[str]]]:
    """`(owned end, owner's end, types)` of the edges along which rights pass, as columns of `edge`."""
    for owned_side, here, there in (("from", "src", "dst"), ("to", "dst", "src")):
        types = [e.edge for e in owning if e.owned_side == owned_side]
        if types:
            yield here, there, types
