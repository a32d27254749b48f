"""A report once more, as far as its reader may see today what it speaks of: rights may have been taken since (P3.3).

It can lose lines and never win any. What is not there any more and what may not be seen any more are one: absent.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from ukai import store
from ukai.context import reading, rows
from ukai.context.clause import CompiledScope
from ukai.kit import handle

_NAMED = re.compile(r"[A-Za-z_][A-Za-z0-9_]*#[^\s,;:()]+")
"""A handle inside a sentence; its end may be cut short, which hides too much and never too little."""


async def reread(
    tx: store.Transaction, report: Mapping[str, Any], *, library: reading.Library, reader: CompiledScope
) -> dict[str, Any]:
    """`report` (as JSON) without the records that `reader` may not see now, and with what the others are called."""
    names = {*(row["section"] for part in ("ranking", "dropped") for row in report[part])}
    names |= {name for row in report["ranking"] for name in row["items"]} | {*report["found"], *report["shown"]}
    names |= {name for text in _texts(report) for name in _NAMED.findall(text)}
    parsed = {name: found.whole for name in names if (found := handle.parse(name)) is not None}
    nodes = await rows.by_handle(tx, sorted(set(parsed.values())))
    shown = await reading.shown_of(tx, library, reader, list(nodes.values()))
    titles = {s.record.handle: s.title for s in shown.values()}

    def is_seen(name: str) -> bool:
        return name in parsed and str(parsed[name]) in titles

    def told(text: str) -> str:
        return text if all(map(is_seen, _NAMED.findall(text))) else ""

    ranking = [
        {
            **row,
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


def _texts(report: Mapping[str, Any]) -> Iterable[str]:
    yield from report["events"]
    for part in ("ranking", "dropped"):
        yield from (row["reason"] for row in report[part])
