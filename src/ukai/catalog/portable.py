"""The six-key rules of the open Agent Skills format, held against SKILL.md files (platform §3.1)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

from ukai.catalog import dialect, kinds, walk
from ukai.kit import document
from ukai.kit.document import Document
from ukai.kit.finding import Finding, excerpt
from ukai.runtime import agent

MAX_DESCRIPTION = 1024
MAX_COMPATIBILITY = 500
BODY_LINES = 500
"""Recommended by the format."""


def findings(root: Path) -> list[Finding]:
    """Every SKILL.md under `root` against the format. What keeps a file from being read is lint's to say."""
    inside = (root / kinds.MARKER).is_file()
    tree = walk.walk(root, enter=lambda path: not inside or path.partition("/")[0] in kinds.TOP)
    found: list[Finding] = []
    for file in tree.files:
        if file.path.rpartition("/")[2] == "SKILL.md":
            raw, _ = walk.read(file)
            doc, _ = (None, []) if raw is None else document.read_front_matter(raw, name=file.path)
            if doc is not None:
                folder = file.path.split("/")[-2] if "/" in file.path else root.name
                found += check(doc, folder=folder)
    return found


def check(doc: Document, *, folder: str) -> list[Finding]:
    """One file's front matter against the six keys; `folder` is what its name must be."""
    data = cast("dict[str, Any]", doc.data)
    return [*_keys(data, doc), *_name(data, doc, folder), *_texts(data, doc), *_metadata(data, doc), *_body(doc)]


def _problem(where: str, message: str, *, expected: str, received: str = "", hint: str, severity: Any = "error"):
    return Finding(
        code="not_portable",
        severity=severity,
        where=where,
        message=message,
        expected=expected,
        received=received,
        hint=hint,
    )


def _keys(data: dict[str, Any], doc: Document) -> Iterator[Finding]:
    for key in data:
        if key not in dialect.OPEN_KEYS:
            yield _problem(
                doc.where_key(document.pointer(key)),
                f"the open format has no field {key!r}",
                expected=", ".join(dialect.OPEN_KEYS),
                received=key,
                hint="`ukai export` moves it into metadata"
                if key in {f.partition(".")[0] for f in dialect.FIELDS}
                else "move it into metadata, as text",
            )


def _name(data: dict[str, Any], doc: Document, folder: str) -> Iterator[Finding]:
    name = data.get("name")
    problem = "the name is not text" if not isinstance(name, str) else agent.name_problem(name)
    if name is None:
        problem = "the name is missing"
    elif not problem and name != folder:
        problem = f"the name {name!r} is not the folder's, {folder!r}"
    if problem:
        yield _problem(
            doc.where("/name"),
            problem,
            expected="the folder's name: lower case letters, digits and single hyphens, at most 64",
            received="" if name is None else str(name),
            hint=f"write `name: {folder}`",
        )


def _texts(data: dict[str, Any], doc: Document) -> Iterator[Finding]:
    for key, limit, needed in (
        ("description", MAX_DESCRIPTION, True),
        ("compatibility", MAX_COMPATIBILITY, False),
        ("license", None, False),
        ("allowed-tools", None, False),
    ):
        value = data.get(key)
        if value is None and key not in data and not needed:
            continue
        if not isinstance(value, str) or (needed and not value.strip()):
            yield _problem(
                doc.where(f"/{key}"),
                f"{key!r} is {'missing' if value is None else 'empty' if value == '' else 'not text'}",
                expected="text",
                received="" if value is None else excerpt(value),
                hint="write a sentence" if needed else "write it as text, entries separated by blanks",
            )
        elif limit is not None and len(value) > limit:
            yield _problem(
                doc.where(f"/{key}"),
                f"{key!r} is too long",
                expected=f"at most {limit} characters",
                received=f"{len(value)} characters",
                hint="shorten it, and move the rest into the body",
            )


def _metadata(data: dict[str, Any], doc: Document) -> Iterator[Finding]:
    metadata = data.get("metadata")
    if metadata is None:
        return
    if not isinstance(metadata, dict):
        yield _problem(
            doc.where("/metadata"),
            "metadata is not a mapping",
            expected="text by text",
            received=excerpt(metadata),
            hint="write `key: value` lines",
        )
        return
    for key, value in cast("dict[str, Any]", metadata).items():
        if not isinstance(value, str):
            yield _problem(
                doc.where("/metadata" + document.pointer(key)),
                f"metadata.{key} is not text",
                expected="text",
                received=excerpt(value),
                hint="put it in quotes, or flatten it",
            )


def _body(doc: Document) -> Iterator[Finding]:
    lines = doc.body.count("\n") + 1
    if lines > BODY_LINES:
        yield _problem(
            f"{doc.name}:{doc.body_line + BODY_LINES}:1",
            "the body is longer than the format recommends",
            expected=f"at most {BODY_LINES} lines",
            received=f"{lines} lines",
            hint="move parts into files beside it",
            severity="warning",
        )
