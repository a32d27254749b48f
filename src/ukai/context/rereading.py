"""A report once more, as far as its reader may see today what it speaks of: rights may have been taken since (P3.3).

It can lose lines and never win any. What is not there any more and what may not be seen any more are one: absent. So
are the parts of a field: a record may be seen of which they are hidden.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from ukai import store
from ukai.context import passages, reading, rows
from ukai.context.clause import CompiledScope
from ukai.kit import handle

_NAMED = re.compile(r"[A-Za-z_][A-Za-z0-9_]*#[^\s,;:()]+")
"""A handle inside a sentence; its end may be cut short, which hides too much and never too little."""


async def reread(
    tx: store.Transaction, report: Mapping[str, Any], *, library: reading.Library, reader: CompiledScope
) -> dict[str, Any]:
    """`report` (as JSON) without records and parts that `reader` may not see now, with what the others are called."""
    names = {*(row["section"] for part in ("ranking", "dropped") for row in report[part])}
    names |= {name for row in report["ranking"] for name in row["items"]} | {*report["found"], *report["shown"]}
    names |= {name for text in _texts(report) for name in _NAMED.findall(text)}
    parsed = {name: found for name in names if (found := handle.parse(name)) is not None}
    shown = await _shown(tx, parsed.values(), library, reader)
    titles = {name: s.title for name, s in shown.items()}

    def is_seen(name: str) -> bool:
        found = shown.get(str(parsed[name].whole)) if name in parsed else None
        if found is None or not parsed[name].part:
            return found is not None
        kind = library.types.get(found.record.type)
        fields = passages.sources(kind, parsed[name].part[0]) if kind else None
        return bool(fields) and fields <= found.record.fields.keys()

    def told(text: str) -> str:
        return text if all(map(is_seen, _NAMED.findall(text))) else ""

    ranking = [
        {
            **{key: value for key, value in row.items() if key != "best" or is_seen(value)},
            "title": titles.get(row["section"], ""),
            "reason": told(row["reason"]),
            "items": [name for name in row["items"] if is_seen(name)],
        }
        for row in report["ranking"]
        if is_seen(row["section"])
    ]
    return {
        **report,
        "ranking": ranking,
        "dropped": [{**row, "reason": told(row["reason"])} for row in report["dropped"] if is_seen(row["section"])],
        "events": [event for event in report["events"] if told(event) == event],
        "found": {name: why for name, why in report["found"].items() if is_seen(name)},
        "shown": {name: body for name, body in report["shown"].items() if is_seen(name)},
    }


async def titled(
    tx: store.Transaction, report: Mapping[str, Any], *, library: reading.Library, reader: CompiledScope
) -> dict[str, Any]:
    """The report of what was made just now for `reader`: nothing in it is to be decided again, and what its sections
    are called is all that it lacks."""
    parsed = (handle.parse(row["section"]) for row in report["ranking"])
    wholes = [name for name in parsed if name is not None and not name.part]
    titles = {name: s.title for name, s in (await _shown(tx, wholes, library, reader)).items()}
    return {**report, "ranking": [{**row, "title": titles.get(row["section"], "")} for row in report["ranking"]]}


async def _shown(
    tx: store.Transaction, names: Iterable[handle.Handle], library: reading.Library, reader: CompiledScope
) -> dict[str, reading.Shown]:
    nodes = await rows.by_handle(tx, sorted({h.whole for h in names}))
    shown = await reading.shown_of(tx, library, reader, list(nodes.values()))
    return {s.record.handle: s for s in shown.values()}


def _texts(report: Mapping[str, Any]) -> Iterable[str]:
    yield from report["events"]
    for part in ("ranking", "dropped"):
        yield from (row["reason"] for row in report[part])
