"""Canaries: strings that say who must not see what carries them.

With a canary, every restricted record carries a token in its texts, its names and (through its key) its path, and every
restricted figure is one that occurs nowhere else. A test composes, answers or lists as somebody and looks for the
tokens of `hidden_from(somebody)`.
"""

from __future__ import annotations

import re
from typing import Any

from .records import Record

BOOKS = ("book-ann", "book-ben")
FIGURES = {"arr": "4242424.24", "amount": "4242424.24", "discount_floor": "77.31", "pay": "8675309.11"}
"""Restricted numbers in canary mode."""
LABELS = (*BOOKS, "terms", "desk", "security", "management", "internal")
"""Label -> who may see: a book its seller and the managers; terms and management the managers; desk also the deal desk;
security also security; internal all employees.
"""

_NOBODY = frozenset(LABELS)
_SELLER = frozenset({"terms", "desk", "security", "management"})
_HIDDEN = {
    "ann@harbor-apis.example": _SELLER | {"book-ben"},
    "ben@harbor-apis.example": _SELLER | {"book-ann"},
    "mira@harbor-apis.example": frozenset[str](),
    "sol@harbor-apis.example": frozenset({"terms", "desk", "security", "management"}),
    "tess@harbor-apis.example": frozenset({"terms", "desk", "security", "management"}),
    "cody@brightside.example": _NOBODY,
    "public": _NOBODY,
}
_FIGURES_HIDDEN = {
    "ann@harbor-apis.example": ("discount_floor", "pay"),
    "ben@harbor-apis.example": ("discount_floor", "pay"),
    "mira@harbor-apis.example": ("pay",),
    "sol@harbor-apis.example": ("arr", "amount", "discount_floor", "pay"),
    "tess@harbor-apis.example": ("arr", "amount", "discount_floor", "pay"),
    "cody@brightside.example": ("arr", "amount", "discount_floor", "pay"),
    "public": ("arr", "amount", "discount_floor", "pay"),
}
_TEXTS = ("name", "title", "subject", "body", "summary", "next_step", "deciding_factor", "description", "memo")


def token(canary: str, label: str) -> str:
    """The string that everything under `label` carries."""
    if not re.fullmatch(r"[a-z0-9]{2,20}", canary):
        raise ValueError(f"a canary is 2 to 20 lower-case letters and digits, not {canary!r}")
    return canary + label.replace("-", "").replace("@", "").replace(".", "")


def tokens(canary: str) -> dict[str, str]:
    """Label -> token."""
    return {label: token(canary, label) for label in LABELS}


def hidden_from(principal: str, canary: str) -> frozenset[str]:
    """The strings that must never reach this principal of the cast (whoever is unknown sees nothing), figures
    included.
    """
    words = {token(canary, label) for label in _HIDDEN.get(principal, _NOBODY)}
    return frozenset(words | {FIGURES[f] for f in _FIGURES_HIDDEN.get(principal, tuple(FIGURES))})


def marked(made: Record, word: str) -> Record:
    """`made` with `word` in every text of it."""
    fields: dict[str, Any] = made["fields"]
    for key in _TEXTS:
        if key in fields and word not in fields[key]:
            fields[key] = f"{fields[key]} {word}"
    for key in ("turns", "comments"):
        for part in fields.get(key, ()):
            part["text"] = f"{part['text']} {word}"
    return made
