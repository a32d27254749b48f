"""The tools that Ukai brings to every agent, as a table handed to the catalog by value."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from ukai.runtime.tools import ToolSpec


def _spec(
    name: str, description: str, required: Mapping[str, str], optional: Mapping[str, str], **more: Any
) -> ToolSpec:
    properties = {key: {"type": kind} for key, kind in {**required, **optional}.items()}
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return ToolSpec(name=name, description=description, input_schema=schema, **more)


_ALL = (
    _spec(
        "search_records",
        "Find records by words and meaning, inside the scope and the caller's rights.",
        {"query": "string"},
        {"type": "string", "limit": "integer"},
        reads=True,
        empty_when="items == []",
    ),
    _spec(
        "read_record",
        "Read one record by its handle, such as Account#harbor, with the fields the caller may see.",
        {"handle": "string"},
        {},
        reads=True,
        empty_when="items == []",
        target_args=("handle",),
    ),
    _spec(
        "list_records",
        "List records of one type, filtered by field values; `after` is the key where the list before ended.",
        {"type": "string"},
        {"where": "object", "limit": "integer", "after": "string"},
        reads=True,
        empty_when="items == []",
    ),
    _spec(
        "related_records",
        "List what one record is connected with, along one kind of edge or all of them.",
        {"handle": "string"},
        {"edge": "string", "limit": "integer"},
        reads=True,
        empty_when="items == []",
        target_args=("handle",),
    ),
    _spec(
        "propose_delta",
        "Propose a change set to the gate; it lands whole, or comes back with everything that is wrong with it.",
        {"delta": "object"},
        {"dry_run": "boolean"},
    ),
    _spec(
        "describe_type",
        "What fields, states and edges a type of record has.",
        {"type": "string"},
        {},
        reads=True,
        target_args=("type",),
    ),
    _spec(
        "compose_context",
        "Compose a document about a question from the records in scope, ranked and cut to a budget.",
        {"question": "string"},
        {"budget_tokens": "integer"},
        reads=True,
    ),
    _spec(
        "fetch_offloaded",
        "Fetch a long value that a composed document only names by a ref; `after` is the `next` of the page before.",
        {"ref": "string"},
        {"after": "integer"},
        reads=True,
        empty_when="items == []",
    ),
)

PROVIDED: Mapping[str, ToolSpec] = MappingProxyType({spec.name: spec for spec in _ALL})
"""Name -> declaration."""
