"""Who: `ann@example.com`, `group:x`, `service:x` or `public`, in one spelling.

Letter case does not count and the canonical spelling is lower case in Unicode's composed form (NFC). Nothing else is
folded: a Cyrillic `а` is another principal, and so is an address with a dot more. Whatever has no place in a
name (blanks, control and invisible characters, a sign that would become an ASCII letter) makes it no principal at all.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Literal

from ukai.kit.unicode import is_visible

Kind = Literal["person", "group", "service", "public"]

PUBLIC = "public"
"""Anybody: also whoever is not logged in."""
MAX_LENGTH = 320
"""64 + 1 + 255: RFC 5321 4.5.3.1."""

_ADDRESS = re.compile(r"[^@:]+@[^@:]+\Z")
_NAME = re.compile(r"[^@:/#*?]+\Z")


def canonical(text: str) -> str | None:
    """The one spelling of this principal, or None when `text` names none."""
    if not 0 < len(text) <= MAX_LENGTH or not is_visible(text):
        return None
    # KELVIN SIGN composes and lowers to an ASCII k: it would be taken for somebody else's letter.
    if any(not c.isascii() and (unicodedata.normalize("NFC", c).isascii() or c.lower().isascii()) for c in text):
        return None
    folded = unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).lower())
    return folded if kind_of(folded) else None


def kind_of(principal: str) -> Kind | None:
    """What a canonical spelling names."""
    if principal == PUBLIC:
        return "public"
    prefix, colon, name = principal.partition(":")
    if not colon:
        return "person" if _ADDRESS.match(principal) else None
    if prefix == "group" and _NAME.match(name):
        return "group"
    return "service" if prefix == "service" and _NAME.match(name) else None
