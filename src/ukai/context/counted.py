"""What is kept of a passage so that it can be scored without its words: numbers of terms, and how long it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ukai.context import score
from ukai.context.passages import Passage
from ukai.kit import bm25

TITLES = ("name", "title", "subject")
"""Fields by which a record is called."""
_APART = str.maketrans(dict.fromkeys("/-_:.@", " "))


@dataclass(frozen=True, kw_only=True)
class Counted:
    """Of one passage. Each of the three is `kit.bm25.packed`."""

    terms: bytes
    """Of its text."""
    place: bytes
    """Of its record's path and key, and of who speaks."""
    title: bytes
    """Of its record's title; who may not read the field `titled` may not have it counted either."""
    titled: str
    """The field that the title comes from, the first of `TITLES` that it has; empty where there is none."""
    size: int
    """Characters."""


def counted(passage: Passage, *, path: str, key: str, fields: Mapping[str, Any]) -> Counted:
    """`passage` of a record at `path` with these `fields`, counted."""
    titled = title_field(fields)
    return Counted(
        terms=bm25.packed(score.terms(passage.text)),
        place=bm25.packed([*place(path, key), *score.terms(passage.lead)]),
        title=bm25.packed(score.terms(str(fields[titled]))) if titled else b"",
        titled=titled,
        size=len(passage.text),
    )


def title_field(fields: Mapping[str, Any]) -> str:
    """The field by which a record is called; empty where it has none."""
    for field in TITLES:
        value = fields.get(field)
        if isinstance(value, str) and value.strip():
            return field
    return ""


def may_be_titled(titled: str, fields: frozenset[str], sure: frozenset[str]) -> bool:
    """Whether who reads `fields` may have a record counted as called by its field `titled`, "" for by none.

    They may read it, and know that it has none of those before it: a hidden one that comes or goes would tell of
    itself by what counts as a name. `sure` are fields that are read wherever they are.
    """
    before = TITLES[: TITLES.index(titled)] if titled else ()
    return not titled or (titled in fields and all(f in fields or f in sure for f in before))


def place(path: str, key: str) -> list[str]:
    """The terms of where a record stands and of what its key says."""
    return score.terms(f"{path} {key}".translate(_APART))
