"""What an unsupported figure may have been calculated from: a hint for the reader, never an excuse.

Letting sums, differences and ratios pass costs a fifth of the recall for planted errors (docs/design/measure.md).
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from ukai.kit.figures import Figure
from ukai.measure.reading import Seen

MOST = 60
"""Figures of one item that are combined; a longer item is passed over."""


def of(claim: Figure, seen: tuple[Seen, ...]) -> str:
    """`120 - 90 (Deal#a)` for the first pair of figures of one item that comes to `claim`, else nothing."""
    value = claim.value
    if not isinstance(value, Decimal) or claim.kind not in ("number", "money", "percent"):
        return ""
    for group in _by_source(seen):
        for i, one in enumerate(group):
            for other in group[i + 1 :]:
                found = _pair(claim, value, one, other)
                if found:
                    return f"{found} ({one.source.key})"
    return ""


def _by_source(seen: tuple[Seen, ...]) -> Iterator[list[Seen]]:
    groups: dict[tuple[int, int], list[Seen]] = {}
    for one in seen:
        if isinstance(one.figure.value, Decimal) and one.source.call >= 0:
            groups.setdefault((one.source.call, one.source.item), []).append(one)
    yield from (group for group in groups.values() if len(group) <= MOST)


def _pair(claim: Figure, value: Decimal, one: Seen, other: Seen) -> str:
    a, b = one.figure, other.figure
    x, y = a.value, b.value
    if not isinstance(x, Decimal) or not isinstance(y, Decimal):
        return ""
    if a.kind == b.kind and (a.kind == claim.kind or a.kind == "number"):
        if _equal(x + y, value, claim):
            return f"{a.text} + {b.text}"
        if _equal(abs(x - y), value, claim):
            return f"{a.text} - {b.text}" if x > y else f"{b.text} - {a.text}"
    if claim.kind == "percent" and a.kind == b.kind and x and y:
        for top, base, over, under in ((x, y, a, b), (y, x, b, a)):
            if _equal(top / base * 100, value, claim):
                return f"{over.text} / {under.text}"
            if _equal(abs(top - base) / abs(base) * 100, value, claim):
                return f"({over.text} - {under.text}) / {under.text}"
    return ""


def _equal(computed: Decimal, value: Decimal, claim: Figure) -> bool:
    return abs(abs(computed) - abs(value)) * 2 <= claim.ulp
