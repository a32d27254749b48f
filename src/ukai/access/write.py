"""Whether a change may be written: field by field, transition by transition."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ukai.access import say
from ukai.access.decision import Decision
from ukai.access.policy import Policy
from ukai.access.record import ALL, NONE, Fields, Record, union
from ukai.access.rule import Member, Rule

Transition = tuple[str | None, str | None]
"""From a state to a state; None is no state, and only `*` in a policy covers it."""


Transitions = frozenset[tuple[str, str]]
"""Pairs of states, `*` for any."""


@dataclass(frozen=True, kw_only=True)
class Reach:
    """The most that may be written of some record of a type: for describing the type, never for deciding."""

    fields: frozenset[str]
    moves: tuple[tuple[Transitions, Transitions], ...] = ()
    """For each member the transitions granted on some record, and those denied on all. No member: none."""

    def may_move(self, transition: Transition) -> bool:
        """Whether everybody may take this transition on some record."""
        return bool(self.moves) and all(
            _covers(yes, transition) and not _covers(no, transition) for yes, no in self.moves
        )


def reach(members: Sequence[Member], type: str, fields: frozenset[str]) -> Reach:
    """Of `fields` and of all transitions, the most that each member may write. A record may allow less, never more."""
    left = fields if members else NONE
    moves: list[tuple[Transitions, Transitions]] = []
    for member in members:
        side = member.side(type)
        allows = [r.policy for r in (*side.allows, *(r for r in member.allows if r.policy.and_owned))]
        denies = [r.policy for r in (*side.denies, *side.partial) if not r.where and r.paths is None]
        granted: Fields = NONE
        for policy in allows:
            granted = union(granted, policy.fields)
        left &= fields if granted is ALL else granted
        for policy in denies:
            if policy.fields is not ALL:
                left -= policy.fields
            elif policy.transitions is None:
                return Reach(fields=NONE)
        moves.append((_transitions(allows), _transitions(denies)))
    return Reach(fields=left, moves=tuple(moves))


def _transitions(policies: Iterable[Policy]) -> Transitions:
    return frozenset(t for p in policies for t in p.transitions or ())


def _covers(pairs: Transitions, transition: Transition) -> bool:
    source, target = transition
    return any(s in ("*", source) and t in ("*", target) for s, t in pairs)


def decide(
    members: Sequence[Member], *, type: str, fields: Fields, transition: Transition | None, record: Record | None
) -> Decision:
    """A yes when for every member some policies grant each field and the transition, and none denies."""
    if not members:
        return say.nobody("write")
    name = record.handle if record else type
    found: list[Policy] = []
    for member in members:
        hit = [p for p in _denials(member, type, record) if _hits(p, fields, transition)]
        if hit:
            return say.denied("write", name, member.caller, hit)
        grants = list(_grants(member, type, record))
        lacking = _lacking(grants, fields, transition)
        if lacking:
            return say.lacking("write", name, member.caller, lacking)
        found += grants
    return say.yes("write", name, [m.caller for m in members], found)


def _grants(member: Member, type: str, record: Record | None) -> Iterable[Policy]:
    allows = member.side(type).allows
    if record is None:
        return [r.policy for r in allows if not r.where and r.paths is None]
    rules: list[Rule] = [r for r in allows if r.selects(record)]
    return [r.policy for r in (*rules, *member.through(record))]


def _denials(member: Member, type: str, record: Record | None) -> Iterable[Policy]:
    if record is not None:
        return [r.policy for r in (*member.denying(record), *member.withholding(record))]
    side = member.side(type)
    passing = [r for r in (*member.denies, *member.partial) if r.policy.and_owned]
    return [r.policy for r in (*side.denies, *side.partial, *passing)]


def _hits(policy: Policy, fields: Fields, transition: Transition | None) -> bool:
    """A denial of the whole record hits any change; one of fields or transitions hits those."""
    if policy.fields is ALL and policy.transitions is None:
        return True
    named = policy.fields is not ALL and (fields is ALL or not policy.fields.isdisjoint(fields))
    return named or (transition is not None and policy.transitions is not None and _moves(policy, transition))


def _lacking(grants: Sequence[Policy], fields: Fields, transition: Transition | None) -> list[str]:
    if not grants:
        return ["a policy that covers it"]
    granted: Fields = NONE
    for policy in grants:
        granted = union(granted, policy.fields)
    lacking: list[str] = []
    if granted is not ALL:
        lacking = ['`fields: ["*"]`'] if fields is ALL else [f"the field {f!r}" for f in sorted(fields - granted)]
    if transition and not any(p.transitions is not None and _moves(p, transition) for p in grants):
        lacking.append(f"the transition {transition[0]}->{transition[1]}")
    return lacking


def _moves(policy: Policy, transition: Transition) -> bool:
    return _covers(policy.transitions or frozenset(), transition)
