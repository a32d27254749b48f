"""Decisions put into words: who, what, by which policy in which line, and what would be needed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ukai.access import decision
from ukai.access.caller import Caller
from ukai.access.decision import Decision
from ukai.access.policy import Policy
from ukai.access.rule import Member

SHOWN = 3
"""Policies named in one sentence."""


def yes(right: str, what: str, callers: Sequence[Caller], policies: Iterable[Policy]) -> Decision:
    found = {p.id: p for p in policies}
    who = callers[0].id if len(callers) == 1 else f"{callers[0].id} and {len(callers) - 1} more"
    reason = f"{who} may {right} {what}: allowed by {named(found.values())}"
    return Decision(allowed=True, reason=reason, matched=tuple(found))


def no(
    right: str, reason: str, *, denied_by: Iterable[str] = (), missing: Iterable[str] = (), who: str = ""
) -> Decision:
    return Decision(
        allowed=False,
        reason=reason,
        refusal=decision.refusal(right),
        denied_by=tuple(dict.fromkeys(denied_by)),
        missing=tuple(missing),
        who=who,
    )


def nobody(right: str) -> Decision:
    return no(right, f"nobody is known to ask, so nobody may {right}", denied_by=("unknown",))


def denied(right: str, what: str, caller: Caller, policies: Sequence[Policy]) -> Decision:
    """A `deny` hit."""
    names = named({p.id: p for p in policies}.values())
    return no(
        right,
        f"{caller.id} may not {right} {what}: denied by {names}",
        denied_by=[p.id for p in policies],
        missing=[f"{names} would have to except {caller.id}"],
        who=caller.id,
    )


def lacking(right: str, what: str, caller: Caller, needed: Sequence[str]) -> Decision:
    """Nothing allows it, or not all of it."""
    if not caller.is_known:
        return unknown(right, what, caller)
    return no(
        right,
        f"{caller.id} may not {right} {what}: nothing grants {' and '.join(needed)}",
        missing=[f"an `allow: {right}` for {caller.id} that grants {n}" for n in needed],
        who=caller.id,
    )


def unknown(right: str, what: str, caller: Caller) -> Decision:
    return no(
        right,
        f"{caller.id!r} names nobody that access/ can know, so it may not {right} {what}",
        denied_by=("unknown",),
        missing=["a principal such as ann@example.com, service:x, public or a group of groups.yaml"],
        who=caller.id,
    )


def simple(right: str, what: str, members: Sequence[Member], policies: Iterable[Policy]) -> Decision:
    """A right about no record: some policy allows it, none denies it, for every member."""
    if not members:
        return nobody(right)
    for member in members:
        if not member.caller.is_known:
            return unknown(right, what, member.caller)
        if member.denies:
            return denied(right, what, member.caller, [r.policy for r in member.denies])
        if not member.allows:
            return uncovered(right, what, member.caller, policies)
    return yes(right, what, [m.caller for m in members], [r.policy for m in members for r in m.allows])


def uncovered(right: str, what: str, caller: Caller, policies: Iterable[Policy]) -> Decision:
    """No policy allows it. `policies`: those that are about it at all, whoever and whatever else they name."""
    others = [p for p in policies if p.right == right and not p.denies]
    known = f"; others are allowed by {named(others)}" if others else ""
    reached = [p for p in others if not p.to.isdisjoint(caller.principals)]
    missing = [f"whatever else {p.id} ({p.place}) asks for" for p in reached[:SHOWN]]
    missing += [f"to be one of {_listed(p.to)}, for {p.id} ({p.place})" for p in others if p not in reached][:SHOWN]
    either = "or " if missing else ""
    missing.append(f"{either}an `allow: {right}` that covers it and names {_principals(caller)}")
    return no(right, f"{caller.id} may not {right} {what}: no policy allows it{known}", missing=missing, who=caller.id)


def _principals(caller: Caller) -> str:
    return _listed([caller.id, *sorted(caller.groups - {caller.id})])


def _listed(names: Iterable[str]) -> str:
    found = list(names) if isinstance(names, list) else sorted(names)
    return " or ".join(found[:SHOWN]) + (f" or {len(found) - SHOWN} more" if len(found) > SHOWN else "")


def named(policies: Iterable[Policy]) -> str:
    names = [f"{p.id} ({p.place})" for p in policies]
    return ", ".join(names[:SHOWN]) + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "")
