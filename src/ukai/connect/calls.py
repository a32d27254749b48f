"""The functions that expressions have beside CEL's own, and their calls that need no engine.

A call whose arguments are columns, literals and such calls again is evaluated here, before the engine is asked: it is
faster, and the engine keeps every text that it hands to a function of ours (about 100 bytes a call, for ever), which
millions of rows would feel. What hangs on anything else, `row.tags.map(t, lower(t))`, is left to the engine.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from ukai.graph import growth, kinds, numbers, times

Call = Callable[[Mapping[str, Any]], Any]
"""A row -> the value. Raises ValueError where there is none."""


@dataclass(frozen=True, kw_only=True)
class Function:
    """One of ours."""

    run: Callable[..., Any]
    takes: tuple[tuple[type, ...], ...]
    """Kinds of each argument; null goes through and is not named. Empty: any number of any kind."""


@dataclass(frozen=True, kw_only=True)
class Found:
    """A part of an expression that can be evaluated here."""

    start: int
    end: int
    run: Call


_TOKEN = re.compile(
    r"""\s*(?:(?P<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|(?P<column>\brow\.(?P<name>[A-Za-z_]\w*)(?![\w.(\[]))"""
    r"""|(?P<index>\brow\[\s*(?P<quoted>"[^"\\]*"|'[^'\\]*')\s*\](?![.(\[]))|(?P<call>(?<![\w.])[a-z]+)\s*\(|(?P<sign>[(),]))"""
)


def found(text: str) -> Iterator[Found]:
    """The largest such parts of an expression, from left to right: calls, and an expression that is one column."""
    whole = _parsed(text, 0)
    if whole is not None and not text[whole.end :].strip():
        yield whole
        return
    bare, at = blanked(text), 0
    while (call := _CALLS.search(bare, at)) is not None:
        part = _parsed(text, call.start())
        at = call.end() if part is None else part.end
        if part is not None:
            yield part


def blanked(text: str) -> str:
    """`text` with the inside of its string literals blanked."""
    return _TEXTS.sub(lambda m: '"' + " " * (len(m[0]) - 2) + '"', text)


_TEXTS = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'")


def _parsed(text: str, at: int) -> Found | None:
    """The call, column or literal that begins at a place; None when it is something else."""
    token = _TOKEN.match(text, at)
    if token is None or token["sign"]:
        return None
    start = next(token.start(g) for g in ("text", "column", "index", "call") if token[g])
    if token["text"]:
        if "\\" in token["text"]:
            return None  # escapes are the engine's business
        return Found(start=start, end=token.end(), run=_constant(token["text"][1:-1]))
    if token["column"] or token["index"]:
        return Found(start=start, end=token.end(), run=_column(token["name"] or token["quoted"][1:-1]))
    function = FUNCTIONS.get(token["call"])
    if function is None:
        return None
    arguments: list[Call] = []
    end = token.end()
    while (argument := _parsed(text, end)) is not None:
        arguments.append(argument.run)
        after = _TOKEN.match(text, argument.end)
        if after is None or after["sign"] not in (",", ")"):
            return None
        end = after.end()
        if after["sign"] == ")":
            return Found(start=start, end=end, run=_call(token["call"], function, arguments))
    return None


def _constant(value: str) -> Call:
    return lambda row: value


def _column(name: str) -> Call:
    return lambda row: row.get(name)


def _call(name: str, function: Function, arguments: list[Call]) -> Call:
    run, takes = function.run, function.takes

    def several(row: Mapping[str, Any]) -> Any:
        return run([argument(row) for argument in arguments])

    def call(row: Mapping[str, Any]) -> Any:
        values = [argument(row) for argument in arguments]
        for value, taken in zip(values, takes, strict=True):
            if value is not None and type(value) not in taken:
                shown = ", ".join(_kind(v) for v in values)
                raise ValueError(f"no such function for these kinds: {name}({shown})")
        return run(*values)

    return call if takes else several


# The functions.

_FIGURE = re.compile(r"[-+]?\d{1,3}(?:,\d{3})+(?:\.\d+)?\Z")


def _lower(value: str | None) -> str | None:
    return None if value is None else value.lower()


def _trim(value: str | None) -> str | None:
    return None if value is None else value.strip()


def _date(value: str | None) -> str | None:
    """`2026-01-05`, also of `2026/1/5` and of an instant; empty text is null."""
    text = (value or "").strip()
    if not text:
        return None
    day = text if times.is_date(text) else times.probable_date(text)
    if day is None:
        raise ValueError(f"{text[:40]!r} is no date")
    return day


def _number(value: str | int | float | Decimal | None) -> Any:
    """A whole number as such, any other as exact decimal text; `1,250.00` without its commas; empty text is null."""
    if not isinstance(value, str):
        return value
    text = value.strip()
    if not text:
        return None
    found = numbers.from_text(text.replace(",", "").removeprefix("+") if _FIGURE.match(text) else text)
    if found is None:
        raise ValueError(f"{text[:40]!r} is no number")
    plain = numbers.plain(found)
    return plain if isinstance(plain, str) or abs(plain) < 1 << 63 else str(plain)


def _split(value: str | None, by: str) -> list[str]:
    """The parts, trimmed, without empty ones."""
    return [p for part in (value or "").split(by) if (p := part.strip())]


def _join(values: list[Any] | None, by: str) -> str | None:
    if values is None:
        return None
    texts = [str(v) for v in values if v is not None]
    if sum(map(len, texts)) + len(by) * len(texts) > growth.MOST:
        raise ValueError(growth.TOO_LARGE)
    return by.join(texts)


def _coalesce(values: list[Any]) -> Any:
    """The first that is neither null nor empty text."""
    return next((v for v in values if v is not None and v != ""), None)


def _kind(value: Any) -> str:
    return "null" if value is None else kinds.kind_of(value)


_NUMBERS = (int, float, Decimal)
FUNCTIONS: Mapping[str, Function] = {
    "lower": Function(run=_lower, takes=((str,),)),
    "trim": Function(run=_trim, takes=((str,),)),
    "date": Function(run=_date, takes=((str,),)),
    "number": Function(run=_number, takes=((str, *_NUMBERS),)),
    "split": Function(run=_split, takes=((str,), (str,))),
    "join": Function(run=_join, takes=((list,), (str,))),
    "coalesce": Function(run=_coalesce, takes=()),
}
"""Name -> function."""
_CALLS = re.compile(rf"(?<![\w.])(?:{'|'.join(FUNCTIONS)})\s*\(")
