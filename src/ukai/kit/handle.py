"""Names of records as people and models see them: `Type#key`, with an optional part, `Call#harbor-12/turn/31`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import quote, unquote

from ukai.kit import unicode

_ENCODE = re.compile(r"[%:/#\x00-\x20\x7f]")
_TYPE = "[A-Za-z_][A-Za-z0-9_]*"
_PART = r"[^\s/#\x00\ud800-\udfff]+"
_WHOLE = re.compile(rf"({_TYPE})#({_PART})((?:/{_PART})*)\Z")
_LISTS = re.compile(r"[\[\]{},]")
_SHOWN = re.compile(rf"{_LISTS.pattern}|\s|{unicode.UNSEEN.pattern}")
PIECES = 32
"""Between slashes, of a key that nobody encoded."""
IN_BRACKETS = re.compile(rf"\[{_TYPE}#[^\s\[\]]+\]")
"""A handle as documents and answers have it, where `shown` wrote it."""


@dataclass(frozen=True, kw_only=True, order=True)
class Handle:
    """One record, or one part of it. `str()` gives the written form; `parse` reads it back."""

    type: str
    key: str
    """The natural key as it is written and stored: values percent-encoded one by one and joined by `:`."""
    part: tuple[str, ...] = ()
    """What inside the record is meant: `("turn", "31")`, or a field."""

    def __str__(self) -> str:
        return "/".join((f"{self.type}#{self.key}", *map(encoded, self.part)))

    @property
    def values(self) -> tuple[str, ...]:
        """The key's values as text, decoded, in the order in which the type declares its key."""
        return tuple(unquote(p) for p in self.key.split(":"))

    @property
    def whole(self) -> Handle:
        """The record without the part."""
        return Handle(type=self.type, key=self.key) if self.part else self


def parse(text: str) -> Handle | None:
    """The handle that `text` writes, or None when it writes none (`Type#key`, `Type#key/part/..`).

    A key in which more is percent-encoded than has to be (`shown`) is the key as it is stored.
    """
    found = _WHOLE.match(text)
    if found is None:
        return None
    key = found[2]
    if "%" in key:
        key = key_of(map(unquote, key.split(":")))
    return Handle(type=found[1], key=key, part=tuple(map(unquote, found[3].split("/")[1:])))


def unencoded(text: str, fields: int) -> list[Handle]:
    """The handles that `text` may stand for where nothing in it was encoded: any `/` may belong to the key, which has
    so many fields. The longest key first.
    """
    type, _, rest = text.partition("#")
    pieces = rest.split("/")
    found: list[Handle] = []
    for end in range(min(len(pieces), PIECES), 0, -1):
        values = "/".join(pieces[:end]).split(":", max(fields, 1) - 1)
        found.append(Handle(type=type, key=key_of(map(unquote, values)), part=tuple(map(unquote, pieces[end:]))))
    return found


def key_of(values: Iterable[object]) -> str:
    """The written key of a record whose key fields hold `values` (texts or whole numbers), in their declared order."""
    return ":".join(encoded(str(v)) for v in values)


def encoded(value: str) -> str:
    """`value` with the characters that separate parts of a handle (and white space) percent-encoded as UTF-8."""
    return _ENCODE.sub(lambda m: f"%{ord(m.group()):02X}", value)


def shown(written: str) -> str:
    """A written handle as it can stand between brackets in a text: on one line, in one direction, and no list of
    handles. `parse` reads it.
    """
    if written.isascii() and not _LISTS.search(written):
        return written
    return _SHOWN.sub(lambda m: quote(m.group(), safe=""), written)
