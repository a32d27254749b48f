"""Kind `markdown`: a folder of pages. A row is a page, its sections are its passages.

    source: {kind: markdown, files: "wiki/**/*.md"}

Columns: `path` (without .md), `title` (of the front matter, else the first heading, else the file's name), `body`,
`front` (the front matter), `sections` (`[{heading, level, text}]`, a type's `passages` take them as they are) and
`modified`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar, Literal, cast

from ukai.connect import files
from ukai.connect.source import MAX_CELL, Item, Row, Site, Unread
from ukai.graph import times
from ukai.kit import document, shape

_HEADING = re.compile(r"(#{1,6})[ \t]+(\S.*)\Z")
_FENCE = re.compile(r"[ ]{0,3}(```+|~~~+)")


@dataclass(frozen=True, kw_only=True)
class Markdown:
    """See the module."""

    __pydantic_config__ = shape.STRICT
    kind: Literal["markdown"] = "markdown"
    files: str
    """A pattern, relative to the workspace."""
    is_fixed: ClassVar[bool] = True
    columns: ClassVar[frozenset[str]] = frozenset(("path", "title", "body", "front", "sections", "modified"))

    def items(self, site: Site) -> Iterator[Item]:
        """Page after page."""
        return files.each(site, self.files, _pages)

    def fingerprint(self, site: Site) -> str:
        """Of the files."""
        return files.fingerprint(site, self.files)


def _pages(name: str, path: Path) -> Iterator[Item]:
    with path.open("rb") as file:
        raw, at = file.read(MAX_CELL + 1), path.stat().st_mtime
    yield _page(name, raw, times.written(datetime.fromtimestamp(at, UTC)))


def _page(name: str, raw: bytes, modified: str) -> Item:
    front: dict[str, Any] = {}
    if raw.removeprefix(b"\xef\xbb\xbf").startswith(b"---"):
        doc, findings = document.read_front_matter(raw, name=name, most=MAX_CELL)
        text, front = (doc.body, cast("dict[str, Any]", doc.data)) if doc else (None, front)
    else:
        text, findings = document.decode(raw, name=name, most=MAX_CELL)
    if text is None:
        stop = next(f for f in findings if f.severity == "error")
        return Unread(name, stop, raw.decode("utf-8", "surrogateescape"))
    sections = list(_sections(text))
    headings = [s["heading"] for s in sections if s["heading"]]
    stem = name.removesuffix(".md")
    title = front.get("title")
    values = {
        "path": stem,
        "title": str(title) if title else headings[0] if headings else stem.rpartition("/")[2],
        "body": text.strip(),
        "front": front,
        "sections": sections,
        "modified": modified,
    }
    return Row(name, values)


def _sections(text: str) -> Iterator[dict[str, Any]]:
    """What stands below each heading, the heading's own line left out; what stands above the first has none."""
    heading, level, fence = "", 0, ""
    kept: list[str] = []
    for line in text.split("\n"):
        mark = _FENCE.match(line)
        if mark and (not fence or (mark[1][0] == fence[0] and len(mark[1]) >= len(fence))):
            fence = "" if fence else mark[1]
        found = None if fence else _HEADING.match(line)
        if found is None:
            kept.append(line)
            continue
        if heading or any(k.strip() for k in kept):
            yield {"heading": heading, "level": level, "text": "\n".join(kept).strip()}
        heading, level, kept = _open(found[2].rstrip()), len(found[1]), []
    if heading or any(k.strip() for k in kept):
        yield {"heading": heading, "level": level, "text": "\n".join(kept).strip()}


def _open(heading: str) -> str:
    """Without the signs that may close it, which stand behind a blank: `C#` is a name."""
    bare = heading.rstrip("#")
    return bare.rstrip() if bare.endswith((" ", "\t")) else heading
