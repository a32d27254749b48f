"""Policies compiled for one caller, one agent and one channel: what is left is what can still matter.

Everything about the caller is decided here, once; what remains for each record is its type, its path and its fields.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from ukai.access.caller import Caller
from ukai.access.condition import Values
from ukai.access.policy import Policy
from ukai.access.record import ALL, NONE, OWNERS_DEPTH, Fields, Record, includes, union

Matcher = Callable[[str], object]


@dataclass(frozen=True, kw_only=True, slots=True)
class Rule:
    """One policy that concerns the caller."""

    policy: Policy
    where: tuple[tuple[str, Values], ...]
    paths: tuple[Matcher, ...] | None

    def selects(self, record: Record) -> bool:
        """Whether the record itself is one of those that the policy speaks of; its type has been looked at before."""
        if self.paths is not None:
            place = (record.path or "") + "/"
            for fits in self.paths:
                if fits(place):
                    break
            else:
                return False
        fields = record.fields
        for name, values in self.where:  # noqa: SIM110  (a generator costs more than the check itself)
            if not values.hold(fields.get(name)):
                return False
        return True


@dataclass(frozen=True, kw_only=True, slots=True)
class Side:
    """What concerns one caller about records of one type, for one right."""

    allows: tuple[Rule, ...]
    denies: tuple[Rule, ...]
    """Of whole records."""
    partial: tuple[Rule, ...]
    """Denials of some fields, or of some transitions."""


@dataclass(frozen=True, kw_only=True)
class Member:
    """One caller with the rules that concern it, for one right."""

    caller: Caller
    allows: tuple[Rule, ...]
    denies: tuple[Rule, ...]
    partial: tuple[Rule, ...]
    _sides: dict[str, Side] = field(default_factory=dict[str, Side], compare=False, repr=False)

    def side(self, type: str) -> Side:
        """The rules about records of this type; those that need no look at the record come first."""
        side = self._sides.get(type)
        if side is None:
            side = Side(
                allows=_of_type(self.allows, type),
                denies=_of_type(self.denies, type),
                partial=_of_type(self.partial, type),
            )
            self._sides[type] = side
        return side

    def reaching(self, type: str | None) -> tuple[list[Rule], list[Rule]]:
        """The grants, and the denials of fields, that may concern a record of this type (None: of any)."""
        grants, denials = (
            [r for r in rules if type is None or r.policy.and_owned or r.policy.types is None or type in r.policy.types]
            for rules in (self.allows, self.partial)
        )
        return grants, denials

    @property
    def granted_types(self) -> frozenset[str] | None:
        """The types on records of which something may be granted; None: any."""
        return types_of(self.allows)

    def only(self, about: Callable[[Policy], bool]) -> Member:
        """The same caller with the rules whose policy is `about` it."""
        allows, denies, partial = (
            tuple(r for r in rules if about(r.policy)) for rules in (self.allows, self.denies, self.partial)
        )
        return Member(caller=self.caller, allows=allows, denies=denies, partial=partial)

    def about(self, field: str) -> Member:
        """The same caller with the rules that concern this field: grants of it, its denials, and those of all."""
        allows, partial = (
            tuple(r for r in rules if includes(r.policy.fields, field)) for rules in (self.allows, self.partial)
        )
        return Member(caller=self.caller, allows=allows, denies=self.denies, partial=partial)

    def is_reader(self, record: Record) -> bool:
        """Whether the record's readers, if its type declares any, name the caller or a group of theirs."""
        return record.readers is None or not record.readers.isdisjoint(self.caller.principals)

    def granted(self, record: Record) -> Fields:
        """The fields that some `allow` grants, directly or along owning edges; none: no policy covers it."""
        fields: Fields = NONE
        for rule in self.side(record.type).allows:
            if rule.selects(record):
                fields = union(fields, rule.policy.fields)
                if fields is ALL:
                    return ALL
        if record.owners:
            for rule in self.through(record):
                fields = union(fields, rule.policy.fields)
        return fields

    def through(self, record: Record, depth: int = OWNERS_DEPTH) -> Iterable[Rule]:
        """Rules with `and_owned` whose rights reach the record. Each owner on the way must itself be open."""
        if depth == 0:
            return
        for owner in record.owners:
            if self.is_reader(owner) and not self.is_denied(owner, depth - 1):
                for rule in self.side(owner.type).allows:
                    if rule.policy.and_owned and rule.selects(owner):
                        yield rule
                yield from self.through(owner, depth - 1)

    def is_denied(self, record: Record, depth: int = OWNERS_DEPTH) -> bool:
        """Whether a `deny` of whole records hits this one, directly or (with `and_owned`) an owner of it."""
        for rule in self.side(record.type).denies:
            if rule.selects(record):
                return True
        return bool(record.owners) and any(True for _ in self.denying(record, depth))

    def denying(self, record: Record, depth: int = OWNERS_DEPTH) -> Iterable[Rule]:
        """The denials of whole records that hit this one."""
        return _hitting(record, depth, lambda type: self.side(type).denies)

    def withholding(self, record: Record) -> Iterable[Rule]:
        """The denials of fields that hit this record."""
        return _hitting(record, OWNERS_DEPTH, lambda type: self.side(type).partial)

    def denied_fields(self, record: Record) -> Fields:
        """Fields that a `deny` with `fields` takes away."""
        fields: Fields = NONE
        for rule in self.withholding(record):
            fields = union(fields, rule.policy.fields)
        return fields


def _hitting(record: Record, depth: int, rules: Callable[[str], Sequence[Rule]]) -> Iterable[Rule]:
    for rule in rules(record.type):
        if rule.selects(record):
            yield rule
    if depth and record.owners:
        yield from above(record, depth, rules)


def types_of(rules: Iterable[Rule]) -> frozenset[str] | None:
    """The types on records of which one of `rules` may bear, itself or by an owner; None: any."""
    found: set[str] = set()
    for rule in rules:
        if rule.policy.and_owned or rule.policy.types is None:
            return None
        found |= rule.policy.types
    return frozenset(found)


def above(record: Record, depth: int, rules: Callable[[str], Sequence[Rule]]) -> Iterable[Rule]:
    """Of `rules` for the type of each owner up to `depth` away, those with `and_owned` that select it."""
    if depth == 0:
        return
    for owner in record.owners:
        for rule in rules(owner.type):
            if rule.policy.and_owned and rule.selects(owner):
                yield rule
        yield from above(owner, depth - 1, rules)


def member(caller: Caller, policies: Iterable[Policy], *, right: str, agent: str, channel: str | None) -> Member:
    """`policies` as far as they concern this caller, this right and this agent."""
    about = [p for p in policies if p.right == right and concerns(p, caller, agent=agent, channel=channel)]
    compiled = [_rule(p, caller) for p in about]
    denies = [r for r in compiled if r.policy.denies]
    return Member(
        caller=caller,
        allows=tuple(r for r in compiled if not r.policy.denies),
        denies=tuple(r for r in denies if not _is_partial(r.policy)),
        partial=tuple(r for r in denies if _is_partial(r.policy)),
    )


def concerns(policy: Policy, caller: Caller, *, agent: str, channel: str | None) -> bool:
    """Whether the policy reaches this caller here. A surface that is not known lets nothing in and keeps all out."""
    return (
        reaches(policy, caller)
        and (policy.agents is None or any(g.matches(agent) for g in policy.agents))
        and (policy.channels is None or (policy.denies if channel is None else channel in policy.channels))
    )


def reaches(policy: Policy, caller: Caller) -> bool:
    """Whether `to` names the caller."""
    if not policy.denies:
        return not policy.to.isdisjoint(caller.principals)
    return policy.to_everyone or caller.hit_by is None or not policy.to.isdisjoint(caller.hit_by)


def _is_partial(policy: Policy) -> bool:
    return policy.fields is not ALL or policy.transitions is not None


def _rule(policy: Policy, caller: Caller) -> Rule:
    paths = None if policy.paths is None else tuple(g.regex.fullmatch for g in policy.paths)
    where = tuple((c.field, c.for_caller(caller, denies=policy.denies)) for c in policy.where)
    return Rule(policy=policy, where=where, paths=paths)


def _of_type(rules: tuple[Rule, ...], type: str) -> tuple[Rule, ...]:
    found = [r for r in rules if r.policy.types is None or type in r.policy.types]
    return tuple(sorted(found, key=lambda r: (r.policy.fields is not ALL, bool(r.where), r.paths is not None)))
