"""What a conversation was given: it is pointed at, not sent again, unless it says something else now (context req. 40).

A turn knows it as a value: it holds what it composed itself, and is over in one process. A conversation of another
program has a name, under which the store keeps it.
"""

from __future__ import annotations

from collections.abc import Mapping

from ukai.context import levels

Given = Mapping[str, tuple[str, str]]
"""Item -> (hash of its body, level)."""


def together(given: Given, shown: Given) -> dict[str, tuple[str, str]]:
    """What is held by whoever was given `given` and then saw `shown`: a body at the highest level that it stood at.

    The rule of `compositions.save_given`, for what is kept in no table.
    """
    held = dict(given)
    for item, (body, level) in shown.items():
        before = held.get(item)
        if before is None or before[0] != body or not levels.at_least(before[1], level):
            held[item] = (body, level)
    return held
