"""Rights as one boolean SQL expression over the columns of `node`: what `Member` decides, decided by PostgreSQL.

Everything that comes from policies, callers or schemas is a parameter. The text holds column names, aliases made here,
and nothing else. A property test holds this rendering and `rule.py` to the same set of records.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ukai.access import owners
from ukai.access.clause import FALSE, TRUE, Clause, every, no, one_of, put, some
from ukai.access.condition import Values
from ukai.access.opening import Opening
from ukai.access.record import OWNERS_DEPTH, OwningEdge
from ukai.access.rule import Member, Rule

_ALIAS = re.compile(r"[a-z_][a-z0-9_]{0,30}\Z")


def readable(
    members: Sequence[Member], *, openings: Sequence[Opening], alias: str, owning: Sequence[OwningEdge]
) -> Clause:
    """True for the rows of `node alias` that every member may read, by one of `openings`.

    Raises ValueError for an alias that is not a plain lower-case name.
    """
    if not _ALIAS.match(alias):
        raise ValueError(f"not an alias: {alias!r}")
    return _opened(members, openings, alias, owning, owners.joined)


def among(
    members: Sequence[Member],
    *,
    openings: Sequence[Opening],
    owning: Sequence[OwningEdge],
    ids: Clause,
    dead: bool = False,
) -> Clause | None:
    """The array of those of `ids`, an array, whose rows live (or not, with `dead`) and for which `readable` holds.

    What holds of an owner is worked out once for all of them. None where nothing passes from owners.
    """
    if not owning or not any(r.policy.and_owned for m in members for r in (*m.allows, *m.denies, *m.partial)):
        return None
    whole, steps = _opened(members, openings, "n", owning, owners.known), owners.steps(owning, ids)
    living = "true" if dead else "n.alive"
    found = f"select n.id from node n where {owners.is_at('n', 0)} and {living} and {whole.text}"  # noqa: S608
    return put(f"array(with {steps.text} {found})", steps, whole)


def showing(
    members: Sequence[Member],
    field: str,
    *,
    alias: str,
    owning: Sequence[OwningEdge],
    way: owners.Way = owners.joined,
) -> Clause:
    """True for the rows of `node alias` of which every member may read this field, if its type has it and lists it."""
    each: list[Clause] = []
    for m in (member.about(field) for member in members):
        withheld = Member(caller=m.caller, allows=(), denies=m.partial, partial=())
        each.append(_Rendering(m, owning, way).whole(alias))
        each.append(no(_Rendering(withheld, owning, way).is_denied(alias, OWNERS_DEPTH)))
    return every(each) if members else FALSE


def tellable(
    tellers: Sequence[Member],
    readers: Sequence[Member],
    *,
    listed: Mapping[str, frozenset[str] | None],
    alias: str,
    owning: Sequence[OwningEdge],
) -> Clause:
    """True for the rows of `node alias` that have a field of which every member may be told.

    `listed`: the fields that some policy tells, each with the types that list it; None is any type.
    """
    return some(_telling(tellers, readers, f, types, alias, owning) for f, types in listed.items())


def _telling(
    tellers: Sequence[Member],
    readers: Sequence[Member],
    field: str,
    types: frozenset[str] | None,
    alias: str,
    owning: Sequence[OwningEdge],
) -> Clause:
    each = [TRUE if types is None else one_of(f"{alias}.type", types), _has(alias, field)]
    for teller, reader in zip(tellers, readers, strict=True):
        told = Member(caller=reader.caller, allows=teller.about(field).allows, denies=reader.denies, partial=())
        withheld = Member(caller=reader.caller, allows=(), denies=reader.about(field).partial, partial=())
        each.append(_Rendering(told, owning, owners.joined).whole(alias))
        each.append(no(_Rendering(withheld, owning, owners.joined).is_denied(alias, OWNERS_DEPTH)))
    return every(each) if readers else FALSE


def _has(alias: str, field: str) -> Clause:
    is_state = f"{alias}.state is not null" if field == "state" else "false"
    return Clause(text=f"({is_state} or {alias}.props ? %s)", params=(field,))


def _opened(
    members: Sequence[Member],
    openings: Sequence[Opening],
    alias: str,
    owning: Sequence[OwningEdge],
    way: owners.Way,
) -> Clause:
    found: list[Clause] = []
    for types, field in openings if members else ():
        bound = TRUE if types is None else one_of(f"{alias}.type", types)
        if field is None:
            found.append(every([bound, *(_Rendering(m, owning, way).whole(alias) for m in members)]))
        else:
            found.append(every([bound, showing(members, field, alias=alias, owning=owning, way=way)]))
    return found[0] if len(found) == 1 else some(found)


@dataclass(frozen=True)
class _Rendering:
    """One member's rights. The methods follow those of `rule.Member` by name."""

    member: Member
    owning: Sequence[OwningEdge]
    way: owners.Way

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

        return self._some_owner(alias, depth, is_open)

    def is_denied(self, alias: str, depth: int) -> Clause:
        return some([*(_selects(alias, r) for r in self.member.denies), self.denies_above(alias, depth)])

    def denies_above(self, alias: str, depth: int) -> Clause:
        passing = [r for r in self.member.denies if r.policy.and_owned]
        if not passing or depth == 0:
            return FALSE

        def is_hit(owner: str) -> Clause:
            return some([*(_selects(owner, r) for r in passing), self.denies_above(owner, depth - 1)])

        return self._some_owner(alias, depth, is_hit)

    def _some_owner(self, alias: str, depth: int, holds: Callable[[str], Clause]) -> Clause:
        inside = holds(f"{alias}_o") if self.owning else FALSE
        return FALSE if inside == FALSE else self.way(alias, OWNERS_DEPTH - depth + 1, self.owning, inside)


def _selects(alias: str, rule: Rule) -> Clause:
    """Whether the policy speaks of the row itself."""
    policy = rule.policy
    types = TRUE if policy.types is None else one_of(f"{alias}.type", policy.types)
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
