"""Kind `json`: a file that holds a list of objects, at its top or at a place inside. It is read whole.

source: {kind: json, files: "exports/vendors.json", at: /data/items}
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal, cast

from ukai.connect import files
from ukai.connect.source import Item, Site, of_value, unread
from ukai.kit import shape, strict_json

LIMITS = strict_json.Limits(bytes=64 << 20)


@dataclass(frozen=True, kw_only=True)
class Json:
    """See the module."""

    __pydantic_config__ = shape.STRICT
    kind: Literal["json"] = "json"
    files: str
    """A pattern, relative to the workspace."""
    at: str = ""
    """JSON pointer of the list; empty when the file is one."""
    is_fixed: ClassVar[bool] = False

    def items(self, site: Site) -> Iterator[Item]:
        """File after file."""
        return files.each(site, self.files, self._read)

    def fingerprint(self, site: Site) -> str:
        """Of the files."""
        return files.fingerprint(site, self.files)

    def _read(self, name: str, path: Path) -> Iterator[Item]:
        size = path.stat().st_size
        if size > LIMITS.bytes:
            hint = "write one object a line, and use the kind jsonl, which is read as a stream"
            yield unread("too_large", name, f"the file has {size} bytes", ends=True, hint=hint)
            return
        with files.opened(path) as text:
            yield from self._file(name, text.read())

    def _file(self, name: str, text: str) -> Iterator[Item]:
        value, findings = strict_json.loads(text, LIMITS)
        if findings:
            first = findings[0]
            where = f"{name}:{first.where.removeprefix('json:')}"
            yield unread(first.code, where, first.message, ends=True, received=first.received, hint=first.hint)
            return
        rows = _at(value, self.at)
        if not isinstance(rows, list):
            said = f"there is no list at {self.at or 'the top'}"
            yield unread("row_unreadable", name, said, ends=True, hint="name the list's place with `at: /a/b`")
            return
        for i, row in enumerate(cast("list[Any]", rows)):
            yield of_value(f"{name}#{self.at}/{i}", row, json.dumps(row, default=str))


def _at(value: Any, pointer: str) -> Any:
    for step in pointer.split("/")[1:]:
        part = step.replace("~1", "/").replace("~0", "~")
        value = cast("dict[str, Any]", value).get(part) if isinstance(value, dict) else None
    return value
