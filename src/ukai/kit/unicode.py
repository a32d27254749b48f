"""What text must be before it can be stored, compared or shown as a name."""

from __future__ import annotations

import re
import unicodedata

_DROPPED = bytes([*range(0x09), *range(0x0E, 0x1C), 0x7F])
UNSEEN = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
"""Controls that are no space, and what Unicode lets a reader ignore: direction marks, joiners, fillers, tags."""
_JOINING = "\u200c\u200d\ufe0e\ufe0f"
"""Of these, what words of some languages and emoji are written with."""
_HIDING = re.compile(f"(?![{_JOINING}]){UNSEEN.pattern}")


def has_unseen(text: str) -> bool:
    """Whether it holds characters that take no room and show nothing."""
    if text.isascii():  # ten times as fast as the expression
        said = text.encode()
        return len(said.translate(None, _DROPPED)) != len(said)
    return UNSEEN.search(text) is not None


def shown(text: str) -> str:
    """A name without what it could hide behind or turn round; with what joins its letters."""
    return _HIDING.sub("", text) if has_unseen(text) else text


def is_storable(text: str) -> bool:
    """Whether PostgreSQL can hold it: no NUL, no half of a surrogate pair."""
    return "\0" not in text and not any("\ud800" <= c <= "\udfff" for c in text)


def is_visible(text: str) -> bool:
    """Whether every character shows: no control, format, unassigned or blank character."""
    return all(unicodedata.category(c)[0] not in "CZ" for c in text)


def storable(text: str) -> str:
    """`text` as a database can hold it: without NUL and without halves of surrogate pairs, each replaced by U+FFFD."""
    return text.replace("\0", "\ufffd").encode("utf-8", "surrogatepass").decode("utf-8", "replace")
