"""Two spellings of one manifest: native (fields at the top) and portable (the open Agent Skills format).

The portable one keeps the format's six keys; every other field lies flattened in `metadata` under a `ukai.` prefix,
`ukai.tools.exclude: "search_github query_*"`: scalars as text, lists separated by blanks, a blank inside an entry
written %20, a percent sign %25, and an empty entry a lone %.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, cast

from ukai.kit import document, suggest
from ukai.kit.finding import Finding

OPEN_KEYS = ("name", "description", "license", "compatibility", "metadata", "allowed-tools")
"""The six keys of the open Agent Skills format."""
PREFIX = "ukai."

Kind = Literal["text", "integer", "number", "boolean", "list"]

FIELDS: Mapping[str, Kind] = {
    "model": "text",
    "max_iterations": "integer",
    "channels": "list",
    "acl_enforcement": "boolean",
    "family": "text",
    "scope_bound_retrieval": "text",
    "field_policy": "text",
    "tools.include": "list",
    "tools.exclude": "list",
    "budget.tokens": "integer",
    "budget.usd": "number",
    "budget.seconds": "number",
    "scope.globs": "list",
    "scope.exclude": "list",
    "scope.static_ids": "list",
    "scope.budget_tokens": "integer",
    "skills": "list",
    "output.lead": "text",
}
"""Dotted name of every field beyond the six -> its kind. A new field of the manifest is one line here."""


@dataclass(frozen=True, kw_only=True)
class _Portable:
    field: str
    text: Any
    mark: tuple[int, int]


def is_portable(data: Mapping[str, Any]) -> bool:
    """Whether any field is written in the portable spelling."""
    metadata = data.get("metadata")
    return isinstance(metadata, dict) and any(k.startswith(PREFIX) for k in cast("dict[str, Any]", metadata))


def native(doc: document.Document) -> tuple[document.Document, list[Finding]]:
    """The same document with every portable field in its native place, marks included."""
    data = cast("dict[str, Any]", doc.data)
    if not is_portable(data):
        return doc, []
    metadata = cast("dict[str, Any]", data["metadata"])
    kept = {k: v for k, v in metadata.items() if not k.startswith(PREFIX)}
    result: dict[str, Any] = {k: v for k, v in data.items() if k != "metadata"} | ({"metadata": kept} if kept else {})
    marks = dict(doc.marks)
    findings: list[Finding] = []
    for key, text in metadata.items():
        if key.startswith(PREFIX):
            found = _problem(doc, data, key)
            if found is None:
                at = "/metadata" + document.pointer(key)
                mark = doc.marks.get(at, (1, 1))
                _place(result, marks, _Portable(field=key.removeprefix(PREFIX), text=text, mark=mark))
            else:
                findings.append(found)
    return replace(doc, data=result, marks=marks), findings


def _problem(doc: document.Document, data: Mapping[str, Any], key: str) -> Finding | None:
    name, at = key.removeprefix(PREFIX), "/metadata" + document.pointer(key)
    if name not in FIELDS:
        known = [PREFIX + f for f in FIELDS]
        return Finding(
            code="unknown_key",
            where=doc.where_key(at),
            message=f"no field is named {key!r}",
            expected=", ".join(known),
            received=key,
            hint=suggest.hint_for(key, known),
        )
    if name.partition(".")[0] in data:
        return Finding(
            code="both_dialects",
            where=doc.where_key(at),
            message=f"{name!r} is written twice: at the top and in metadata",
            expected="each field once",
            received=key,
            hint="remove one of the two",
        )
    return None


def _place(result: dict[str, Any], marks: dict[str, tuple[int, int]], part: _Portable) -> None:
    value = _value(part.text, FIELDS[part.field])
    outer, dot, inner = part.field.partition(".")
    at = f"/{outer}"
    if dot:
        cast("dict[str, Any]", result.setdefault(outer, {}))[inner] = value
        marks.setdefault(at, part.mark)
        at = f"{at}/{inner}"
    else:
        result[outer] = value
    marks[at] = marks[at + "\0"] = part.mark
    if isinstance(value, list):
        for index in range(len(cast("list[str]", value))):
            marks[f"{at}/{index}"] = part.mark


def _value(text: Any, kind: Kind) -> Any:
    """What the text stands for; whatever it cannot be is left as it is, for the shape to refuse at its place."""
    if not isinstance(text, str):
        return text
    if kind == "list":
        return [_unescaped(part) for part in text.split()]
    if kind == "boolean":
        return {"true": True, "false": False}.get(text, text)
    if kind in ("integer", "number") and re.fullmatch(r"-?[0-9]{1,18}", text):
        return int(text)
    if kind == "number" and re.fullmatch(r"-?[0-9]{1,18}(\.[0-9]{1,30})?(e[-+]?[0-9]{1,3})?", text):
        return float(text)
    return text


def portable(data: Mapping[str, Any]) -> dict[str, Any]:
    """A native front matter with its fields in `metadata`, ordered as the open format lists its keys."""
    flat = dict(_flattened(data))
    metadata = {**cast("dict[str, str]", data.get("metadata") or {}), **flat}
    ordered = {key: data[key] for key in OPEN_KEYS if data.get(key) is not None and key != "metadata"}
    return ordered | ({"metadata": metadata} if metadata else {})


def _flattened(data: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for field, kind in FIELDS.items():
        outer, dot, inner = field.partition(".")
        holder = cast("Mapping[str, Any]", (data.get(outer) or {}) if dot else data)
        value = holder.get(inner if dot else outer)
        if value is None and field == "scope.globs" and data.get("scope") is not None:
            value = list[str]()  # a scope that names nothing matches nothing, which no scope at all does not
        if value is not None:
            yield PREFIX + field, _text(value, kind)


def _text(value: Any, kind: Kind) -> str:
    if kind == "list":
        return " ".join(_escaped(v) for v in cast("list[str]", value))
    if kind == "boolean":
        return "true" if value else "false"
    return str(value)


def _escaped(entry: str) -> str:
    if not entry:
        return "%"
    return "".join("".join(f"%{b:02X}" for b in c.encode()) if c.isspace() or c == "%" else c for c in entry)


def _unescaped(entry: str) -> str:
    def characters(match: re.Match[str]) -> str:
        return bytes.fromhex(match.group().replace("%", "")).decode("utf-8", "replace")

    return "" if entry == "%" else re.sub(r"(?:%[0-9A-F]{2})+", characters, entry)
