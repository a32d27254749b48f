"""One hash over everything that decides: equal hashes stand for equal answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ukai.access.field_policy import Allowlist
from ukai.access.record import ALL, Fields
from ukai.access.rule import Member, Rule
from ukai.kit import canonical


def of(
    *,
    agent: str,
    is_agent: bool,
    types: Mapping[str, frozenset[str]] | None,
    allowlist: Allowlist,
    members: Iterable[tuple[Member, ...]],
) -> str:
    """`members`: for each person of the audience, the rules about each right, in one order.

    `types` are those that the audience has a right on, each with its fields where those decide what is read. What is
    declared besides, like another agent, decides nothing here: it moves no hash, and by none tells that it is there.
    """
    return canonical.sha256(
        {
            "agent": agent,
            "is_agent": is_agent,
            "types": None if types is None else {t: sorted(fields) for t, fields in types.items()},
            "unknown": sorted(allowlist.unknown),
            "field_policies": sorted(
                canonical.sha256([p.name, p.version, {t: _fields(f) for t, f in p.allow.items()}])
                for p in allowlist.policies
            ),
            # An audience is a set: neither order nor repetition changes what it may do.
            "audience": sorted({canonical.sha256([_member(m) for m in rights]) for rights in members}),
        }
    )


def _member(member: Member) -> dict[str, Any]:
    return {
        "principals": sorted(member.caller.principals),
        "rules": sorted(canonical.sha256(_rule(r)) for r in (*member.allows, *member.denies, *member.partial)),
    }


def _rule(rule: Rule) -> dict[str, Any]:
    policy = rule.policy
    return {
        "denies": policy.denies,
        "types": None if policy.types is None else sorted(policy.types),
        "paths": None if policy.paths is None else [g.pattern for g in policy.paths],
        "where": sorted([name, values.anything, values.tokens()] for name, values in rule.where),
        "and_owned": policy.and_owned,
        "fields": _fields(policy.fields),
        "transitions": None if policy.transitions is None else sorted(policy.transitions),
        "outputs": None if policy.outputs is None else sorted(policy.outputs),
    }


def _fields(fields: Fields) -> str | list[str]:
    return "*" if fields is ALL else sorted(fields)
