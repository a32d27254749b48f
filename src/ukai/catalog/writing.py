"""YAML written so plainly that every reader agrees on it: block style, text quoted wherever a reader could differ."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, cast

_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_./@-]*(?: [A-Za-z0-9_./@(][A-Za-z0-9_./@(),'-]*)*[.!?]?\Z")
_WORDS = frozenset({"null", "true", "false", "yes", "no", "on", "off", "y", "n"})
"""Words that some reader of YAML takes for something else than text."""


def front_matter(data: Mapping[str, Any], body: str) -> str:
    """A file that opens with `data` and goes on with `body`, byte for byte."""
    return "---\n" + mapping(data) + "---\n" + body


def mapping(data: Mapping[str, Any], indent: str = "") -> str:
    """Text and mappings of text, one line each."""
    lines: list[str] = []
    for key, value in data.items():
        if isinstance(value, Mapping):
            inner = mapping(cast("Mapping[str, Any]", value), indent + "  ")
            lines.append(f"{indent}{scalar(key)}:\n{inner}" if inner else f"{indent}{scalar(key)}: {{}}\n")
        else:
            lines.append(f"{indent}{scalar(key)}: {scalar(value)}\n")
    return "".join(lines)


def scalar(value: object) -> str:
    """One value on one line."""
    if not isinstance(value, str):
        return json.dumps(value)
    if len(value) <= 120 and _PLAIN.match(value) and value.casefold() not in _WORDS:
        return value
    quoted = json.dumps(value, ensure_ascii=False)
    # What JSON leaves as it is and YAML does not read: control characters, line ends of Unicode, byte order marks.
    return "".join(c if c.isprintable() or c == " " else _escape(c) for c in quoted)


def _escape(char: str) -> str:
    code = ord(char)
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"
