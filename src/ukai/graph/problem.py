"""What is wrong with one value: a fact without a place in any document, which the gate turns into a rejection."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal


class Nothing:
    """The mark for "there is no value": None is a value."""


NOTHING: Final = Nothing()


@dataclass(frozen=True, kw_only=True)
class Problem:
    """One way in which a value differs from what its field holds."""

    code: str
    message: str
    """A predicate about the value: `is not a whole number`."""
    expected: str
    at: str = ""
    """JSON pointer inside the value."""
    received: Any = None
    expected_value: Any = None
    """Machine-readable form of `expected`."""
    fix: Any = NOTHING
    """The value to put in its place, where that is plain."""
    rename: str = ""
    """Of a member of an object: the name that was probably meant."""
    confidence: Literal["exact", "likely"] = "exact"
    hint: str = ""
