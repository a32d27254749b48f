"""What a thing is called in a document: short, and enough to ask for it again."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

from ukai.context import structure
from ukai.context.subject import Subject
from ukai.kit import handle

_PLAIN = re.compile(r"[\W_]+")
_SEAM = re.compile(r".*[#/:_.-]")


def name(subject: Subject) -> str:
    """Its handle where it has one, and before it what the handle does not say: the last segment of its path, and its
    title where that says more."""
    item = subject.item
    said, place, last = _place(item.path)
    if item.title:
        title = _words(item.title)
        if not title.strip() or (title not in place and title.replace(" ", "") != last.replace(" ", "")):
            is_said = last in title or item.id.endswith((f"#{said}", f":{said}"))
            said = item.title if is_said else f"{said} · {item.title}"
    said = structure.line(said)
    return f"{said} {structure.bracketed(item.id)}".lstrip() if "#" in item.id else said


def family(names: Sequence[str]) -> str:
    """Names that begin alike, written once: `events_{20210101-20210131,20210301}`.

    A range stands for every whole number in it, each of which is a member: nothing is left out and nothing is added.
    """
    names = [structure.line(n) for n in names]
    if len(names) == 1:
        return names[0]
    start = os.path.commonprefix(list(names))  # noqa: RUF071 - character by character is meant
    while start and start[-1].isdigit():  # a number is not cut in two
        start = start[:-1]
    ends = sorted(n[len(start) :] for n in names)
    return ", ".join(names) if any(map(_like_a_range, ends)) else _braced(start, ends)


def pointers(ids: Iterable[str]) -> str:
    """Handles on one line, those of one type and the parts of one record together: `Call#a with turn/{1-4,9}`."""
    wholes: dict[str, list[str]] = {}
    parts: dict[str, dict[str, list[str]]] = {}
    for id in sorted(map(handle.shown, ids)):
        whole, _, part = id.partition("/")
        if part:
            parts.setdefault(whole, {}).setdefault(part.rpartition("/")[0], []).append(part)
        else:
            wholes.setdefault(id.partition("#")[0], []).append(id)
    alone = [[w for w in found if w not in parts] for found in wholes.values()]
    said = [_handles(found) for found in alone if found]
    for whole, kinds in parts.items():
        inside = [_handles(found) for found in kinds.values()]
        is_whole = whole in wholes.get(whole.partition("#")[0], ())
        said += [f"{whole} with {', '.join(inside)}"] if is_whole else [f"{whole}/{part}" for part in inside]
    return ", ".join(said)


def _handles(found: Sequence[str]) -> str:
    """Keys are cut where a word of theirs ends, and no end looks like a range: each can be read out of it."""
    start = f"{os.path.commonprefix(list(found))} "  # noqa: RUF071
    while len(found) > 1 and (seam := _SEAM.match(start[:-1])):
        start = seam.group()
        ends = sorted([f[len(start) :] for f in found], key=_number)
        if not any(map(_like_a_range, ends)):
            return _braced(start, ends)
    return ", ".join(found)


def _like_a_range(end: str) -> bool:
    first, dash, last = end.partition("-")
    return bool(dash) and first.isdecimal() and last.isdecimal() and int(first) < int(last)


def _number(end: str) -> tuple[int, str]:
    return int(end) if end.isdecimal() else 0, end


def _braced(start: str, ends: Sequence[str]) -> str:
    return f"{start}{{{','.join(_ranges(ends))}}}"


def _ranges(ends: Sequence[str]) -> list[str]:
    found: list[list[str]] = []
    for end in ends:
        last = found[-1][-1] if found else ""
        if last.isdecimal() and end == str(int(last) + 1).zfill(len(last)):
            found[-1][1:] = [end]
        else:
            found.append([end])
    return ["-".join(ends) for ends in found]


@lru_cache(maxsize=16_384)
def _place(path: str) -> tuple[str, str, str]:
    """The last segment of a path, the words of all, and those of the last. A path is a name and no text."""
    last = path.rpartition("/")[2]
    return last, _words(path), _words(last)


def _words(text: str) -> str:
    text = text.casefold()
    if not (text.isascii() and text.replace(" ", "").isalnum()):
        text = _PLAIN.sub(" ", text)
    return f" {' '.join(text.split())} "
