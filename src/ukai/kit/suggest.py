"""“Did you mean”: the one rule by which a misspelt name is matched to a known one.

Normalised equality is `exact`; else Damerau-Levenshtein distance <= 1 (names under 6 characters) or <= 2, with a
unique best, is `likely`; else nothing is suggested and the caller lists what is allowed.
Source: docs/design/suggestions.md (difflib's answer is wrong on `action`, which it takes for `generation`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from rapidfuzz.distance import DamerauLevenshtein

SHORT = 6
"""Names below this length may differ by one edit only."""


@dataclass(frozen=True, kw_only=True)
class Suggestion:
    """The known name that was probably meant."""

    name: str
    confidence: Literal["exact", "likely"]


def suggest(received: str, known: Iterable[str]) -> Suggestion | None:
    """The one known name that `received` most likely stands for, or None when none or several fit."""
    names = sorted(set(known))
    wanted = _normalised(received)
    equal = [n for n in names if _normalised(n) == wanted]
    if len(equal) == 1 and wanted:
        return Suggestion(name=equal[0], confidence="exact")
    limit = 1 if len(received) < SHORT else 2
    near = [(DamerauLevenshtein.distance(received.casefold(), n.casefold(), score_cutoff=limit), n) for n in names]
    best = min((d for d, _ in near), default=limit + 1)
    if best > limit:
        return None
    closest = [n for d, n in near if d == best]
    return Suggestion(name=closest[0], confidence="likely") if len(closest) == 1 else None


def hint_for(received: str, known: Iterable[str], *, limit: int = 20) -> str:
    """A sentence for `Finding.hint`: the suggestion, or the names to choose from (at most `limit`)."""
    names = sorted(set(known))
    found = suggest(received, names)
    if found:
        return f"did you mean {found.name!r}?"
    if not names:
        return "there is none to choose from"
    shown = ", ".join(names[:limit])
    return f"use one of: {shown}" + (f" … and {len(names) - limit} more" if len(names) > limit else "")


def _normalised(name: str) -> str:
    return "".join(c for c in name.casefold() if c.isalnum())
