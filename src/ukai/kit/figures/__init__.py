"""The figures of a text: numbers, money, percentages, dates, months, quarters and clock times, by value.

What counts as a figure, and how well this reads them: docs/design/figures.md. English prose, markdown and JSON.
"""

from __future__ import annotations

from ukai.kit.figures import amounts, calendar, names, plain, words
from ukai.kit.figures.agreement import agrees, is_hard, is_soft
from ukai.kit.figures.value import Calendar, Figure, Kind, TimeOfDay

__all__ = ["Calendar", "Figure", "Kind", "TimeOfDay", "agrees", "extract", "is_hard", "is_soft"]


def extract(text: str) -> tuple[Figure, ...]:
    """All figures of `text`, in order, disjoint, with offsets into `text` itself. Any text will do, in linear time.

    Each reader takes its stretches off the table for the next: names that merely contain digits, then the calendar,
    then digits, then number words.
    """
    read = plain.spelled(text)
    taken = bytearray(len(read))
    names.mark(read, taken)
    found = calendar.read(read, taken)
    found += amounts.read(read, taken)
    found += words.read(read, taken)
    found.sort(key=lambda draft: draft.start)
    return tuple(draft.figure(text) for draft in found)
