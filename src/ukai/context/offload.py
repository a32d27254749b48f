"""Values too large for any document: their beginning stays, the rest is fetched by a reference (context req. 33)."""

from __future__ import annotations

from ukai.context import structure

ABOVE = 20_000
"""Characters: about the 5,000 tokens above which a section is exploded."""
BEGINNING = 400


def is_oversized(text: str) -> bool:
    """Whether `text` is put aside."""
    return len(text) > ABOVE


def placeholder(text: str, ref: str) -> str:
    """What stands in the document instead of `text`."""
    return f"{structure.quoted(text[:BEGINNING].rstrip())} {structure.aside(len(text), ref)}"
