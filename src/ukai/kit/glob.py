"""Globs over paths (`drive/legal/**`): one meaning, rendered for Python and for PostgreSQL.

A path is segments between slashes. `*` stands for any characters inside one segment (none included), `?` for one
character, a segment `**` for any number of whole segments (none included: `drive/legal/**` covers `drive/legal`).
Every other character stands for itself; letter case counts.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from ukai.kit.unicode import is_storable

_STAR = "[^/]*"
_ONE = "[^/]"


@dataclass(frozen=True, kw_only=True)
class Glob:
    """A compiled pattern."""

    pattern: str
    regex: re.Pattern[str]
    """Held against the whole of `path + "/"`; needs no time beyond path length times pattern length."""
    sql: str
    """A PostgreSQL regular expression for `(path || '/') ~ %s`, handed over as a parameter."""

    def matches(self, path: str) -> bool:
        """Whether the pattern covers the whole path."""
        return self.regex.fullmatch(path + "/") is not None


def problem(pattern: str) -> str:
    """Why an author should not write this pattern, or nothing. What is refused here could silently cover less."""
    if not pattern:
        return "an empty pattern covers nothing"
    if not is_storable(pattern):
        return "the pattern holds a character that no path can hold"
    if pattern.startswith("/") or pattern.endswith("/") or "//" in pattern:
        return "a pattern neither begins nor ends with a slash, and has no two in a row"
    if any("**" in s and s != "**" for s in pattern.split("/")):
        return "** stands alone between slashes"
    if re.search(r"[\[\]{}\\]", pattern):
        return "brackets, braces and backslashes have no meaning in a pattern; ? covers one such character"
    return ""


@lru_cache(maxsize=4096)
def compile(pattern: str) -> Glob:
    """`pattern` ready to match. Any text is accepted; what `problem` warns of is taken literally."""
    segments = pattern.split("/")
    blocks: list[list[str]] = [[]]
    for segment in segments:
        if segment == "**":
            blocks.append([])
        else:
            blocks[-1].append(segment)
    return Glob(pattern=pattern, regex=re.compile(_python(blocks), re.DOTALL), sql=_postgres(segments))


def _python(blocks: list[list[str]]) -> str:
    """Blocks lie between `**`. The leftmost place of each is final (atomic): order is all that counts between them."""
    if len(blocks) == 1:
        return "".join(_segment(s) for s in blocks[0])
    first, *middle, last = ["".join(_segment(s) for s in block) for block in blocks]
    jumps = [f"(?>(?:{_STAR}/)*?{block})" for block in middle if block]
    return f"{first}{''.join(jumps)}(?:{_STAR}/)*{last}" if last else f"{first}{''.join(jumps)}(?:{_STAR}/)*"


def _segment(segment: str) -> str:
    """One segment with its slash. Leftmost and final inside it, too, so that `*a*a*a*b` cannot explode."""
    first, *rest = [_literal(part) for part in re.split(r"\*+", segment)]
    if not rest:
        return first + "/"
    *middle, last = rest
    return first + "".join(f"(?>{_STAR}?{part})" for part in middle if part) + f"{_STAR}{last}/"


def _literal(part: str) -> str:
    return "".join(_ONE if c == "?" else re.escape(c) for c in part)


def _postgres(segments: list[str]) -> str:
    """PostgreSQL's advanced expressions run as an automaton: the plain rendering is safe there."""
    body = "".join(f"(?:{_STAR}/)*" if s == "**" else "".join(_pg(c) for c in s) + "/" for s in segments)
    return f"^{body}$"


def _pg(char: str) -> str:
    if char == "*":
        return _STAR
    if char == "?":
        return _ONE
    # A backslash before an ASCII letter or digit would be an escape; before anything else it makes it literal.
    return char if char.isalnum() or not char.isascii() else "\\" + char
