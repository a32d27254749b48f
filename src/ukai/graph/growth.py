"""How large an expression may become over given values, before it is evaluated.

The engine bounds its iterations and not its memory: one long text in `x + x + ..`, or in the body of a `map`, came to
850 MB. What an expression can do to the size of its values is read from its text once; with the size of the values it
gives a bound that is never too small. Whoever evaluates refuses what could come to more than `MOST`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

_PLAIN = 8
"""Characters for which a value counts that is no text, and a place in a list."""
MOST = 32 << 20
"""Characters that one evaluation may come to, all in all."""
TOO_LARGE = f"the values are too long for it: it could come to more than {MOST >> 20} MiB"

_TEXTS = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'")
_LITERAL = re.compile(r"\"|\b\d|\[|\{")
_LOOP = re.compile(r"\.\s*(map|filter|all|exists|exists_one)\s*\(\s*([A-Za-z_]\w*)\s*,")
_NAME = re.compile(r"(?<![\w.])[A-Za-z_]\w*\b(?!\s*\()")
_WORDS = frozenset({"true", "false", "null", "in"})


@dataclass(frozen=True, kw_only=True)
class Size:
    """Of values."""

    characters: int = 0
    longest: int = 0
    """Elements of the longest list among them."""


def size_of(value: Any) -> Size:
    """Of one value with all that is in it."""
    characters, longest = _measured(value)
    return Size(characters=characters, longest=longest)


def _measured(value: Any) -> tuple[int, int]:
    if isinstance(value, str):
        return len(value), 0
    if isinstance(value, dict):
        parts, longest = list(cast("dict[Any, Any]", value).values()), 0
    elif isinstance(value, list):
        parts = cast("list[Any]", value)
        longest = len(parts)
    else:
        return _PLAIN, 0
    characters = _PLAIN * len(parts)
    for part in parts:
        inner, within = _measured(part)
        characters += inner
        longest = max(longest, within)
    return characters, longest


@dataclass(frozen=True, kw_only=True)
class Growth:
    """What an expression does to the size of its values."""

    written: int
    """Characters of its literals, and of the lists that it writes out."""
    sums: int
    """Plus signs."""
    lengthening: int
    """Those that may make a list longer before a loop goes over it: outside of the innermost bodies."""
    names: int
    """Places at which it speaks of a value."""
    joining: int
    """Loops that join in their bodies, and of those the ones that reach out of the body for more than their element."""
    joining_out: int
    loops: int
    """The same of all loops."""
    loops_out: int

    @property
    def is_still(self) -> bool:
        """Whether nothing is joined: values are looked at and not copied."""
        return self.sums == 0

    def evaluated(self, of: Size) -> int:
        """Characters that the engine may write while it evaluates: a chain of sums writes each of its beginnings."""
        if self.is_still:
            return 0
        return self._times(of, self.sums, self.joining, self.joining_out) * (self.sums + 1)

    def given_back(self, of: Size) -> int:
        """The same, with the result written out: a value stands in it as often as it is named."""
        return self.evaluated(of) + self._times(of, self.names + self.sums, self.loops, self.loops_out)

    def _times(self, of: Size, copies: int, loops: int, reaching: int) -> int:
        # One loop over what another made multiplies what both copy: at most when they share the copies evenly.
        grown = (1 + copies / (loops + 1)) ** (loops + 1)
        turns = max(1, of.longest * (self.lengthening + 1))
        own = of.characters + self.written * (turns if loops else 1)
        return int(min(own * grown * float(turns) ** reaching, float(1 << 62)))


def growth_of(text: str) -> Growth:
    """What `text`, an expression in CEL, does to the size of its values."""
    bare = _TEXTS.sub(lambda m: '"' + " " * (len(m[0]) - 2) + '"', text)
    loops = list(_loops(bare))
    reaching = [_reaches_out(variable, body) for variable, body in loops]
    joining = ["+" in body for _, body in loops]
    return Growth(
        written=sum(len(t) for t in _TEXTS.findall(text)) + _PLAIN * len(_LITERAL.findall(bare)),
        sums=bare.count("+"),
        lengthening=bare.count("+") - sum(body.count("+") for _, body in loops if not _LOOP.search(body)),
        names=len(_names(bare)),
        joining=sum(joining),
        joining_out=sum(j and r for j, r in zip(joining, reaching, strict=True)),
        loops=len(loops),
        loops_out=sum(reaching),
    )


def _loops(bare: str) -> Iterator[tuple[str, str]]:
    """The variable of each loop and what stands behind it, up to the closing bracket."""
    for found in _LOOP.finditer(bare):
        depth, at = 1, found.end()
        while at < len(bare) and depth:
            depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(bare[at], 0)
            at += 1
        yield found[2], bare[found.end() : at]


def _reaches_out(variable: str, body: str) -> bool:
    inside = {variable, *(found[2] for found in _LOOP.finditer(body))}
    return any(name not in inside for name in _names(body))


def _names(bare: str) -> list[str]:
    return [name for name in _NAME.findall(bare) if name not in _WORDS]
