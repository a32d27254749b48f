"""Why a decision fell: every policy that speaks of the right, whether it matched, and what kept it from matching.

For whoever keeps `access/`: an explanation names policies, lines and values of the record. It is nothing for callers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ukai.access import rule
from ukai.access.caller import Caller
from ukai.access.decision import Decision
from ukai.access.policy import Policy
from ukai.access.record import ALL, OWNERS_DEPTH, Fields, Record
from ukai.access.rights import Rights


@dataclass(frozen=True, kw_only=True)
class Considered:
    """One policy, held against one member of the audience."""

    id: str
    place: str
    says: str
    """`allow read`, `deny invoke`, `tell`."""
    who: str
    matched: bool
    why: str

    def as_json(self) -> dict[str, Any]:
        """All parts, in a fixed order."""
        return {
            "policy": self.id,
            "where": self.place,
            "says": self.says,
            "who": self.who,
            "matched": self.matched,
            "why": self.why,
        }


@dataclass(frozen=True, kw_only=True)
class Readable:
    """What is read of one type in general, by the whole audience."""

    type: str
    fields: Fields
    """Those that the agent's field policies leave; of single records a policy may withhold more."""
    under: tuple[str, ...]
    """For each member one sentence: which policies, under which conditions. Empty: somebody reads none of it."""


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """Everything that was looked at."""

    invoke: Decision
    read: Decision | None
    """About the record or field that was asked for, if one was."""
    fields: Fields
    """Of that record, the fields that are read."""
    tell: frozenset[str]
    """Of that record, the fields that a refusal may disclose."""
    considered: tuple[Considered, ...]
    readable: tuple[Readable, ...]


def of(rights: Rights, record: Record | None = None, field: str | None = None) -> Explanation:
    """Why `rights` allow what they allow: invoking the agent, and reading `record` (its `field`) when one is given."""
    policies = [p for p in rights.policies if p.right == "invoke" or (record and p.right in ("read", "tell"))]
    return Explanation(
        invoke=rights.invoke,
        read=rights.read(record, field) if record else None,
        fields=rights.fields(record) if record else frozenset(),
        tell=rights.tell(record) if record else frozenset(),
        considered=tuple(_considered(p, c, rights, record) for p in policies for c in rights.audience.callers),
        readable=tuple(_readable(rights, t) for t in _types(rights)),
    )


def _considered(policy: Policy, caller: Caller, rights: Rights, record: Record | None) -> Considered:
    says = "tell" if policy.right == "tell" else f"{'deny' if policy.denies else 'allow'} {policy.right}"
    why = _elsewhere(policy, caller, rights)
    matched = not why
    if not why and record is not None and policy.right != "invoke":
        matched, why = _held_against(policy, caller, rights, record)
    return Considered(
        id=policy.id, place=policy.place, says=says, who=caller.id, matched=matched, why=why or "everything fits"
    )


def _elsewhere(policy: Policy, caller: Caller, rights: Rights) -> str:
    """Why the policy does not concern this caller, agent and channel; nothing when it does."""
    if not rule.reaches(policy, caller):
        return f"`to` names {_listed(policy.to)}, and not {caller.id} or a group of theirs"
    if policy.agents is not None and not any(g.matches(rights.agent) for g in policy.agents):
        return f"`agents` is {_listed(g.pattern for g in policy.agents)}, and not {rights.agent}"
    if not rule.concerns(policy, caller, agent=rights.agent, channel=rights.channel):
        return f"`channels` is {_listed(policy.channels or ())}, and not {rights.channel}"
    return ""


def _held_against(policy: Policy, caller: Caller, rights: Rights, record: Record) -> tuple[bool, str]:
    """Whether the policy covers the record, itself or by way of an owner, and how."""
    misfit = _misfit(policy, caller, record)
    if not misfit:
        return True, "it covers the record" if policy.fields is ALL else f"it is about {_listed(policy.fields)}"
    if policy.and_owned and policy.right != "tell":
        member = next(m for m in rights.reading.members if m.caller == caller)
        through = member.through(record) if not policy.denies else member.denying(record)
        if policy in [r.policy for r in (*through, *member.withholding(record))]:
            owner = next(o.handle for o in _above(record, OWNERS_DEPTH) if not _misfit(policy, caller, o))
            return True, f"it covers {owner}, which owns the record"
    return False, misfit


def _misfit(policy: Policy, caller: Caller, record: Record) -> str:
    """Why the policy does not speak of the record itself; nothing when it does."""
    if policy.types is not None and record.type not in policy.types:
        return f"`types` is {_listed(policy.types)}, and not {record.type}"
    if policy.paths is not None and not any(g.matches(record.path or "") for g in policy.paths):
        return f"`paths` is {_listed(g.pattern for g in policy.paths)}, and the record lies at {record.path!r}"
    for condition in policy.where:
        value = record.fields.get(condition.field)
        if not condition.for_caller(caller, denies=policy.denies).hold(value):
            return f"`where` asks that {condition}, and it is {'missing' if value is None else repr(value)}"
    return ""


def _above(record: Record, depth: int) -> Iterator[Record]:
    for owner in record.owners if depth else ():
        yield owner
        yield from _above(owner, depth - 1)


def _types(rights: Rights) -> Sequence[str]:
    """The types that exist; where nobody knows, those that policies and field policies name."""
    if rights.types is not None:
        return sorted(rights.types)
    named = {t for p in rights.policies for t in p.types or ()} | set(rights.allowlist.types() or ())
    return sorted(named)


def _readable(rights: Rights, type: str) -> Readable:
    fields = rights.reading.listed(type)
    under: list[str] = []
    for member in rights.reading.members:
        allows = [r.policy for r in member.side(type).allows]
        owned = [r.policy for r in member.allows if r.policy.and_owned and r.policy not in allows]
        texts = [_condition(p) for p in allows] + [f"{p.id} by way of an owner" for p in owned]
        if not texts or not fields:
            return Readable(type=type, fields=frozenset(), under=())
        denied = "".join(
            f", except {_condition(r.policy)}" for r in (*member.side(type).denies, *member.side(type).partial)
        )
        under.append(f"{member.caller.id}: {' or '.join(texts)}{denied}")
    return Readable(type=type, fields=fields, under=tuple(under))


def _condition(policy: Policy) -> str:
    parts = [str(c) for c in policy.where]
    if policy.paths is not None:
        parts.append(f"its path is in {_listed(g.pattern for g in policy.paths)}")
    about = "" if policy.fields is ALL else f" ({_listed(policy.fields)})"
    return policy.id + about + (f" where {' and '.join(parts)}" if parts else "")


def _listed(names: Iterable[str]) -> str:
    found = sorted(names)
    return ", ".join(found) if found else "nobody"
