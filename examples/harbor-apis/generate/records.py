"""The shape of a record, and what follows from it: its handle, how many passages are searched in it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Record = dict[str, Any]
"""{type, domain, fields, state?, edges: [{edge, to}], provenance: {asserted_by, at, source}}; values as JSON."""

DOMAINS: Mapping[str, str] = {
    "Teammate": "crm",
    "Account": "crm",
    "Terms": "crm",
    "Person": "crm",
    "Opportunity": "crm",
    "DealLesson": "crm",
    "Release": "product",
    "Incident": "product",
    "UsageMonth": "product",
    "Ticket": "support",
    "Call": "conversations",
    "Mail": "conversations",
    "Note": "conversations",
    "Page": "handbook",
}
"""Type -> the domain that declares it. Domains stand in the order in which they may refer to each other."""

KEYS: Mapping[str, tuple[str, ...]] = {
    "Teammate": ("email",),
    "Account": ("key",),
    "Terms": ("account",),
    "Person": ("key",),
    "Opportunity": ("key",),
    "DealLesson": ("id",),
    "Release": ("version",),
    "Incident": ("key",),
    "UsageMonth": ("account", "month"),
    "Ticket": ("number",),
    "Call": ("id",),
    "Mail": ("id",),
    "Note": ("id",),
    "Page": ("slug",),
}
"""Type -> the fields of its natural key, as in `domains/`."""

PARTS: Mapping[str, tuple[str, str]] = {"Call": ("turns", "turn"), "Ticket": ("comments", "comment")}
"""Type -> the field that holds its passages and their word in a handle (`Call#x/turn/3`, counted from 1)."""

SEARCHED: Mapping[str, tuple[str, ...]] = {
    "Account": ("name", "description"),
    "Terms": ("memo",),
    "Person": ("name", "title"),
    "Opportunity": ("summary", "next_step", "deciding_factor"),
    "DealLesson": ("summary", "deciding_factor"),
    "Release": ("notes",),
    "Incident": ("title", "summary"),
    "Ticket": ("subject", "body"),
    "Mail": ("subject", "body"),
    "Note": ("title", "body"),
    "Page": ("title", "body"),
}
"""Type -> its text fields, as in `domains/`; each is a passage of its own (`Mail#x/body`)."""

_ENCODE = re.compile(r"[%:/#\x00-\x20\x7f]")


def record(
    kind: str,
    fields: Mapping[str, Any],
    *,
    by: str,
    at: str,
    source: str,
    state: str | None = None,
    edges: Iterable[tuple[str, str]] = (),
) -> Record:
    """One record. Fields that are None or empty are left out."""
    made: Record = {
        "type": kind,
        "domain": DOMAINS[kind],
        "fields": {k: v for k, v in fields.items() if v is not None and v != ""},
    }
    if state is not None:
        made["state"] = state
    made["edges"] = [{"edge": e, "to": to} for e, to in edges]
    made["provenance"] = {"asserted_by": by, "at": at, "source": source}
    return made


def handle(made: Record, keys: Mapping[str, tuple[str, ...]] = KEYS) -> str:
    """`Type#key`, the key's values percent-encoded and joined by colons."""
    kind = made["type"]
    fields = made["fields"]
    return named(kind, *(fields[k] for k in keys[kind]))


def named(kind: str, *values: object) -> str:
    """The handle of a record of this type with these key values."""
    text = ":".join(str(v) for v in values)
    if len(values) == 1 and not _ENCODE.search(text):
        return f"{kind}#{text}"
    return f"{kind}#" + ":".join(_ENCODE.sub(lambda m: f"%{ord(m.group()):02X}", str(v)) for v in values)


def passages(made: Record) -> Sequence[tuple[str, str]]:
    """What is searched of a record: (handle, text), its text fields first and then its ordered parts."""
    kind, fields, name = made["type"], made["fields"], handle(made)
    found = [(f"{name}/{field}", fields[field]) for field in SEARCHED.get(kind, ()) if field in fields]
    if kind in PARTS:
        field, word = PARTS[kind]
        found += [(f"{name}/{word}/{i}", part["text"]) for i, part in enumerate(fields.get(field, ()), 1)]
    return found
