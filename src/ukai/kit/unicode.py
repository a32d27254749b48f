"""What text must be before it can be stored, compared or shown as a name."""

from __future__ import annotations

import unicodedata


def is_storable(text: str) -> bool:
    """Whether PostgreSQL can hold it: no NUL, no half of a surrogate pair."""
    return "\0" not in text and not any("\ud800" <= c <= "\udfff" for c in text)


def is_visible(text: str) -> bool:
    """Whether every character shows: no control, format, unassigned or blank character."""
    return all(unicodedata.category(c)[0] not in "CZ" for c in text)


def storable(text: str) -> str:
    """`text` as a database can hold it: without NUL and without halves of surrogate pairs, each replaced by U+FFFD."""
    return text.replace("\0", "\ufffd").encode("utf-8", "surrogatepass").decode("utf-8", "replace")
