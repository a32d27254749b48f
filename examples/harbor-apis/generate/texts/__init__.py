"""The words of the company, in plain files: the cast, the stories, the handbook, and templates of ordinary business."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

HERE = Path(__file__).parent
HANDBOOK = HERE.parents[1] / "handbook"

Alternatives = tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Block:
    """One hand-written record: a headline, `name: value` lines, a blank line, and its text."""

    kind: str
    id: str
    said: Mapping[str, str]
    body: str


@dataclass(frozen=True, kw_only=True)
class Template:
    """Ordinary business: a headline and lines, each with its speaker (empty in mails and notes) and alternatives."""

    head: str
    lines: tuple[tuple[str, Alternatives], ...]


@cache
def table(name: str) -> tuple[Mapping[str, str], ...]:
    """The rows of a CSV file."""
    with (HERE / name).open(encoding="utf-8", newline="") as file:
        return tuple(csv.DictReader(file))


@cache
def stories() -> tuple[Block, ...]:
    """The hand-written records of all stories, by file name and then as they stand."""
    return tuple(block for path in sorted((HERE / "stories").glob("*.txt")) for block in _blocks(path))


@cache
def product() -> tuple[Block, ...]:
    """Releases and incidents."""
    return tuple(_blocks(HERE / "product.txt"))


@cache
def handbook() -> tuple[Block, ...]:
    """The pages under `handbook/`, by section and name."""
    return tuple(_page(path) for path in sorted(HANDBOOK.glob("*/*.md")))


@cache
def templates(name: str) -> tuple[Template, ...]:
    """The templates of one file, in order."""
    found: list[Template] = []
    for part in re.split(r"(?m)^\[(?=.*\]$)", _uncommented(HERE / name))[1:]:
        head, *lines = part.strip().split("\n")
        found.append(Template(head=head.rstrip("]"), lines=tuple(_line(line) for line in lines if line)))
    return tuple(found)


@cache
def deals() -> tuple[tuple[str, str, str, str], ...]:
    """Closed deals: outcome, kind, situation, deciding factor."""
    rows = (line.split(" | ") for line in _uncommented(HERE / "deals.txt").split("\n") if line)
    return tuple((row[0], row[1], row[2], row[3]) for row in rows)


@cache
def words(name: str) -> tuple[str, ...]:
    """A list of `words.txt`."""
    lines = (line.partition(": ") for line in (HERE / "words.txt").read_text(encoding="utf-8").splitlines())
    return next(tuple(text.split()) for head, _, text in lines if head == name)


def _uncommented(path: Path) -> str:
    lines = path.read_text(encoding="utf-8").split("\n")
    return "\n".join(line for line in lines if not line.startswith("# "))


def _line(line: str) -> tuple[str, Alternatives]:
    match = re.match(r"([A-Z]): (.*)", line)
    speaker, text = match.groups() if match else ("", line)
    return speaker, tuple(text.split(" || "))


def _blocks(path: Path) -> Iterator[Block]:
    for part in re.split(r"(?m)^=== ", _uncommented(path))[1:]:
        head, _, body = part.partition("\n\n")
        title, *lines = head.split("\n")
        kind, _, name = title.partition(" ")
        said = dict(line.split(": ", 1) for line in lines if line)
        yield Block(kind=kind, id=name.strip(), said=said, body=body.strip())


def _page(path: Path) -> Block:
    _, head, body = path.read_text(encoding="utf-8").split("---\n", 2)
    said = dict(line.split(": ", 1) for line in head.strip().split("\n"))
    return Block(kind="page", id=path.stem, said={**said, "section": path.parent.name}, body=body.strip())
