"""`groups.yaml`: who belongs to which group, through groups inside groups.

A group whose members cannot be known for certain (a misspelt member, a cycle) has none where a policy allows, and may
have anybody where a policy denies.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ukai.access import mend
from ukai.kit import document, principal, shape, suggest
from ukai.kit.finding import Finding


@dataclass(frozen=True, kw_only=True)
class _Entry:
    __pydantic_config__ = shape.STRICT
    members: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Groups:
    """All groups; names are principals (`group:sellers`)."""

    members: Mapping[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])
    """Group -> its direct members, as far as they are certain."""
    uncertain: frozenset[str] = frozenset()
    """Groups that may have members which are not known here."""
    readable: bool = True
    """False when the file could not be read: then every group is uncertain."""

    def are_known(self, group: str) -> bool:
        """Whether the file declares this group, or cannot be asked."""
        return not self.readable or group in self.members

    def is_uncertain(self, group: str) -> bool:
        return not self.readable or group in self.uncertain or group not in self.members

    def of(self, who: str) -> frozenset[str]:
        """Every group that `who` certainly belongs to, directly or through others."""
        above: dict[str, list[str]] = {}
        for group, members in self.members.items():
            for member in members:
                above.setdefault(member, []).append(group)
        return _reached(who, above)

    def within(self, group: str) -> frozenset[str]:
        """Everybody and every group inside `group`."""
        return _reached(group, self.members)


def _reached(start: str, steps: Mapping[str, Iterable[str]]) -> frozenset[str]:
    found: set[str] = set()
    waiting = [start]
    while waiting:
        for name in steps.get(waiting.pop(), ()):
            if name not in found:
                found.add(name)
                waiting.append(name)
    return frozenset(found)


def read(doc: document.Document | None) -> tuple[Groups, list[Finding]]:
    """The groups of one file; None stands for a file that is there and cannot be read."""
    entries, findings = mend.entries(doc, key="groups", kind=dict)
    if doc is None or entries is None:
        return Groups(readable=False), findings
    members: dict[str, frozenset[str]] = {}
    broken: set[str] = set()
    places: dict[str, str] = {}
    for key in entries:
        at = document.pointer("groups", key)
        name = principal.canonical(f"group:{key}")
        if name is None:
            findings.append(_bad_name(doc, at, key))
            continue
        bare = name.removeprefix("group:")
        more = [mend.not_canonical(doc.where_key(at), key, bare)] if key != bare else []
        if name in members:
            more.append(_twice(doc, at, key))
        found, parsed = _members(doc, at)
        findings += more + parsed
        if mend.broken(more + parsed):
            broken.add(name)
            found = frozenset[str]()
        members[name] = found
        places[name] = at
    for group, inside in members.items():
        strangers = {m for m in inside if m.startswith("group:") and m not in members}
        if strangers:
            findings += [_unknown(doc, places[group], s, members) for s in sorted(strangers)]
            broken.add(group)
    circles = _on_a_cycle(members)
    findings += [_cycle(doc, places[g], g) for g in sorted(circles)]
    broken |= circles
    certain = {g: frozenset[str]() if g in broken else m for g, m in members.items()}
    above = {m: {g for g, inside in members.items() if m in inside} for m in members}
    uncertain = set(broken).union(*(_reached(b, above) for b in broken))
    return Groups(members=certain, uncertain=frozenset(uncertain)), findings


def _members(doc: document.Document, at: str) -> tuple[frozenset[str], list[Finding]]:
    entry, findings = shape.parse(doc, _Entry, at=at)
    if entry is None:
        return frozenset(), findings
    found: set[str] = set()
    for i, written in enumerate(entry.members):
        name, more = mend.principal_at(doc, f"{at}/members/{i}", written)
        findings += more
        if name == principal.PUBLIC:
            findings.append(
                Finding(
                    code="public_member",
                    where=doc.where(f"{at}/members/{i}"),
                    message="everybody would be a member of this group",
                    expected="people, services and groups",
                    received=principal.PUBLIC,
                    hint="name `public` in the policy itself if everybody is meant",
                )
            )
        elif name:
            found.add(name)
    return frozenset(found), findings


def _on_a_cycle(members: Mapping[str, frozenset[str]]) -> set[str]:
    """Groups that contain themselves. Peeling off groups without groups first leaves few to ask."""
    inside = {g: {m for m in ms if m in members} for g, ms in members.items()}
    left = set(inside)
    peeled = True
    while peeled:
        peeled = {g for g in left if not inside[g] & left}
        left -= peeled
    return {g for g in left if g in _reached(g, inside)}


def _bad_name(doc: document.Document, at: str, key: str) -> Finding:
    return Finding(
        code="invalid_principal",
        where=doc.where_key(at),
        message=f"{key!r} is not a group's name",
        expected="a bare name such as `sellers`",
        received=key,
        hint=f"write {key.removeprefix('group:')!r}" if key.startswith("group:") else "use letters, digits and dashes",
    )


def _twice(doc: document.Document, at: str, key: str) -> Finding:
    return Finding(
        code="duplicate_key",
        where=doc.where_key(at),
        message=f"the group {key!r} stands here a second time, in other letter case",
        received=key,
        hint="keep one of the two",
    )


def _unknown(doc: document.Document, at: str, name: str, known: Iterable[str]) -> Finding:
    return Finding(
        code="unknown_group",
        where=doc.where(f"{at}/members"),
        message=f"no group is named {name!r}",
        expected="a group of this file",
        received=name,
        hint=suggest.hint_for(name, known),
    )


def _cycle(doc: document.Document, at: str, group: str) -> Finding:
    return Finding(
        code="group_cycle",
        where=doc.where_key(at),
        message=f"{group!r} is a member of itself, through its own members",
        expected="groups that end in people and services",
        received=group,
        hint="remove one membership of the circle; until then the group has no members",
    )
