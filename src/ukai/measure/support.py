"""Whether evidence says a figure: by value, and with words of the claim's sentence near it.

Value alone weakens as evidence grows; two shared words nearby restore it. Measurements: docs/design/measure.md.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from decimal import Decimal

from ukai.kit import figures
from ukai.kit.figures import Calendar, Figure, TimeOfDay, agreement
from ukai.measure import content, formula
from ukai.measure.reading import Seen, Source

NEAR = 120
"""Characters on either side of an evidence figure that count as its context."""
SHARED = 3
"""Content words of the claim's sentence that must stand there. With two words in 160 characters, the values of
research, 0.90 of planted errors were caught at 120 KiB here; with these 0.96 (docs/design/measure.md)."""
MOST = 400
"""Places looked at for context; a value that stands more often than this is as common as a word."""
CELLS, HEAD, ROW = 2, 200, 400
"""A line of so many cells is a table's row; so much of the text's beginning is its head; so much of a row is read."""
_MONEY = r"(?:\b[A-Z]{2,3}|[$€£])[ ]?['’]?"
_IN_UNITS = {
    3: re.compile(rf"(?i:\bin thousands\b|\bthousands of\b)|['’]000s?\b|\b000s\b|{_MONEY}(?:000s?|[Tt]housands?)\b"),
    6: re.compile(rf"(?i:\bin millions\b|\bmillions of\b)|{_MONEY}(?:[Mm]illions?|mn?|M)(?![A-Za-z])"),
    9: re.compile(rf"(?i:\bin billions\b|\bbillions of\b)|{_MONEY}(?:[Bb]illions?|bn|B)(?![A-Za-z])"),
}
"""How a page says that its bare numbers are in thousands, millions or billions."""


@dataclass(frozen=True, kw_only=True)
class Support:
    """The best place that says a figure."""

    seen: Seen
    shared: tuple[str, ...]
    """The content words that it shares with the claim's sentence, stemmed."""
    weight: int
    """How many they are, less one where a number supports money or a percentage, or a year a number."""


class Index:
    """The figures of the evidence by value. A lookup asks only those that can agree."""

    def __init__(self, seen: Iterable[Seen], sources: Iterable[Source] = ()) -> None:
        self._sources = tuple(sources)
        self._said: dict[tuple[int, str], bool] = {}
        amounts: list[tuple[float, int]] = []
        self._dates: dict[tuple[int | None, int | None], list[int]] = {}
        self._times: dict[tuple[int, int], list[int]] = {}
        self._years: dict[int, list[int]] = {}
        self._all = tuple(seen)
        for i, one in enumerate(self._all):
            value = one.figure.value
            if isinstance(value, Decimal):
                amounts.append((abs(float(value)), i))
            elif isinstance(value, TimeOfDay):
                self._times.setdefault(value[:2], []).append(i)
            else:
                quarter = value.quarter if value.month is None else (value.month + 2) // 3
                for key in {(value.month, None), (None, quarter)} - {(None, None)}:
                    self._dates.setdefault(key, []).append(i)
                if value.year is not None:
                    self._years.setdefault(value.year, []).append(i)
        amounts.sort()
        self._amounts = [amount for amount, _ in amounts]
        self._order = [i for _, i in amounts]

    def saying(self, claim: Figure) -> Iterator[Seen]:
        """The evidence figures that agree with `claim`, in the order of the evidence."""
        sharp = sharpened(claim)
        for i in sorted(set(self._candidates(sharp))):
            if figures.agrees(sharp, self._all[i].figure) and not _is_mere_day(sharp, self._all[i].figure):
                yield self._all[i]

    def saying_in_units(self, claim: Figure) -> Iterator[Seen]:
        """Numbers of a page that says `in thousands`, for a claim in thousands."""
        for power, said in _IN_UNITS.items():
            if not isinstance(claim.value, Decimal) or not formula.is_scaled(claim, power):
                continue
            plain = replace(claim, value=claim.value.scaleb(-power), ulp=claim.ulp.scaleb(-power))
            for seen in self.saying(plain):
                if self._says(seen.source.call, said):
                    yield seen

    def _says(self, call: int, pattern: re.Pattern[str]) -> bool:
        key = (call, pattern.pattern)
        if key not in self._said:
            self._said[key] = any(pattern.search(source.text) for source in self._sources if source.call == call)
        return self._said[key]

    def nearest(self, claim: Figure, limit: int = 3) -> tuple[Seen, ...]:
        """The evidence figures of the same kind that come closest in value, for a reader to compare."""
        value = claim.value
        if not isinstance(value, Decimal) or not self._amounts:
            same = [one for one in self._all if one.figure.kind == claim.kind]
            return tuple(same[:limit])
        at = bisect_left(self._amounts, abs(float(value)))
        around = range(max(0, at - 4 * limit), min(len(self._order), at + 4 * limit))
        ranked = sorted(around, key=lambda k: (self._kinds(k) != claim.kind, abs(self._amounts[k] - abs(float(value)))))
        return tuple(self._all[self._order[k]] for k in ranked[:limit])

    def _kinds(self, k: int) -> str:
        return self._all[self._order[k]].figure.kind

    def _candidates(self, claim: Figure) -> Iterator[int]:
        value = claim.value
        if isinstance(value, TimeOfDay):
            yield from self._times.get(value[:2], ())
        elif isinstance(value, Calendar):
            if value.month is not None:
                yield from self._dates.get((value.month, None), ())
            elif value.quarter is not None:
                yield from self._dates.get((None, value.quarter), ())
            elif value.year is not None:
                yield from self._years.get(value.year, ())
                yield from self._between(value.year, value.year)
        else:
            yield from self._amount(claim, abs(float(value)))
            if claim.kind == "number" and value == value.to_integral_value() and 1000 <= value <= 9999:
                yield from self._years.get(int(value), ())

    def _amount(self, claim: Figure, size: float) -> Iterator[int]:
        slack = float(claim.ulp) / 2 + (size * 0.06 if claim.approx else 0.0) + size * 1e-9
        for factor in (1.0, 0.01, 100.0):
            yield from self._between((size - slack) * factor, (size + slack) * factor)

    def _between(self, low: float, high: float) -> list[int]:
        return self._order[bisect_left(self._amounts, low) : bisect_right(self._amounts, high)]


def sharpened(claim: Figure) -> Figure:
    """`about 14,000` forgives half a unit of its last digit that says something; `about $1.95 billion` is not round.

    Only round claims forgive 5 %: otherwise each would, however exactly it is stated.
    """
    value = claim.value
    if not claim.approx or not isinstance(value, Decimal):
        return claim
    digits = value.normalize()
    unit = Decimal(1).scaleb(int(digits.as_tuple().exponent)) if digits else Decimal(0)
    if unit >= abs(value) * agreement.ABOUT:
        return claim
    return replace(claim, approx=False, ulp=unit)


def best(claim: Figure, said: Iterable[Seen], near: frozenset[str], *, within: int, enough: int) -> Support | None:
    """The first place that shares enough of the words `near`; else the one that shares most; None when none says it."""
    found: Support | None = None
    for k, seen in enumerate(said):
        if k >= MOST:
            break
        shared = near & context(seen.source, seen.figure, within)
        weight = len(shared) - (not _is_same_kind(claim, seen))
        if found is None or weight > found.weight:
            found = Support(seen=seen, shared=tuple(sorted(shared)), weight=weight)
        if found.weight >= enough:
            break
    return found


def context(source: Source, figure: Figure, within: int) -> frozenset[str]:
    """The content words around a figure of the evidence; of a table, those of its row and its first rows."""
    text = source.text
    start, end = _line(text, figure)
    if text.count("|", start, end) >= CELLS - 1:
        head = text[: text.find("\n", HEAD) if len(text) > HEAD else len(text)]
        return content.near(f"{text[max(start, figure.start - ROW) : min(end, figure.end + ROW)]} {head}")
    return content.near(
        f"{text[max(0, figure.start - within) : figure.start]} {text[figure.end : figure.end + within]}"
    )


def _line(text: str, figure: Figure) -> tuple[int, int]:
    end = text.find("\n", figure.end)
    return text.rfind("\n", 0, figure.start) + 1, end if end >= 0 else len(text)


def _is_same_kind(claim: Figure, one: Seen) -> bool:
    """Records hold amounts without a sign of money; there a bare number says as much."""
    seen = one.figure
    if claim.kind == "money" and seen.kind == "number" and one.source.text.startswith(("{", "[")):
        return True
    return claim.kind == seen.kind or {claim.kind, seen.kind} <= {"date", "month", "quarter"}


def _is_mere_day(claim: Figure, seen: Figure) -> bool:
    """`17 people` is not said by `17 May`."""
    return isinstance(claim.value, Decimal) and isinstance(seen.value, Calendar) and claim.value != seen.value.year
