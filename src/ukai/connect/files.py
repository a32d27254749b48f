"""Files as sources: found by a pattern, read line by line whatever their encoding, with an end to every line."""

from __future__ import annotations

import codecs
import hashlib
from collections.abc import Callable, Container, Iterator
from pathlib import Path
from typing import IO

from ukai.connect.source import MAX_ROW, Item, Site, Unread, unread

PRIVATE = ".ukai"
"""The folder of a workspace that holds its database and its keys."""

_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def found(site: Site, pattern: str) -> list[str]:
    """The files that match, relative to the workspace where they lie in it, in order of their names.

    `**` does not walk into linked folders, which may lead in circles; what begins with a dot is found by its name only,
    and what Ukai keeps for this machine never.
    """
    anchor = Path(pattern).anchor
    start = Path(anchor) if anchor else site.root
    try:
        hits = [p for p in start.glob(pattern[len(anchor) :]) if p.is_file()]
    except (ValueError, NotImplementedError):  # no pattern that names files
        return []
    told = [p.relative_to(site.root) if p.is_relative_to(site.root) else p for p in hits]
    asked = set(Path(pattern).parts)
    return sorted({p.as_posix() for p in told if not any(_is_hidden(part, asked) for part in p.parts)})


def _is_hidden(part: str, asked: Container[str]) -> bool:
    return part == PRIVATE or (part.startswith(".") and part != ".." and part not in asked)


def each(site: Site, pattern: str, read: Callable[[str, Path], Iterator[Item]]) -> Iterator[Item]:
    """What `read` makes of each file that matches, given its name and its place. A file that the system refuses costs
    only itself.
    """
    names = found(site, pattern)
    if not names:
        yield _none(pattern)
    for name in names:
        try:
            yield from read(name, site.root / name)
        except OSError as error:
            yield unread(
                "unreadable", name, f"cannot be read: {error.strerror}", ends=True, hint="look at its permissions"
            )


def _none(pattern: str) -> Unread:
    return unread(
        "glob_matches_nothing",
        pattern,
        f"no file matches {pattern!r}",
        ends=True,
        expected="at least one file",
        hint="paths are relative to the workspace's folder",
    )


def fingerprint(site: Site, pattern: str) -> str:
    """Over names, sizes and times of the files that match."""
    found_ = [(n, (site.root / n).stat()) for n in found(site, pattern)]
    told = repr([(n, s.st_size, s.st_mtime_ns) for n, s in found_])
    return hashlib.sha256(told.encode("utf-8", "surrogatepass")).hexdigest()


def opened(path: Path) -> IO[str]:
    """The text of a file: UTF-8, or what its byte order mark says. A byte that is no text becomes half a surrogate,
    which the gate refuses in its row.
    """
    with path.open("rb") as raw:
        start = raw.read(4)
    encoding = next((name for mark, name in _MARKS if start.startswith(mark)), "utf-8")
    errors = "surrogateescape" if encoding.startswith("utf-8") else "backslashreplace"
    return path.open(encoding=encoding, errors=errors, newline="")


def lines(text: IO[str]) -> Iterator[tuple[int, str, bool]]:
    """(number, line with its end, whether it is whole): of a line that never ends only the beginning is kept."""
    number = 0
    while line := text.readline(MAX_ROW):
        number += 1
        whole = len(line) < MAX_ROW or line.endswith("\n")
        rest = "" if whole else text.readline(MAX_ROW)
        while rest and not rest.endswith("\n"):
            rest = text.readline(MAX_ROW)
        yield number, line, whole
