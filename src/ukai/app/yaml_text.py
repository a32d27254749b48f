"""Plain data as YAML that people edit: block style, what is short on one line. `kit.document` reads it as it was."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from ukai.catalog import writing

WIDTH = 116
"""Up to here a list or a mapping stands on one line, if nothing in it holds more than plain values."""


def dumps(data: Mapping[str, Any]) -> str:
    """One document."""
    return "".join(f"{line}\n" for line in _mapping(data, 0)) or "{}\n"


def _mapping(data: Mapping[str, Any], depth: int) -> Iterator[str]:
    pad = "  " * depth
    for key, value in data.items():
        name = f"{pad}{_scalar(key)}:"
        short = _short(value, WIDTH - len(name))
        if short is not None:
            yield f"{name} {short}"
            continue
        yield name
        yield from _nested(value, depth + 1)


def _list(data: Sequence[Any], depth: int) -> Iterator[str]:
    pad = "  " * depth
    for value in data:
        short = _short(value, WIDTH - len(pad) - 2)
        if short is not None:
            yield f"{pad}- {short}"
            continue
        inner = _nested(value, depth + 1)
        first = next(inner)
        yield f"{pad}- {first.lstrip(' ')}"
        yield from inner


def _nested(value: Any, depth: int) -> Iterator[str]:
    if isinstance(value, dict):
        return _mapping(cast("dict[str, Any]", value), depth)
    return _list(cast("list[Any]", value), depth)


def _short(value: Any, room: int) -> str | None:
    """On one line; None when it does not fit there."""
    if not isinstance(value, dict | list):
        return _scalar(value)
    parts = list(cast("dict[str, Any]", value).values()) if isinstance(value, dict) else cast("list[Any]", value)
    if any(p and isinstance(p, dict) for p in parts):
        return None
    text = _flow(value)
    return text if len(text) <= room or not parts else None


def _flow(value: Any) -> str:
    if isinstance(value, dict):
        members = cast("dict[str, Any]", value)
        return "{" + ", ".join(f"{_scalar(k)}: {_flow(v)}" for k, v in members.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_flow(v) for v in cast("list[Any]", value)) + "]"
    return _scalar(value)


def _scalar(value: Any) -> str:
    text = writing.scalar(value)
    # A comma ends a plain text inside brackets.
    return text if text.startswith('"') or "," not in text else json.dumps(value, ensure_ascii=False)
