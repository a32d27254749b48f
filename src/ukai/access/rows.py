"""Rights as one boolean SQL expression over the columns of `node`: what `Member` decides, decided by PostgreSQL.

Everything that comes from policies, callers or schemas is a parameter. The text holds column names, aliases made here,
and nothing else. A property test holds this rendering and `rule.py` to the same set of records.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ukai.access.condition import Values
from ukai.access.record import OWNERS_DEPTH, OwningEdge
from ukai.access.rule import Member, Rule

_ALIAS = re.compile(r"[a-z_][a-z0-9_]{0,30}\Z")


@dataclass(frozen=True, kw_only=True)
class Clause:
    """A piece of SQL that is true or false, never null, with its parameters in the order of their places."""

    text: str
    params: tuple[Any, ...] = ()


TRUE, FALSE = Clause(text="true"), Clause(text="false")


def readable(
    members: Sequence[Member], *, types: frozenset[str] | None, alias: str, owning: Sequence[OwningEdge]
) -> Clause:
    """True for the rows of `node alias` that every member may read. `types` bounds them; None does not.

    Raises ValueError for an alias that is not a plain lower-case name.
    """
    if not _ALIAS.match(alias):
        raise ValueError(f"not an alias: {alias!r}")
    bound = TRUE if types is None else _one_of(f"{alias}.type", types)
    return every([bound, *(_Rendering(m, owning).whole(alias) for m in members)]) if members else FALSE


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


@dataclass(frozen=True)
class _Rendering:
    """One member's rights. The methods follow those of `rule.Member` by name."""

    member: Member
    owning: Sequence[OwningEdge]

    def whole(self, alias: str) -> Clause:
        granted = some([*(_selects(alias, r) for r in self.member.allows), self.through(alias, OWNERS_DEPTH)])
        return every([self.is_reader(alias), granted, no(self.is_denied(alias, OWNERS_DEPTH))])

    def is_reader(self, alias: str) -> Clause:
        text = f"({alias}.readers is null or {alias}.readers && %s::text[])"
        return Clause(text=text, params=(sorted(self.member.caller.principals),))

    def through(self, alias: str, depth: int) -> Clause:
        passing = [r for r in self.member.allows if r.policy.and_owned]
        if not passing or depth == 0:
            return FALSE

        def is_open(owner: str) -> Clause:
            covered = some([*(_selects(owner, r) for r in passing), self.through(owner, depth - 1)])
            return every([self.is_reader(owner), covered, no(self.is_denied(owner, depth - 1))])

        return self._some_owner(alias, is_open)

    def is_denied(self, alias: str, depth: int) -> Clause:
        return some([*(_selects(alias, r) for r in self.member.denies), self.denies_above(alias, depth)])

    def denies_above(self, alias: str, depth: int) -> Clause:
        passing = [r for r in self.member.denies if r.policy.and_owned]
        if not passing or depth == 0:
            return FALSE
        return self._some_owner(
            alias, lambda owner: some([*(_selects(owner, r) for r in passing), self.denies_above(owner, depth - 1)])
        )

    def _some_owner(self, alias: str, holds: Callable[[str], Clause]) -> Clause:
        edge, owner = f"{alias}_e", f"{alias}_o"
        ends = {"from": ("src", "dst"), "to": ("dst", "src")}
        sides: list[Clause] = []
        for owned_side, (here, there) in ends.items():
            types = [e.edge for e in self.owning if e.owned_side == owned_side]
            if types:
                ids = Clause(text=f"{edge}.{here} = {alias}.id and {owner}.id = {edge}.{there}")
                sides.append(every([ids, _one_of(f"{edge}.type", types)]))
        joined, inside = some(sides), holds(owner)
        if FALSE in (joined, inside):
            return FALSE
        source = f"from edge {edge} join node {owner} on {joined.text}"
        text = f"exists (select 1 {source} where {edge}.alive and {owner}.alive and {inside.text})"
        return Clause(text=text, params=joined.params + inside.params)


def _selects(alias: str, rule: Rule) -> Clause:
    """Whether the policy speaks of the row itself."""
    policy = rule.policy
    types = TRUE if policy.types is None else _one_of(f"{alias}.type", policy.types)
    paths = TRUE
    if policy.paths is not None:
        text = f"(coalesce({alias}.path, '') || '/') ~ any(%s::text[])"
        paths = Clause(text=text, params=([g.sql for g in policy.paths],))
    return every([types, paths, *(_holds(alias, field, values) for field, values in rule.where)])


def _holds(alias: str, field: str, values: Values) -> Clause:
    value, params = f"({alias}.props -> %s::text)", (field,)
    if field == "state":
        value = f"coalesce(to_jsonb({alias}.state), {value})"
    if values.anything:
        return Clause(text=f"coalesce(jsonb_typeof({value}) <> 'null', false)", params=params)
    # A scalar is a list of one, and the spelling `kind:text` keeps 1, "1" and true apart.
    elements = f"case jsonb_typeof({value}) when 'array' then {value} else jsonb_build_array({value}) end"
    wanted = "jsonb_typeof(v.e) || ':' || (v.e #>> '{}') = any(%s::text[])"
    text = f"exists (select 1 from jsonb_array_elements({elements}) as v(e) where {wanted})"  # noqa: S608
    return Clause(text=text, params=(*params * 3, values.tokens()))


def _one_of(column: str, names: Iterable[str]) -> Clause:
    return Clause(text=f"{column} = any(%s::text[])", params=(sorted(names),))
