"""What a document is made of: one thing of the graph or of an outside corpus, with what speaks for it.

Strategies find items, sections group them, the cut gives each a level, templates render them. A value without behaviour
that belongs to one of those.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from datetime import datetime
from typing import Any

from ukai.kit import light

NO_ORDER = -1


@light.value
class Item:
    """One thing that may stand in a document, as far as the reader may see it."""

    id: str
    """A handle (`Call#harbor-12`, `Call#harbor-12/turn/31`), or the id of an outside corpus. Given once."""
    path: str
    """Its place in the hierarchy, `integration/selection/object/element`."""
    kind: str
    """Content type: the node type; a passage's is `Type/part`, as in `Call/turn`."""
    title: str = ""
    """What it is called. Empty for a part that has no name of its own."""
    parent: str | None = None
    """The id of the item that it is an element or a part of (a column's table, a turn's call)."""
    text: str = ""
    lead: str = ""
    """Who says it, for a part that has a speaker."""
    fields: Mapping[str, Any] = field(default_factory=dict[str, Any])
    schema_hash: str = ""
    """8 hex digits over the schema of its content: together with `kind` the key of its template, and with `parent` of
    its family."""
    at: datetime | None = None
    """When its source last said so."""
    order: int = NO_ORDER
    """Its place among the parts of one thing (a turn of a call, a page of a text), where neighbours are read together;
    NO_ORDER for what stands by itself."""
    score: float = 0.0
    """How well it answers, over all items of the composition; larger is better."""
    why: tuple[str, ...] = ()
    """The strategies that found it, in the order in which they ran."""
    pinned: bool = False
    """Named by the scope's `static_ids`: it gets its identity before anything else gets more."""

    owned: bool = False
    """It is named by the question, or belongs to what is."""

    @property
    def is_named(self) -> bool:
        """The question calls it by its name."""
        return "entity" in self.why

    @property
    def number(self) -> tuple[str, int]:
        """What a part is called inside of its whole, as it stands in its handle: `Call#x/turn/14` is 14, a piece of
        that turn `14/` and 2; of another corpus its place among the parts."""
        _, found, called = self.id.rpartition(f"/{self.kind.rpartition('/')[2]}/")
        stem, slash, last = called.rpartition("/")
        return (stem + slash, int(last)) if found and last.isdecimal() else ("", self.order)

    @property
    def is_part(self) -> bool:
        """It has a place among its siblings and is read together with them."""
        return self.order != NO_ORDER
