"""Values too large for any document: their beginning stays, the rest is fetched by a reference (context req. 33)."""

from __future__ import annotations

from ukai.context import structure

ABOVE = 20_000
"""Characters: about the 5,000 tokens above which a section is exploded."""
BEGINNING = 400
TEXT = "text"
"""What is put aside is the text of a thing, or the value of a field by its key."""
_NO_KEY = "."


def is_oversized(text: str) -> bool:
    """Whether `text` is put aside."""
    return len(text) > ABOVE


def value_of(field: str) -> str:
    """As what the value of a field is put aside: one that is called `text` is not the thing's text."""
    return _NO_KEY + field if field == TEXT else field


def field_of(value: str) -> str:
    """The field that `value_of` was asked for."""
    return value.removeprefix(_NO_KEY)


def placeholder(text: str, ref: str) -> str:
    """What stands in the document instead of `text`."""
    return f"{structure.quoted(text[:BEGINNING].rstrip())} {structure.aside(len(text), ref)}"
