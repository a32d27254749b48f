"""Kind `csv`: rows of files with a header line. An empty cell is null, everything else is text.

source: {kind: csv, files: "crm/accounts*.csv", delimiter: ";"}
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

from ukai.connect import files
from ukai.connect.source import MAX_CELL, MAX_ROW, Item, Row, Site, unread
from ukai.kit import shape


@dataclass(frozen=True, kw_only=True)
class Csv:
    """See the module."""

    __pydantic_config__ = shape.STRICT
    kind: Literal["csv"] = "csv"
    files: str
    """A pattern, relative to the workspace."""
    delimiter: str = ","
    """One character; a tabulator is written "\\t"."""
    is_fixed: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if len(self.delimiter) != 1 or self.delimiter in '"\r\n':
            raise ValueError("the delimiter is one character, and no quote or end of line")

    def items(self, site: Site) -> Iterator[Item]:
        """File after file."""
        return files.each(site, self.files, self._read)

    def fingerprint(self, site: Site) -> str:
        """Of the files."""
        return files.fingerprint(site, self.files)

    def _read(self, name: str, path: Path) -> Iterator[Item]:
        with files.opened(path) as text:
            yield from self._file(name, _Lines(text))

    def _file(self, name: str, lines: _Lines) -> Iterator[Item]:
        csv.field_size_limit(MAX_ROW)
        reader = csv.reader(lines, delimiter=self.delimiter, strict=True)
        header: list[str] | None = None
        while True:
            at = f"{name}:{lines.number + 1}"
            try:
                cells = next(reader, None)
            except csv.Error as error:
                raw = lines.taken()
                yield unread(
                    "row_unreadable", at, f"no row of a table: {error}", raw=raw, hint="quote the cell as a whole"
                )
                continue
            except _Endless:
                yield unread(
                    "row_unreadable",
                    at,
                    "a row that does not end",
                    raw=lines.taken(),
                    ends=True,
                    expected=f"rows of at most {MAX_ROW} bytes",
                    hint="close the quote that is open since there",
                )
                return
            raw = lines.taken()
            if cells is None:
                break
            if header is None:
                header = [c.strip() for c in cells]
                wrong = _header(header)
                if wrong:
                    yield unread("invalid_header", at, wrong, raw=raw, ends=True, hint="name every column once")
                    return
            elif cells:
                yield _row(at, header, cells, raw)
        if header is None:
            yield unread("invalid_header", f"{name}:1", "the file is empty", ends=True, hint="name the columns")


class _Endless(Exception):
    """More text than a row may have, and the row is still open."""


class _Lines:
    """The lines of a file, and which of them the present row is made of."""

    def __init__(self, text: Iterator[str]) -> None:
        self._text = text
        self._taken: list[str] = []
        self._size = 0
        self.number = 0

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = next(self._text)
        self.number += 1
        self._taken.append(line)
        self._size += len(line)
        if self._size > MAX_ROW:
            raise _Endless
        return line

    def taken(self) -> str:
        """The text of the row; the next one begins."""
        raw = "".join(self._taken)
        self._taken.clear()
        self._size = 0
        return raw


def _header(names: list[str]) -> str:
    """What is wrong with the header."""
    if not all(names):
        return "a column has no name"
    if any("\0" in n for n in names):
        return "the header holds characters that are no text: the file is in another encoding"
    seen: set[str] = set()
    twice = next((n for n in names if n in seen or seen.add(n)), None)
    return "" if twice is None else f"two columns are named {twice!r}"


def _row(at: str, header: list[str], cells: list[str], raw: str) -> Item:
    if len(cells) != len(header):
        return unread(
            "ragged_row",
            at,
            f"the row has {len(cells)} cells",
            raw=raw,
            expected=f"{len(header)} cells, as the header names",
            received=f"{len(cells)}",
            hint="quote cells that hold the delimiter",
        )
    if len(raw) > MAX_CELL:
        for name, cell in zip(header, cells, strict=True):
            if len(cell) > MAX_CELL:
                return unread(
                    "too_large",
                    at,
                    f"the cell {name!r} is too large",
                    raw=raw,
                    expected=f"at most {MAX_CELL} characters",
                    received=f"{len(cell)}",
                    hint="keep long texts in files of their own",
                )
    return Row(at, {name: cell or None for name, cell in zip(header, cells, strict=True)})
