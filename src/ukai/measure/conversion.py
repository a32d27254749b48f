"""Figures that evidence says in another unit: `58 degrees Fahrenheit` says 14 degrees Celsius."""

from __future__ import annotations

import re
from collections.abc import Iterable
from decimal import Decimal
from functools import lru_cache

from ukai.kit.figures import Figure
from ukai.measure.reading import Seen

_UNITS: tuple[tuple[str, str, Decimal, Decimal], ...] = (
    # pattern, family, times, plus: a value in the family's own unit is value * times + plus
    (r"°[ ]?C\b|degrees?[ ](?:C\b|Celsius|centigrade)|Celsius\b", "temperature", Decimal(1), Decimal(0)),
    (r"°[ ]?F\b|degrees?[ ](?:F\b|Fahrenheit)|Fahrenheit\b", "temperature", Decimal(5) / 9, Decimal(-160) / 9),
    (r"miles?\b|mi\b", "length", Decimal("1609.344"), Decimal(0)),
    (r"kilomet(?:er|re)s?\b|km\b", "length", Decimal(1000), Decimal(0)),
    (r"feet\b|foot\b|ft\b", "length", Decimal("0.3048"), Decimal(0)),
    (r"inch(?:es)?\b|in\.", "length", Decimal("0.0254"), Decimal(0)),
    (r"yards?\b", "length", Decimal("0.9144"), Decimal(0)),
    (r"centimet(?:er|re)s?\b|cm\b", "length", Decimal("0.01"), Decimal(0)),
    (r"millimet(?:er|re)s?\b|mm\b", "length", Decimal("0.001"), Decimal(0)),
    (r"met(?:er|re)s?\b|m\b", "length", Decimal(1), Decimal(0)),
    (r"pounds?\b|lbs?\b", "weight", Decimal("0.45359237"), Decimal(0)),
    (r"ounces?\b|oz\b", "weight", Decimal("0.028349523125"), Decimal(0)),
    (r"kilograms?\b|kilos?\b|kg\b", "weight", Decimal(1), Decimal(0)),
    (r"grams?\b|g\b", "weight", Decimal("0.001"), Decimal(0)),
    (r"gallons?\b", "volume", Decimal("3.785411784"), Decimal(0)),
    (r"quarts?\b", "volume", Decimal("0.946352946"), Decimal(0)),
    (r"lit(?:er|re)s?\b|l\b", "volume", Decimal(1), Decimal(0)),
    (r"minutes?\b|mins?\b", "time", Decimal(1), Decimal(0)),
    (r"hours?\b|hrs?\b", "time", Decimal(60), Decimal(0)),
    (r"days?\b", "time", Decimal(1440), Decimal(0)),
    (r"weeks?\b", "time", Decimal(10080), Decimal(0)),
)


@lru_cache(maxsize=1)
def _patterns() -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(rf"[ -]?(?:{pattern})", re.I if len(pattern) > 12 else 0) for pattern, *_ in _UNITS)


def saying(claim: Figure, text: str, seen: Iterable[Seen]) -> Seen | None:
    """The evidence figure that says `claim` in another unit of the same family, rounded as the claim is."""
    unit = _unit(text, claim)
    if unit is None or not isinstance(claim.value, Decimal):
        return None
    _, family, times, plus = _UNITS[unit]
    for one in seen:
        value = one.figure.value
        if not isinstance(value, Decimal):
            continue
        other = _unit(one.source.text, one.figure)
        if other is None or other == unit or _UNITS[other][1] != family:
            continue
        inside = value * _UNITS[other][2] + _UNITS[other][3]
        if abs((inside - plus) / times - claim.value) * 2 <= claim.ulp:
            return one
    return None


def _unit(text: str, figure: Figure) -> int | None:
    if figure.kind != "number":
        return None
    return next((i for i, pattern in enumerate(_patterns()) if pattern.match(text, figure.end)), None)
