"""Kind `jsonl`: one JSON object a line.

source: {kind: jsonl, files: "exports/tickets-*.jsonl"}
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

from ukai.connect import files
from ukai.connect.source import MAX_CELL, MAX_ROW, Item, Site, of_value, unread
from ukai.kit import shape, strict_json

LIMITS = strict_json.Limits(bytes=MAX_CELL)


@dataclass(frozen=True, kw_only=True)
class Jsonl:
    """See the module."""

    __pydantic_config__ = shape.STRICT
    kind: Literal["jsonl"] = "jsonl"
    files: str
    """A pattern, relative to the workspace."""
    is_fixed: ClassVar[bool] = False

    def items(self, site: Site) -> Iterator[Item]:
        """File after file, line after line; blank lines are no rows."""
        return files.each(site, self.files, _rows)

    def fingerprint(self, site: Site) -> str:
        """Of the files."""
        return files.fingerprint(site, self.files)


def _rows(name: str, path: Path) -> Iterator[Item]:
    with files.opened(path) as text:
        for number, line, whole in files.lines(text):
            if not whole or line.strip():
                yield _row(f"{name}:{number}", line.rstrip("\r\n"), whole=whole)


def _row(at: str, line: str, *, whole: bool) -> Item:
    if not whole:
        said = f"a line of more than {MAX_ROW} characters; its beginning is kept"
        return unread("too_large", at, said, raw=line, hint="write one object a line")
    value, findings = strict_json.loads(line, LIMITS)
    if findings:
        first = findings[0]
        place = first.where.removeprefix("json:") if first.where else ""
        said = f"{first.message}{f' (at {place})' if place else ''}"
        return unread(first.code, at, said, raw=line, expected=first.expected, received=first.received, hint=first.hint)
    return of_value(at, value, line)
