"""What a refusal may disclose: fields that `access/` lists under `tell`, and nothing else (P3.5)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from ukai import store
from ukai.access import Record
from ukai.context import names, rows
from ukai.context.reader import Reader
from ukai.graph import schema
from ukai.kit import words


@dataclass(frozen=True, kw_only=True)
class Told:
    """A record that may not be read, and what may be said of it."""

    said: str
    """The words of the question that name it."""
    type: str
    fields: Mapping[str, Any]


async def told(tx: store.Transaction, question: str, *, reader: Reader, types: Mapping[str, schema.Type]) -> list[Told]:
    """Of the records that `question` names and the reader may not read: what is listed to be told.

    The first word of a name is enough where one record alone is so called, among those that the reader may know of;
    nothing but the words of the question is said of the name. A record of which nothing is listed is not mentioned and
    moves nothing: absent and hidden look the same. So the store gives what may be told and what is known, and nothing
    else that is so called takes a place among these.
    """
    if not reader.rights.tells:
        return []
    spans = names.spans(question)
    openings = names.openings(question)
    tellable = reader.rights.sql_tell("n", reader.owning)
    found = await rows.called(tx, tellable, folded=spans, first=list(openings), limit=names.MOST_CALLED)
    nodes = [n for _, n in found]
    seen = await reader.seen(tx, nodes)
    records = await rows.records(tx, [n for n in nodes if n.id not in seen], reader.owning)
    listed = {id: fields for id, record in records.items() if (fields := _listed(record, reader))}
    said = {n.id: _said(name, question) for name, n in found if names.is_said(name, spans)}
    if listed:
        known = await names.known_as(tx, reader, types, folded=(), first=list(openings))
        alike = [(name, n) for name, n in found if n.id in listed] + known
        for opening, id in _alone(alike, reader):
            if opening in openings:
                said.setdefault(id, openings[opening])
    result = [Told(said=said[id], type=records[id].type, fields=f) for id, f in listed.items() if id in said]
    return sorted(result, key=lambda t: (t.said, t.type))


def _alone(called: Sequence[tuple[str, rows.Node]], reader: Reader) -> Iterator[tuple[str, UUID]]:
    """First words that one owner alone is called by, and its id."""
    by_opening: dict[str, list[rows.Node]] = {}
    for name, n in called:
        if n.type in reader.owner_types:
            by_opening.setdefault(words.words(name)[0], []).append(n)
    yield from ((opening, nodes[0].id) for opening, nodes in by_opening.items() if len(nodes) == 1)


def _listed(record: Record, reader: Reader) -> dict[str, Any]:
    return {f: record.fields[f] for f in sorted(reader.rights.tell(record)) if f in record.fields}


def _said(name: str, question: str) -> str:
    """The words of `question` that are `name`: how a hidden record writes itself is not told."""
    folded = words.words(name)
    match = re.search(r"(?<!\w)" + r"\W+".join(map(re.escape, folded)) + r"(?!\w)", question, re.IGNORECASE)
    return " ".join(match.group().split()) if match else " ".join(folded)
