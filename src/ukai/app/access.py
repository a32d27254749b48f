"""`ukai access explain`: what a principal may do with an agent, or at all, and why."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ukai import access
from ukai.access import budget, explain
from ukai.access.policy import KEYS
from ukai.access.record import ALL, Fields
from ukai.app import info, loading, workspace
from ukai.catalog import Catalog, Loaded
from ukai.kit import document, handle, principal, shape
from ukai.kit.errors import PermanentError

Load = Callable[[handle.Handle], access.Record | None]
"""A record with its owners out of a running store, or None."""


class NoRecord(PermanentError):
    """A record was named and nothing can fetch it."""

    hint = "Hand it in with --record FILE.json: {type, key, path?, fields, readers?, owners?: [the same]}"


@dataclass(frozen=True, kw_only=True)
class Asked:
    """One question to `access/`."""

    principal: str
    agent: str
    record: str | None = None
    """`Type#key`, with `/field` for one field."""
    file: Path | None = None
    """JSON of the record that is meant."""
    audience: Sequence[str] = ()
    """Who else reads the answer."""
    channel: str = "cli"


@dataclass(frozen=True, kw_only=True)
class Answer:
    """The explanation with what was asked."""

    asked: Asked
    callers: tuple[access.Caller, ...]
    field_policies: tuple[str, ...]
    """Each with its version, or that it is missing."""
    explanation: explain.Explanation
    limits: tuple[budget.Limit, ...]

    @property
    def decision(self) -> access.Decision:
        """What was asked for: the record if one was named (invoking comes first), else invoking."""
        found = self.explanation
        return found.read if found.read is not None and found.invoke.allowed else found.invoke

    def as_json(self) -> dict[str, Any]:
        """The document of `--json`."""
        found, asked = self.explanation, self.asked
        return {
            "principal": asked.principal,
            "agent": asked.agent,
            "record": asked.record,
            "channel": asked.channel,
            "audience": [{"id": c.id, "known": c.is_known, "groups": sorted(c.groups)} for c in self.callers],
            "allowed": self.decision.allowed,
            "reason": self.decision.reason,
            "invoke": found.invoke.as_json(),
            "read": found.read.as_json() if found.read else None,
            "fields": _names(found.fields) if found.read else None,
            "tell": sorted(found.tell),
            "field_policies": list(self.field_policies),
            "policies": [c.as_json() for c in found.considered],
            "types": [{"type": r.type, "fields": _names(r.fields), "under": list(r.under)} for r in found.readable],
            "budget": [
                {"per": x.per, "unit": x.unit, "amount": float(x.amount), "where": x.place} for x in self.limits
            ],
        }


def answer(path: Path, asked: Asked, *, load: Load | None = None) -> Answer:
    """The decision and everything that led to it.

    Raises UnknownAgent, AgentRefused, NoWorkspace, and NoRecord when a record is named that neither a file nor `load`
    gives. Whether the one who asks may see explanations is decided before (`audit`).
    """
    return of(info.loaded(workspace.locate(path), asked.agent).catalog, asked, load=load)


def overall(path: Path, principal: str) -> dict[str, Any]:
    """What somebody may do at all: agents by surface, rights, and what they read and write by hand of each type.

    Raises NoWorkspace, BrokenConfiguration. It is for whoever may see explanations.
    """
    return overall_of(loading.whole(workspace.locate(path)), principal)


def overall_of(loaded: Loaded, principal: str) -> dict[str, Any]:
    """The same of files that are loaded."""
    from ukai.app.identity import DIRECT  # with the gate: the explanation of one agent does without

    catalog, folder = loaded.catalog, loaded.catalog.access
    who = folder.caller(principal)
    hand = folder.rights(who, DIRECT)
    unserved = (name for name in loaded.named if loaded.blocking(name))  # also those that could not even be read
    rights = [{"right": r, **_decided(folder.holds(who, r))} for r, keys in KEYS.items() if not keys]
    return {
        "principal": principal,
        "known": who.is_known,
        "groups": sorted(who.groups),
        "agents": [_on_surfaces(loaded, who, name) for name in sorted({*catalog.agents, *unserved})],
        "rights": rights,
        "types": [
            {
                "type": name,
                "reads": sorted(hand.readable(name, fields)),
                "writes": sorted(hand.writable(name, fields).fields),
                "of": len(fields),
            }
            for name, fields in sorted((folder.types or {}).items())
        ],
    }


def _on_surfaces(loaded: Loaded, who: access.Caller, name: str) -> dict[str, Any]:
    if blocking := loaded.blocking(name):
        return {"agent": name, "allowed": False, "channels": [], "reason": f"it is not served: {blocking[0]}"}
    agent = loaded.catalog.agents[name]
    said = {
        channel: loaded.catalog.access.rights(who, name, agent.field_policies, channel).invoke
        for channel in agent.channels
    }
    allowed = [channel for channel, decision in said.items() if decision.allowed]
    reasons = dict.fromkeys(d.reason for c, d in said.items() if c in allowed or not allowed)
    return {
        "agent": name,
        "allowed": bool(allowed),
        "channels": allowed,
        "reason": "; ".join(reasons) or "its `channels` name no surface",
    }


def _decided(decision: access.Decision) -> dict[str, Any]:
    return {"allowed": decision.allowed, "reason": decision.reason}


def of(catalog: Catalog, asked: Asked, *, load: Load | None = None) -> Answer:
    """The same of files that are loaded; the agent is one of them. Raises NoRecord."""
    agent, folder = catalog.agents[asked.agent], catalog.access
    field, record = _record(asked, load)
    audience = folder.audience([asked.principal, *asked.audience])
    rights = folder.rights(audience, asked.agent, agent.field_policies, asked.channel)
    listed = [str(p) for p in rights.allowlist.policies] + [f"{n} (missing)" for n in rights.allowlist.unknown]
    return Answer(
        asked=asked,
        callers=audience.callers,
        field_policies=tuple(listed),
        explanation=explain.of(rights, record, field),
        limits=folder.budget(audience.callers[0], asked.agent),
    )


def _record(asked: Asked, load: Load | None) -> tuple[str | None, access.Record | None]:
    named = handle.parse(asked.record) if asked.record else None
    if asked.record and named is None:
        raise NoRecord(f"{asked.record!r} names no record", hint="Write Type#key or Type#key/field")
    field = named.part[0] if named and named.part else None
    if asked.file is not None:
        record = record_of(_bytes(asked.file), name=asked.file.name)
        if named and record.handle != str(named.whole):
            raise NoRecord(f"the file holds {record.handle}, and {named.whole} was asked for")
        return field, record
    if named is None:
        return None, None
    record = load(named.whole) if load else None
    if record is None:
        raise NoRecord(f"there is no {named.whole} to look at" if load else "no store is open to read the record from")
    return field, record


@dataclass(frozen=True, kw_only=True)
class _File:
    __pydantic_config__ = shape.STRICT
    type: str
    key: str
    path: str | None = None
    fields: dict[str, Any]
    readers: tuple[str, ...] | None = None
    owners: tuple[_File, ...] = ()


def record_of(raw: bytes, *, name: str) -> access.Record:
    """A record from `{type, key, path?, fields, readers?, owners?}`. Raises NoRecord, which tells the first problem."""
    doc, findings = document.read(raw, name=name)
    parsed, more = shape.parse(doc, _File) if doc else (None, [])
    if parsed is None:
        raise NoRecord("; ".join(str(f) for f in (*findings, *more)))
    return _record_of(parsed)


def _record_of(row: _File) -> access.Record:
    readers = None if row.readers is None else frozenset(principal.canonical(r) or r for r in row.readers)
    owners = tuple(_record_of(o) for o in row.owners)
    return access.Record(type=row.type, key=row.key, path=row.path, fields=row.fields, readers=readers, owners=owners)


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise NoRecord(f"{str(path)!r} cannot be read ({error})") from error


def _names(fields: Fields) -> list[str]:
    return ["*"] if fields is ALL else sorted(fields)
