"""Numbers held exactly: JSON's numbers, floats and decimal text as one kind of value."""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction
from typing import Any

MAX_DIGITS = 1_000
"""Digits and size of the exponent of a number; more is refused at the door, before anything computes with it."""
_TEXT = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]{1,4})?\Z")


def is_number(value: Any) -> bool:
    """True of int, Decimal and float, false of bool."""
    return isinstance(value, int | Decimal | float) and not isinstance(value, bool)


def exact(value: Any) -> Decimal:
    """A number (see `is_number`) or decimal text as the Decimal that it writes. NaN and infinities never come in."""
    return Decimal(repr(value)) if isinstance(value, float) else Decimal(value)


def from_text(text: str) -> Decimal | None:
    """The decimal that `text` writes in JSON's grammar, or None."""
    if len(text) > MAX_DIGITS or not _TEXT.match(text):
        return None
    value = Decimal(text)
    return value if fits(value) else None


def fits(value: Decimal) -> bool:
    """Whether the number is of a size the gate computes with."""
    return value.is_finite() and abs(value.adjusted()) <= MAX_DIGITS


def is_whole(value: Decimal) -> bool:
    """Whether the number has no fractional part (1.0 and 1e3 have none)."""
    exponent = value.as_tuple().exponent
    return isinstance(exponent, int) and (exponent >= 0 or value == value.to_integral_value())


def places(value: Decimal) -> int:
    """Decimal places that the number needs: 1.50 needs one."""
    exponent = value.normalize().as_tuple().exponent if len(value.as_tuple().digits) <= 28 else _exponent(value)
    return max(0, -exponent) if isinstance(exponent, int) else 0


def plain(value: Decimal) -> int | str:
    """The canonical form that is stored: a whole number as int, any other as decimal text without trailing zeros."""
    if is_whole(value):
        return int(value)
    text = format(value, "f")
    return text.rstrip("0") if "." in text else text


def is_multiple(value: Decimal, of: Decimal) -> bool:
    """Exact, for any size: 1e308 is no multiple of 0.123456789."""
    return (Fraction(value) / Fraction(of)).denominator == 1


def _exponent(value: Decimal) -> int:
    # Decimal.normalize would round to the context's 28 digits.
    digits, exponent = list(value.as_tuple().digits), value.as_tuple().exponent
    if not isinstance(exponent, int):
        return 0
    while len(digits) > 1 and digits[-1] == 0:
        digits.pop()
        exponent += 1
    return exponent
