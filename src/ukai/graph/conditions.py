"""What a type's rules may speak of: `new` and `old` with the type's fields (and its state), and `author`."""

from __future__ import annotations

from ukai.graph import cel
from ukai.graph.schema import Field, Type

STATE = Field(key="state")


def environment_of(type: Type) -> cel.Environment:
    """The typed environment of the rules of `type`. `old` is null on create."""
    record = record_of(type)
    return cel.Environment({"new": record, "old": record, "author": "string"})


def record_of(type: Type) -> cel.Record:
    """The fields of `type` as the parts of a variable; a type with states has `state` among them."""
    parts: dict[str, Field | cel.Record] = dict(type.by_key)
    if type.states is not None:
        parts["state"] = STATE
    return cel.Record(name=type.type, parts=parts)
