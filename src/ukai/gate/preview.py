"""What a dry run says would change, as far as whoever asks may read it: a field that may be written and not read keeps
its old value to itself, and what follows in hidden records stays hidden.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ukai import store
from ukai.access import record
from ukai.gate import history, rows
from ukai.gate.rights import Rights
from ukai.kit import handle

_EDGE = re.compile(r"(?P<source>.+) -\w[^ ]*-> (?P<target>.+)", re.DOTALL)
Change = Mapping[str, Any]


async def seen(tx: store.Transaction, changes: Sequence[Change], *, rights: Rights) -> list[dict[str, Any]]:
    """`would_change` without what may not be read. New records are shown whole: they are the writer's own."""
    named = sorted({h for c in changes for h in _nodes(c)})
    ids = await rows.ids_of(tx, [p for n in named if (p := handle.parse(n))])
    known = await history.records(tx, set(ids.values()))
    records = {name: known[id] for name, id in ids.items() if id in known}
    found = (_seen(c, records, rights) for c in changes)
    return [c for c in found if c is not None]


def _nodes(change: Change) -> Iterator[str]:
    ends = _EDGE.fullmatch(change["handle"]) if change["kind"] == "edge" else None
    yield from ends.groups() if ends else (change["handle"],)


def _seen(change: Change, records: Mapping[str, record.Record], rights: Rights) -> dict[str, Any] | None:
    about = [records[n] for n in _nodes(change) if n in records]
    if not all(rights.read(r).allowed for r in about):
        return None
    if change["kind"] == "edge" or not about or (change["op"] == "create" and not change["before"]):
        return dict(change)
    fields = [f for f in change["fields"] if f.startswith("@") or rights.read(about[0], f).allowed]
    parts = {
        part: change[part] and {f: v for f, v in change[part].items() if f in fields} for part in ("before", "after")
    }
    return {**change, "fields": fields, **parts}
