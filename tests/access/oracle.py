"""Formats §6 a second time, as slowly and literally as it can be said; nothing of `ukai.access` but its values."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from ukai.access import ALL, Record

DEPTH = 4


def groups_of(who: str, groups: dict[str, list[str]]) -> set[str]:
    found: set[str] = set()
    while True:
        more = {f"group:{g}" for g, members in groups.items() if who in members or found & set(members)} - found
        if not more:
            return found
        found |= more


def inside(group: str, groups: dict[str, list[str]]) -> set[str]:
    """Everybody in a group."""
    everybody = {m for members in groups.values() for m in members} | {f"group:{g}" for g in groups}
    return {who for who in everybody if group in groups_of(who, groups)}


def uncertain(groups: dict[str, list[str]]) -> set[str]:
    """Groups on a cycle, and those that contain one."""
    bad = {f"group:{g}" for g in groups if f"group:{g}" in groups_of(f"group:{g}", groups)}
    return bad | {g for b in bad for g in groups_of(b, groups)}


class World:
    def __init__(self, groups: Any, policies: Any, allowlists: Any, types: Any) -> None:
        given = {g: list(row["members"]) for g, row in groups["groups"].items()}
        self.uncertain = uncertain(given)
        on_cycle = {g for g in given if f"group:{g}" in groups_of(f"group:{g}", given)}
        self.groups = {g: [] if g in on_cycle else members for g, members in given.items()}
        self.policies, self.allowlists, self.types = policies, allowlists, types

    def is_somebody(self, who: str) -> bool:
        if who.startswith("group:"):
            return who.removeprefix("group:") in self.groups and who not in self.uncertain
        return who == "public" or who.startswith("service:") or "@" in who

    def names(self, policy: Any, who: str) -> bool:
        """Whether `to` reaches the caller."""
        to = set(policy["to"])
        own = groups_of(who, self.groups) | {who, "public"}
        if "allow" in policy:
            return bool(to & own)
        if who == "public":
            return True
        hit = own | self.uncertain
        for member in inside(who, self.groups) if who.startswith("group:") else ():
            hit |= {member} | groups_of(member, self.groups)
        return bool(to & hit)

    def selects(self, policy: Any, record: Record, who: str) -> bool:
        chosen = policy["records"]
        if "types" in chosen and record.type not in chosen["types"] and "*" not in chosen["types"]:
            return False
        if "paths" in chosen and not any(covers(g, record.path or "") for g in chosen["paths"]):
            return False
        return all(self.equal(record.fields.get(f), v, who, policy) for f, v in policy.get("where", {}).items())

    def equal(self, value: Any, wanted: Any, who: str, policy: Any) -> bool:
        wanted = wanted if isinstance(wanted, list) else [wanted]
        many = who == "public" or who.startswith("group:")
        about = {w for w in wanted if isinstance(w, str) and w.startswith("caller.")}
        if many and about and "deny" in policy:
            return value is not None
        expected: list[Any] = [w for w in wanted if w not in about]
        if "caller.id" in about and not many:
            expected.append(who)
        if "caller.email" in about and not many and not who.startswith("service:"):
            expected.append(who)
        if "caller.groups" in about:
            held = groups_of(who, self.groups) | ({who} if who.startswith("group:") else set())
            expected += [*held, *(g.removeprefix("group:") for g in held)]
        elements = value if isinstance(value, list) else [value]
        return any(type(e) is type(x) and e == x for e in elements for x in expected)

    def is_reader(self, record: Record, who: str) -> bool:
        own = groups_of(who, self.groups) | {who, "public"}
        return record.readers is None or bool(record.readers & own)

    def of_agent(self, agent: str) -> list[Any]:
        return [p for p in self.policies if any(covers(a, agent) for a in p.get("agents", ["**"]))]

    def denials(self, record: Record, who: str, agent: str, depth: int = DEPTH) -> list[Any]:
        about = [p for p in self.of_agent(agent) if "deny" in p and self.names(p, who)]
        owners = above(record, depth)
        return [
            p
            for p in about
            if self.selects(p, record, who) or (p.get("and_owned") and any(self.selects(p, o, who) for o in owners))
        ]

    def is_denied(self, record: Record, who: str, agent: str, depth: int = DEPTH) -> bool:
        return any("*" in p.get("fields", "*") for p in self.denials(record, who, agent, depth))

    def grants(self, record: Record, who: str, agent: str, depth: int = DEPTH) -> list[Any]:
        about = [p for p in self.of_agent(agent) if "allow" in p and self.names(p, who)]
        return [p for p in about if self.covers(p, record, who, agent, depth)]

    def covers(self, policy: Any, record: Record, who: str, agent: str, depth: int) -> bool:
        if self.selects(policy, record, who):
            return True
        return bool(policy.get("and_owned")) and depth > 0 and any(
            self.is_reader(o, who)
            and not self.is_denied(o, who, agent, depth - 1)
            and self.covers(policy, o, who, agent, depth - 1)
            for o in record.owners
        )  # fmt: skip

    def listed(self, type: str, names: list[str]) -> set[str]:
        """The fields that all field policies list."""
        left = {"*"}
        for name in names:
            fields = set(self.allowlists.get(name, {"allow": {}})["allow"].get(type, []))
            left = fields if "*" in left else left if "*" in fields else left & fields
        return left if type in self.types else set()

    def is_open(self, record: Record, audience: list[str], agent: str, names: list[str]) -> bool:
        """Whether a field of its type may be read, which the record may have or not."""
        full = replace(record, fields=dict.fromkeys(self.types.get(record.type, ())) | record.fields)
        return self.is_covered(record, audience, agent, names) and bool(
            self.left(full, audience, agent, names) & self.types[record.type]
        )

    def is_covered(self, record: Record, audience: list[str], agent: str, names: list[str]) -> bool:
        return bool(audience and self.listed(record.type, names)) and all(
            self.is_somebody(w)
            and self.is_reader(record, w)
            and self.grants(record, w, agent)
            and not self.is_denied(record, w, agent)
            for w in audience
        )

    def fields(self, record: Record, audience: list[str], agent: str, names: list[str]) -> set[str]:
        """Of the fields that the record has, those that are read."""
        return self.left(record, audience, agent, names) if self.is_open(record, audience, agent, names) else set()

    def left(self, record: Record, audience: list[str], agent: str, names: list[str]) -> set[str]:
        """Of its fields, those that all grant and nobody is denied."""
        found = set(record.fields)
        listed = self.listed(record.type, names)
        found = found if "*" in listed else found & listed
        for who in audience:
            granted = {f for p in self.grants(record, who, agent) for f in p.get("fields", "*")}
            found = found if "*" in granted else found & granted
            found -= {f for p in self.denials(record, who, agent) for f in p.get("fields", "*")}
        return found


def above(record: Record, depth: int) -> list[Record]:
    return [r for o in record.owners for r in (o, *above(o, depth - 1))] if depth else []


def covers(pattern: str, path: str) -> bool:
    if pattern == "**":
        return True
    parts = [".*" if s == "**" else "".join({"*": "[^/]*", "?": "[^/]"}.get(c) or re.escape(c) for c in s)
             for s in pattern.split("/")]  # fmt: skip
    text = "/".join(parts).replace("/.*/", "(/.*)?/")
    text = text.removesuffix("/.*") + "(/.*)?" if text.endswith("/.*") else text
    text = "(.*/)?" + text.removeprefix(".*/") if text.startswith(".*/") else text
    return re.fullmatch(text, path, re.DOTALL) is not None


def plain(fields: Any, record: Record) -> set[str]:
    return set(record.fields) if fields is ALL else set(fields) & set(record.fields)
