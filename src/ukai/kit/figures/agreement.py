"""Whether one figure supports another, by value. Sources and measurements: docs/design/figures.md, section 5."""

from __future__ import annotations

from decimal import Decimal

from ukai.kit.figures.value import EXACT, Calendar, Figure, TimeOfDay

SOFT_UP_TO = 12
"""Bare counts up to here are usually counted from the text rather than quoted from it."""
ABOUT = Decimal("0.05")
"""How far off a figure may be that says of itself that it is approximate."""


def is_soft(figure: Figure) -> bool:
    """A bare count from 0 to 12 (`two options`): reported apart, never gated on."""
    value = figure.value
    return (
        figure.kind == "number"
        and not figure.unit
        and isinstance(value, Decimal)
        and 0 <= value <= SOFT_UP_TO
        and value == value.to_integral_value()
    )


def is_hard(figure: Figure) -> bool:
    """Money, percentages, dates, months, clock times and numbers that are not soft. Quarters are neither."""
    return figure.kind != "quarter" and not is_soft(figure)


def agrees(claim: Figure, evidence: Figure) -> bool:
    """Whether `evidence` says what `claim` says, by value and not by context.

    Equal, equal at the precision that the claim states, or within 5 % of a claim that calls itself approximate.
    Different currencies never agree, nor money with a percentage. 42 % agrees with a bare 0.42. A date agrees with
    one that states at least its month and day; a missing year agrees with any. A quarter agrees with a month in it.
    """
    said, seen = claim.value, evidence.value
    if isinstance(said, Calendar) and isinstance(seen, Calendar):
        return _same_day(said, seen)
    if isinstance(said, TimeOfDay) and isinstance(seen, TimeOfDay):
        return said[:2] == seen[:2] and (said.second is None or seen.second is None or said.second == seen.second)
    if isinstance(said, Decimal) and isinstance(seen, Decimal):
        return _same_amount(claim, said, evidence, seen)
    if isinstance(said, Decimal) and isinstance(seen, Calendar):
        return claim.kind == "number" and said in {part for part in (seen.year, seen.day) if part is not None}
    if isinstance(said, Calendar) and isinstance(seen, Decimal):
        return evidence.kind == "number" and said.month is None and said.quarter is None and said.year == seen
    return False


def _same_day(claim: Calendar, seen: Calendar) -> bool:
    if claim.year is not None and seen.year is not None and claim.year != seen.year:
        return False
    if claim.quarter is not None:
        quarter = seen.quarter if seen.month is None else (seen.month + 2) // 3
        return claim.quarter == quarter
    if claim.month is None:
        return seen.year is not None
    return claim.month == seen.month and (claim.day is None or claim.day == seen.day)


def _same_amount(claim: Figure, said: Decimal, evidence: Figure, seen: Decimal) -> bool:
    if {claim.kind, evidence.kind} == {"money", "percent"}:
        return False
    if claim.kind == evidence.kind == "money" and claim.unit and evidence.unit and claim.unit != evidence.unit:
        return False
    said, seen = abs(said), abs(seen)
    if _close(claim, said, seen):
        return True
    if claim.kind == "percent" and evidence.kind == "number":
        return _close(claim, said, EXACT.multiply(seen, Decimal(100)))
    if claim.kind == "number" and evidence.kind == "percent":
        return _close(claim, said, EXACT.divide(seen, Decimal(100)))
    return False


def _close(claim: Figure, said: Decimal, seen: Decimal) -> bool:
    gap = EXACT.subtract(said, seen).copy_abs()
    return gap * 2 <= claim.ulp or (claim.approx and gap <= ABOUT * seen)
