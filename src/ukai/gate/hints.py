"""Repair: the field that was probably meant, and JSON Patch (RFC 6902) applied to a submitted delta."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterable, Mapping
from typing import Any, cast

from ukai.gate.rejection import Rejection
from ukai.kit import suggest

_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")


def field(received: str, known: Iterable[str]) -> suggest.Suggestion | None:
    """The field that a misspelt one stands for: `kit.suggest`, else the only one whose words are the same but for
    abbreviations and left-out words (`maximum_keyword_difficulty` and `max_keyword_difficulty`).
    """
    names = list(known)
    found = suggest.suggest(received, names)
    if found:
        return found
    words = _words(received)
    fitting = [n for n in names if _stands_for(words, _words(n))]
    return suggest.Suggestion(name=fitting[0], confidence="likely") if len(fitting) == 1 else None


def _words(name: str) -> list[str]:
    return [w.lower() for w in _WORDS.findall(name)]


def _stands_for(one: list[str], other: list[str]) -> bool:
    """Every word of the shorter name has its own, in order, in the longer: the same one or a beginning of it. At least
    two words must meet, and one of them letter by letter.
    """
    short, long = sorted((one, other), key=len)
    if len(short) < 2:
        return False
    rest, same = list(long), 0
    for word in short:
        at = next((i for i, w in enumerate(rest) if _abbreviates(word, w)), None)
        if at is None:
            return False
        same += rest[at] == word
        rest = rest[at + 1 :]
    return same > 0


def _abbreviates(one: str, other: str) -> bool:
    short, long = sorted((one, other), key=len)
    return one == other or (len(short) >= 3 and long.startswith(short))


def apply(delta: Any, patch: Iterable[Mapping[str, Any]]) -> Any:
    """A copy of `delta` with the operations `add`, `remove`, `replace`, `move` applied in order.

    Raises LookupError when a path names nothing.
    """
    document = {"": copy.deepcopy(delta)}
    for step in patch:
        path = str(step["path"])
        if step["op"] == "move":
            _set(document, path, _take(document, str(step["from"])), replace=False)
        elif step["op"] == "remove":
            _take(document, path)
        else:
            _set(document, path, copy.deepcopy(step["value"]), replace=step["op"] == "replace")
    return document[""]


def repaired(delta: Any, rejections: Iterable[Rejection]) -> Any:
    """`delta` with the patches of all `rejections` applied, from the last place to the first, so that removing an item
    of a list moves no other patch.
    """
    patched = [r for r in rejections if r.fix_hint.patch]
    for one in sorted(patched, key=lambda r: _order(r.where), reverse=True):
        delta = apply(delta, one.fix_hint.patch)
    return delta


def _order(where: str) -> list[tuple[int, int, str]]:
    return [(0, int(p), "") if p.isdigit() else (1, 0, p) for p in where.split("/")]


def _steps(path: str) -> list[str]:
    return [s.replace("~1", "/").replace("~0", "~") for s in path.split("/")]


def _parent(document: Any, path: str) -> tuple[Any, str]:
    *steps, last = _steps(path)
    part = document
    for step in steps:
        part = cast("list[Any]", part)[int(step)] if isinstance(part, list) else part[step]
    return part, last


def _take(document: Any, path: str) -> Any:
    parent, last = _parent(document, path)
    return cast("list[Any]", parent).pop(int(last)) if isinstance(parent, list) else parent.pop(last)


def _set(document: Any, path: str, value: Any, *, replace: bool) -> None:
    parent, last = _parent(document, path)
    if not isinstance(parent, list):
        if replace and last not in parent:
            raise KeyError(path)
        parent[last] = value
    elif replace:
        parent[int(last)] = value
    else:
        items = cast("list[Any]", parent)
        items.insert(len(items) if last == "-" else int(last), value)
