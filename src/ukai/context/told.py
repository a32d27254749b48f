"""What a refusal may disclose: fields that `access/` lists under `tell`, and nothing else (P3.5)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ukai import store
from ukai.context import names, rows
from ukai.context.reader import Reader


@dataclass(frozen=True, kw_only=True)
class Told:
    """A record that may not be read, and what may be said of it."""

    said: str
    """The words of the question that name it."""
    type: str
    fields: Mapping[str, Any]


async def told(tx: store.Transaction, question: str, *, reader: Reader) -> list[Told]:
    """Of the records that `question` names by their whole name and the reader may not read: what is listed to be told.

    A record of which nothing is listed is not mentioned, so that its absence and its being hidden look the same.
    """
    spans = names.spans(question)
    found = await rows.called(tx, ("true", []), folded=spans, first=[], limit=names.MOST_CALLED)
    nodes = [n for name, n in found if names.is_said(name, spans)]
    open_ids = set(await reader.seen(tx, nodes))
    records = await rows.records(tx, [n for n in nodes if n.id not in open_ids], reader.owning)
    called = {n.id: name for name, n in found}
    result: list[Told] = []
    for id, record in records.items():
        fields = {f: record.fields[f] for f in sorted(reader.rights.tell(record)) if f in record.fields}
        if fields:
            result.append(Told(said=called[id], type=record.type, fields=fields))
    return sorted(result, key=lambda t: (t.said, t.type))
