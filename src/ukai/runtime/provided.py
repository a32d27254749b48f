"""The reading tools that every agent has: search, read, list, related, always under the caller's rights (P3.1).

Results are `{"items": [...]}`; an item has a handle, which is how answers cite it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ukai import store
from ukai.context import reading
from ukai.context.reader import Reader
from ukai.kit import handle, suggest
from ukai.kit.errors import ToolRetry
from ukai.runtime.tools import Bound, ToolSpec


@dataclass(frozen=True, kw_only=True)
class Shelf:
    """What the reading tools read from."""

    db: store.Database
    library: reading.Library
    reader: Reader


def reading_tools(shelf: Shelf, specs: Mapping[str, ToolSpec]) -> dict[str, Bound]:
    """The tools of this module among `specs`, bound to one caller's shelf."""
    calls = _Calls(shelf)
    handlers = {
        "search_records": calls.search,
        "read_record": calls.read,
        "list_records": calls.listed,
        "related_records": calls.related,
    }
    return {name: Bound(spec=specs[name], call=call) for name, call in handlers.items() if name in specs}


@dataclass(frozen=True)
class _Calls:
    shelf: Shelf

    async def search(self, *, query: str, type: str | None = None, limit: int = 14) -> dict[str, Any]:
        self._known_type(type)
        async with self.shelf.db.snapshot() as tx:
            items = await reading.search(tx, self.shelf.library, self.shelf.reader, query=query, type=type, limit=limit)
        return _items(items)

    async def read(self, *, handle: str) -> dict[str, Any]:
        async with self.shelf.db.snapshot() as tx:
            item = await reading.read(tx, self.shelf.library, self.shelf.reader, name=_handle(handle))
        return _items([item] if item else [])

    async def listed(
        self, *, type: str, where: Mapping[str, Any] | None = None, limit: int = 20, after: str = ""
    ) -> dict[str, Any]:
        self._known_type(type)
        async with self.shelf.db.snapshot() as tx:
            items = await reading.listed(
                tx, self.shelf.library, self.shelf.reader, type=type, where=where, limit=limit, after=after
            )
        return _items(items)

    async def related(self, *, handle: str, edge: str | None = None, limit: int = 20) -> dict[str, Any]:
        edges = sorted(e.edge for e in self.shelf.reader.edges)
        if edge is not None and edge not in edges:
            raise ToolRetry(f"no edge is named {edge!r}: {suggest.hint_for(edge, edges)}")
        async with self.shelf.db.snapshot() as tx:
            items = await reading.related(
                tx,
                self.shelf.library,
                self.shelf.reader,
                name=_handle(handle),
                edges=None if edge is None else [edge],
                limit=limit,
            )
        return _items(items)

    def _known_type(self, type: str | None) -> None:
        listed = self.shelf.reader.rights.reading.listed
        known = sorted(t for t in self.shelf.library.types if listed(t))
        if type is not None and type not in known:
            raise ToolRetry(f"no type is named {type!r} here: {suggest.hint_for(type, known)}")


def _handle(text: str) -> handle.Handle:
    parsed = handle.parse(text)
    if parsed is None:
        raise ToolRetry(f"{text!r} is no handle: write Type#key, as results show it")
    return parsed


def _items(items: list[reading.Item]) -> dict[str, Any]:
    return {"items": [i.as_json() for i in items]}
