"""Expressions over a row: CEL (formats §8) with `lower`, `trim`, `date`, `number`, `split`, `join`, `coalesce`.

A row's columns are known only when it comes: expressions are checked for syntax and names when the file is read, and
evaluated over whatever the row holds. What is absent is null, and null goes through every function.
All expressions of a connector are one list to the engine, which converts each row once; only a row that fails is asked
expression by expression.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any, cast

from cel_expr_python import cel

from ukai.graph import numbers, times
from ukai.kit import suggest

MAX_EXPRESSION = 2_000
ROW = "row"
_NAME = re.compile(r"\brow(?:\.([A-Za-z_]\w*)|\[\s*(\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*')\s*\])?")
_TEXTS = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'")
_ASKED = re.compile(r"\bhas\(\s*(row\.\w+)\s*\)")
_FIGURE = re.compile(r"[-+]?\d{1,3}(?:,\d{3})+(?:\.\d+)?\Z")


@dataclass(frozen=True, kw_only=True)
class Fault:
    """Why an expression cannot be used."""

    message: str
    column: int = 1
    """Inside the expression, from 1."""
    hint: str = ""


@dataclass(frozen=True, kw_only=True)
class Failed:
    """An expression that gave no value for one row."""

    name: str
    expression: str
    reason: str


def faults(text: str) -> list[Fault]:
    """What is wrong with an expression; nothing when it can be used."""
    if len(text) > MAX_EXPRESSION:
        return [Fault(message="the expression is too long", hint=f"write at most {MAX_EXPRESSION} characters")]
    written = _listed(text)
    try:
        _ENV.compile(written)
    except RuntimeError as error:
        found = re.findall(r"ERROR: <input>:(-?\d+):(-?\d+): (.*)", str(error))
        places = [_fault(text, _place(text, written, int(column)), said) for _, column, said in found]
        return places or [Fault(message=str(error).splitlines()[0][:200])]
    return []


def columns(text: str) -> frozenset[str] | None:
    """The columns that an expression reads; None when it takes the row as a whole."""
    bare = _bare(text)
    uses = [_NAME.match(text, use.start()) for use in re.finditer(r"\brow\b", bare)]
    names = [u[1] or (u[2] or "")[1:-1] for u in uses if u is not None]
    return None if "" in names else frozenset(names)


class Expressions:
    """Named expressions that have no faults, compiled together."""

    def __init__(self, expressions: Mapping[str, str]) -> None:
        self._texts = dict(expressions)
        self._whole = _ENV.compile("[" + ", ".join(f"({_listed(e)})" for e in expressions.values()) + "]")
        used = [columns(e) for e in expressions.values()]
        self.columns = None if None in used else frozenset[str]().union(*(u for u in used if u is not None))
        """The columns that are read; None for all."""

    def values(self, row: Mapping[str, Any]) -> dict[str, Any] | list[Failed]:
        """Name -> value, or every expression that gave none."""
        given = row if self.columns is None else {c: row.get(c) for c in self.columns}
        data = {ROW: {k: _given(v) for k, v in given.items()}}
        found = _evaluated(self._whole, data)
        if isinstance(found, _Said):
            each = {n: _evaluated(_ENV.compile(_listed(e)), data) for n, e in self._texts.items()}
            failed = [(n, v.reason) for n, v in each.items() if isinstance(v, _Said)] or [("", found.reason)]
            return [Failed(name=n, expression=self._texts.get(n, ""), reason=why) for n, why in failed]
        return dict(zip(self._texts, map(_back, found), strict=True))


@dataclass(frozen=True)
class _Said:
    reason: str


def _evaluated(program: Any, data: Mapping[str, Any]) -> Any:
    try:
        found = program.eval(data=data)
    except (RuntimeError, ValueError, TypeError) as error:
        return _Said(_reason(str(error)))
    return _Said(_reason(str(found.plain_value()))) if found.type() == cel.Type.ERROR else found.plain_value()


def _given(value: Any) -> Any:
    """As the engine takes it: what does not fit its numbers without loss is text."""
    if isinstance(value, Decimal):
        near = float(value)
        return near if numbers.exact(near) == value else str(value)
    if isinstance(value, int):
        return value if -(1 << 63) <= value < 1 << 63 else str(value)
    if isinstance(value, dict):
        return {k: _given(v) for k, v in cast("dict[str, Any]", value).items()}
    if isinstance(value, list):
        return [_given(v) for v in cast("list[Any]", value)]
    return value


def _back(value: Any) -> Any:
    if isinstance(value, datetime):
        return times.written(value)
    if isinstance(value, dict):
        return {str(k): _back(v) for k, v in cast("dict[Any, Any]", value).items()}
    if isinstance(value, list):
        return [_back(v) for v in cast("list[Any]", value)]
    return value if value is None or isinstance(value, str | int | float | bool) else str(value)


def _reason(said: str) -> str:
    first = re.sub(r"\s*\[[A-Z_]+\]$|^[A-Z_]+: ", "", said.splitlines()[0] if said else "")
    return first.replace("No matching overloads found : ", "no such function for these kinds: ")[:200] or "no answer"


def _fault(text: str, column: int, said: str) -> Fault:
    name = re.match(r"undeclared reference to '(.*?)'", said)
    if name is None:
        return Fault(message=said[:200], column=max(1, column), hint="see docs/reference/connector.md")
    # The engine points behind the name of a call, and at the dot of a member.
    at = text.rfind(name[1].split(".")[0], 0, column + len(name[1]))
    return Fault(
        message=f"nothing is called {name[1]!r}",
        column=at + 1 if at >= 0 else max(1, column),
        hint=suggest.hint_for(name[1].split(".")[0], [ROW, *_FUNCTIONS]),
    )


def _place(text: str, written: str, column: int) -> int:
    """The column of `text` that stands at a column of what was made of it."""
    head = written[:column]
    added = head.count("([") - text.count("([") + head.count("])") - text.count("])")
    return max(1, column - max(0, added))


def _bare(text: str) -> str:
    """`text` with the inside of its string literals blanked."""
    return _TEXTS.sub(lambda m: '"' + " " * (len(m[0]) - 2) + '"', text)


def _listed(text: str) -> str:
    """`text` as the engine takes it: `coalesce(a, b)` as `coalesce([a, b])`, because it knows no function of any number
    of arguments, and `has(row.a)` as `(row.a != null)`, because what is absent is handed over as null.
    """
    for asked in reversed(list(_ASKED.finditer(_bare(text)))):
        text = f"{text[: asked.start()]}({asked[1]} != null){text[asked.end() :]}"
    bare, found, end = _bare(text), "", 0
    open_: list[bool] = []
    for at, sign in enumerate(bare):
        if sign == "(":
            is_list = re.search(r"\bcoalesce\s*\Z", bare[:at]) is not None
            open_.append(is_list)
            if is_list:
                found, end = found + text[end:at] + "([", at + 1
        elif sign == ")" and open_ and open_.pop():
            found, end = found + text[end:at] + "])", at + 1
    return found + text[end:]


# The functions.


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


def _number(value: str | int | float | None) -> Any:
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
    return None if values is None else by.join(str(v) for v in values if v is not None)


def _coalesce(values: list[Any]) -> Any:
    """The first that is neither null nor empty text."""
    return next((v for v in values if v is not None and v != ""), None)


_TEXT, _NULL, _ANY = cel.Type.STRING, cel.Type.NULL, cel.Type.DYN
_FUNCTIONS: Mapping[str, tuple[Callable[..., Any], Any, tuple[tuple[Any, ...], ...]]] = {
    "lower": (_lower, _ANY, ((_TEXT,), (_NULL,))),
    "trim": (_trim, _ANY, ((_TEXT,), (_NULL,))),
    "date": (_date, _ANY, ((_TEXT,), (_NULL,))),
    "number": (_number, _ANY, ((_TEXT,), (_NULL,), (cel.Type.INT,), (cel.Type.DOUBLE,))),
    "split": (_split, cel.Type.List(_ANY), ((_TEXT, _TEXT), (_NULL, _TEXT))),
    "join": (_join, _ANY, ((cel.Type.List(_ANY), _TEXT), (_NULL, _TEXT))),
    "coalesce": (_coalesce, _ANY, ((cel.Type.List(_ANY),),)),
}
"""Name -> (function, what it gives, the kinds it takes)."""


def _environment() -> cel.Env:
    declared = [
        cel.FunctionDecl(
            name,
            [
                cel.Overload(id=f"{name}_{i}", return_type=gives, parameters=list(takes), impl=function)
                for i, takes in enumerate(ways)
            ],
        )
        for name, (function, gives, ways) in _FUNCTIONS.items()
    ]
    return cel.NewEnv(variables={ROW: cel.Type.Map(_TEXT, _ANY)}, functions=declared)


_ENV = _environment()
