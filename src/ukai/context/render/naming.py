"""What a thing is called in a document: short, and enough to ask for it again."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from functools import lru_cache

from ukai.context.subject import Subject

_PLAIN = re.compile(r"[^0-9a-z]+")


def name(subject: Subject) -> str:
    """The last segment of its path, its title where that says more, and its handle where it has one."""
    item = subject.item
    said = subject.name
    if item.title:
        title = _words(item.title)
        place, last = _place(item.path)
        if title.replace(" ", "") not in place:
            said = item.title if last in title else f"{said} · {item.title}"
    return _on_one_line(f"{said} [{item.id}]" if "#" in item.id else said)


def family(names: Sequence[str]) -> str:
    """Names that begin alike, written once: `events_{20210101-20210131,20210301}`.

    A range stands for every whole number in it, each of which is a member: nothing is left out and nothing is added.
    """
    names = [_on_one_line(n) for n in names]
    if len(names) == 1:
        return names[0]
    start = os.path.commonprefix(list(names))  # noqa: RUF071 - character by character is meant
    while start and start[-1].isdigit():  # a number is not cut in two
        start = start[:-1]
    return f"{start}{{{','.join(_ranges([n[len(start) :] for n in names]))}}}"


def _ranges(ends: Sequence[str]) -> list[str]:
    found: list[str] = []
    first = last = ""
    for end in sorted(ends):
        if last.isdigit() and end.isdigit() and len(end) == len(last) and int(end) == int(last) + 1:
            last = end
            continue
        found += [_range(first, last)] if last or first else []
        first = last = end
    return [*found, _range(first, last)]


def _range(first: str, last: str) -> str:
    return first if first == last else f"{first}-{last}"


def _on_one_line(text: str) -> str:
    """A name that holds a line break must not begin a line of the document."""
    return " ".join(text.split())


@lru_cache(maxsize=16_384)
def _place(path: str) -> tuple[str, str]:
    """The letters and digits of a path, and the words of its last segment. A path is a name and no text."""
    return _words(path).replace(" ", ""), _words(path.rpartition("/")[2])


def _words(text: str) -> str:
    text = text.casefold()
    if not (text.isascii() and text.replace(" ", "").isalnum()):
        text = _PLAIN.sub(" ", text)
    return f" {' '.join(text.split())} "
