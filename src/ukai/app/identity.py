"""Who acts, and what they may do when no agent stands between them and the door."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ukai.access import Access, Rights
from ukai.gate.author import Author
from ukai.kit import principal
from ukai.kit.errors import PermanentError

DIRECT = "(direct)"
"""Stands for the agent where a person writes or reads by hand. No agent can be called so: policies for named agents do
not apply, those for `*` do, and there is no field policy.
"""


class NobodyActs(PermanentError):
    """Neither `--as` nor `local_principal` says who acts."""

    hint = "name yourself in ukai.yaml (`local_principal: ann@example.com`), or use --as"


class MayNotImpersonate(PermanentError):
    """`--as` on a database that is not this machine's own needs a right."""

    hint = "IT grants the right `impersonate` in access/policies.yaml"


class NoRight(PermanentError):
    """A right of `access/policies.yaml` is missing."""

    def __init__(self, who: str, right: str, what: str) -> None:
        super().__init__(
            f"{who} may not {what}",
            hint=f"IT grants the right `{right}` in access/policies.yaml (`ukai access explain {who}` tells what they "
            "hold), or use --as with somebody who holds it",
        )
        self.who, self.right = who, right


Via = Literal["local", "token", "jwt", "login", "proxy", "slack"]


@dataclass(frozen=True, kw_only=True)
class Caller:
    """Who asks, under the one name that every surface uses for them."""

    principal: str
    """Canonical."""
    via: Via = "local"
    """What said so: this machine, a personal token, a JWT, the web page's login, a named proxy, Slack."""


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where an answer goes, and who reads there (P3.2)."""

    kind: Literal["direct", "private", "public", "shared", "report"] = "direct"
    """For one person; a closed room; one that everybody here may enter; one with people from outside; a report."""
    members: tuple[str, ...] | None = None
    """Principals, groups among them. None: nobody knows who reads there."""

    def audience(self, caller: str) -> tuple[str, ...]:
        """Everybody who reads the answer, the one who asks first.

        Who is not known for certain is anybody, and so is whoever reads from outside: `public` is then among them.
        """
        if self.kind == "direct":
            return (caller,)
        known = [principal.canonical(m) or principal.PUBLIC for m in self.members or ()]
        if self.members is None or self.kind == "shared":
            known.append(principal.PUBLIC)
        return tuple(dict.fromkeys([caller, *known]))


def local(who: str | None) -> Caller:
    """The one who works at this machine. Raises NobodyActs."""
    name = principal.canonical(who) if who is not None else None
    if name is None:
        raise NobodyActs("it is not known who acts" if who is None else f"{who!r} names nobody")
    return Caller(principal=name)


def named(who: object, via: Via) -> Caller:
    """Whom a verified word from outside names: one person or service, never a group and never anybody.

    Raises NotKnown.
    """
    name = principal.canonical(who) if isinstance(who, str) else None
    if name is None or principal.kind_of(name) not in ("person", "service"):
        raise NotKnown("the login names nobody that Ukai knows how to name", hint="IT sets `login: {principal: ..}`")
    return Caller(principal=name, via=via)


class NotKnown(PermanentError):
    """It is not known who asks, or what was shown for it is not in force. `hint` says what to do."""

    def __init__(self, message: str, *, hint: str, lacks_scope: str = "") -> None:
        super().__init__(message, hint=hint)
        self.lacks_scope = lacks_scope
        """Known, but without this scope."""


@dataclass(frozen=True, kw_only=True)
class Standing:
    """Somebody, with the files that say what they may do."""

    principal: str
    access: Access
    channel: str

    @property
    def rights(self) -> Rights:
        """What they may read and write by hand."""
        return self.access.rights(self.access.caller(self.principal), DIRECT, channel=self.channel)

    @property
    def author(self) -> Author:
        """As whom they write: a person is human, a service brings rows."""
        is_service = principal.kind_of(self.principal) == "service"
        return Author(kind="connector" if is_service else "human", id=self.principal)

    def holds(self, right: str) -> bool:
        """Whether they hold `audit`, `upload` and the like."""
        return self.access.holds(self.access.caller(self.principal), right).allowed

    def need(self, right: str, what: str) -> None:
        """Raise NoRight unless they hold it; `what` ends the sentence "ann may not ..."."""
        if not self.holds(right):
            raise NoRight(self.principal, right, what)


def acting(access: Access, local: str | None, named: str | None, *, is_local: bool, channel: str) -> Standing:
    """The local principal, or somebody else where that is allowed: on this machine's own database, or by a right.

    Raises NobodyActs, MayNotImpersonate.
    """
    chosen = named if named is not None else local
    who = principal.canonical(chosen) if chosen is not None else None
    if who is None:
        raise NobodyActs("it is not known who acts" if chosen is None else f"{chosen!r} names nobody")
    if principal.kind_of(who) not in ("person", "service"):
        raise NobodyActs(f"{who} is nobody who could act: people and services do")
    me = principal.canonical(local) if local is not None else None
    if who != me and not is_local and not (me and access.holds(access.caller(me), "impersonate").allowed):
        raise MayNotImpersonate(f"{me or 'nobody'} may not act as {who}")
    return Standing(principal=who, access=access, channel=channel)
