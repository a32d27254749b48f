"""Who asks, and everybody who will read the answer (P3.2)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ukai.access.groups import Groups
from ukai.kit import principal


@dataclass(frozen=True, kw_only=True)
class Caller:
    """One principal with all that it stands for.

    `public` and groups are many people at once: they hold what all of them hold, and are hit by what hits any of them.
    """

    id: str
    """Canonical; as it was given when it names nobody."""
    email: str | None
    """Set for a person."""
    groups: frozenset[str]
    """`group:x`, directly or through other groups."""
    principals: frozenset[str]
    """What reaches the caller when it allows: the id, the groups, `public`. Empty: nobody we know of."""
    hit_by: frozenset[str] | None
    """What reaches the caller when it denies. None: everything does."""
    is_many: bool = False

    @property
    def is_known(self) -> bool:
        """Whether the id names somebody at all; nobody has no rights."""
        return bool(self.principals)


@dataclass(frozen=True, kw_only=True)
class Audience:
    """Everybody who can read the place where an answer goes, the one who asked included. Nobody may do nothing."""

    callers: tuple[Caller, ...]


def of(groups: Groups, who: str) -> Caller:
    """The caller with this id. One that nobody knows is `public` and itself; one that is malformed is nothing."""
    name = principal.canonical(who)
    kind = principal.kind_of(name) if name else None
    if name is None or kind is None or (kind == "group" and groups.is_uncertain(name)):
        none: frozenset[str] = frozenset()
        return Caller(id=name or who, email=None, groups=none, principals=none, hit_by=None)
    if kind == "public":
        only = frozenset({name})
        return Caller(id=name, email=None, groups=frozenset(), principals=only, hit_by=None, is_many=True)
    belongs = groups.of(name)
    email = name if kind == "person" else None
    if kind == "group":
        held = belongs | {name}
        hit = _hit_by(groups, held, [name, *groups.within(name)])
        principals = held | {principal.PUBLIC}
        return Caller(id=name, email=email, groups=held, principals=principals, hit_by=hit, is_many=True)
    principals = belongs | {name, principal.PUBLIC}
    return Caller(id=name, email=email, groups=belongs, principals=principals, hit_by=_hit_by(groups, belongs, [name]))


def _hit_by(groups: Groups, held: frozenset[str], inside: Iterable[str]) -> frozenset[str] | None:
    if not groups.readable:
        return None  # who is in which group is unknown: any denial may be meant
    hit = {principal.PUBLIC, *held, *groups.uncertain}
    for member in inside:
        hit.add(member)
        hit |= groups.of(member)
    return frozenset(hit)
