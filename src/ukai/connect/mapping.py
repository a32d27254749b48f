"""Expressions over a row: CEL (formats §8) with `lower`, `trim`, `date`, `number`, `split`, `join`, `coalesce`.

A row's columns are known only when it comes: expressions are checked for syntax and names when the file is read, and
evaluated over whatever the row holds. What is absent is null, and null goes through every function.
Columns and calls of our functions are evaluated here (`calls`). What is left of all expressions of a connector is one
list to the engine, which converts each row once; only a row that fails is asked expression by expression.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any, cast

from cel_expr_python import cel

from ukai.connect import calls
from ukai.graph import growth, numbers, times
from ukai.kit import suggest

MAX_EXPRESSION = 2_000
ROW = "row"
_NAME = re.compile(r"\brow(?:\.([A-Za-z_]\w*)|\[\s*(\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*')\s*\])?")
_SPLITS = re.compile(r"\bsplit\s*\(")
_ASKED = re.compile(r"\bhas\(\s*(row\.\w+)\s*\)")


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
    bare = calls.blanked(text)
    uses = [_NAME.match(text, use.start()) for use in re.finditer(r"\brow\b", bare)]
    names = [u[1] or (u[2] or "")[1:-1] for u in uses if u is not None]
    return None if "" in names else frozenset(names)


class Expressions:
    """Named expressions that have no faults."""

    def __init__(self, expressions: Mapping[str, str]) -> None:
        self._texts = dict(expressions)
        self._direct: dict[str, calls.Call] = {}
        """Those that need no engine."""
        self._hoisted: dict[str, calls.Call] = {}
        """Variable -> the part of an expression that needs none."""
        self._asked: dict[str, str] = {}
        """The others, as they are handed to the engine."""
        for name, text in expressions.items():
            self._take(name, text)
        self._growths = {name: growth.growth_of(text) for name, text in self._asked.items()}
        self._columns = {name: columns(text) for name, text in self._asked.items()}
        self._fits_short = self._grown(SHORT, *self._asked) <= growth.MOST
        self._whole = _ENV.compile("[" + ", ".join(f"({e})" for e in self._asked.values()) + "]")
        used = list(self._columns.values())
        self._given = None if None in used else frozenset[str]().union(*(u for u in used if u is not None))
        used = [columns(e) for e in expressions.values()]
        self.columns = None if None in used else frozenset[str]().union(*(u for u in used if u is not None))
        """The columns that are read; None for all."""

    def _take(self, name: str, text: str) -> None:
        found = list(calls.found(text))
        if len(found) == 1 and not (text[: found[0].start] + text[found[0].end :]).strip():
            self._direct[name] = found[0].run
            return
        for part in reversed(found[: HOISTED - len(self._hoisted)]):
            variable = f"_{len(self._hoisted)}"
            self._hoisted[variable] = part.run
            text = f"{text[: part.start]}{variable}{text[part.end :]}"
        self._asked[name] = _listed(text)

    def values(self, row: Mapping[str, Any]) -> dict[str, Any] | list[Failed]:
        """Name -> value, or every expression that gave none."""
        values: dict[str, Any] = {}
        failed: dict[str, str] = {}
        for name, run in self._direct.items():
            try:
                values[name] = _given(run(row))
            except ValueError as error:
                failed[name] = str(error)
        if self._asked:
            self._ask(row, values, failed)
        if failed:
            return [Failed(name=n, expression=self._texts[n], reason=failed[n]) for n in self._texts if n in failed]
        return values

    def _ask(self, row: Mapping[str, Any], values: dict[str, Any], failed: dict[str, str]) -> None:
        """What the engine says; the whole at once, and each by itself when one of them gives no value."""
        given = row if self._given is None else {c: row.get(c) for c in self._given}
        data: dict[str, Any] = {ROW: {k: _given(v) for k, v in given.items()}}
        lost: dict[str, str] = {}
        for variable, run in self._hoisted.items():
            try:
                data[variable] = _given(run(row))
            except ValueError as error:
                lost[variable] = str(error)  # only a problem where it is read: the other branch may be taken
        fits = self._fits(data, *self._asked)
        found = _evaluated(self._whole, data) if fits else _Said(growth.TOO_LARGE)
        if not isinstance(found, _Said):
            values.update(zip(self._asked, map(_back, found), strict=True))
            return
        for name, text in self._asked.items():
            own = {ROW: {c: v for c, v in data[ROW].items() if self._reads(name, c)}}
            own |= {v: data[v] for v in self._hoisted if v in data and re.search(rf"\b{v}\b", text)}
            one = _evaluated(_ENV.compile(text), data) if self._fits(own, name) else _Said(growth.TOO_LARGE)
            if isinstance(one, _Said):
                reasons = [why for variable, why in lost.items() if re.search(rf"\b{variable}\b", text)]
                failed[name] = reasons[0] if reasons else one.reason
            else:
                values[name] = _back(one)

    def _fits(self, data: Mapping[str, Any], *names: str) -> bool:
        """Whether what these expressions come to over `data` can be held."""
        size = growth.size_of(data)
        if size.characters <= SHORT.characters and size.longest <= SHORT.longest and self._fits_short:
            return True
        return self._grown(size, *names) <= growth.MOST

    def _grown(self, size: growth.Size, *names: str) -> int:
        # What an expression splits by itself may have as many parts as characters.
        split = growth.Size(characters=size.characters, longest=max(size.longest, size.characters))
        return sum(
            self._growths[name].given_back(split if _SPLITS.search(self._asked[name]) else size) for name in names
        )

    def _reads(self, name: str, column: str) -> bool:
        read = self._columns[name]
        return read is None or column in read


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
        hint=suggest.hint_for(name[1].split(".")[0], [ROW, *calls.FUNCTIONS]),
    )


def _place(text: str, written: str, column: int) -> int:
    """The column of `text` that stands at a column of what was made of it."""
    head = written[:column]
    added = head.count("([") - text.count("([") + head.count("])") - text.count("])")
    return max(1, column - max(0, added))


def _listed(text: str) -> str:
    """`text` as the engine takes it: `coalesce(a, b)` as `coalesce([a, b])`, because it knows no function of any number
    of arguments, and `has(row.a)` as `(row.a != null)`, because what is absent is handed over as null.
    """
    for asked in reversed(list(_ASKED.finditer(calls.blanked(text)))):
        text = f"{text[: asked.start()]}({asked[1]} != null){text[asked.end() :]}"
    bare, found, end = calls.blanked(text), "", 0
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


_KINDS: Mapping[type, Any] = {
    str: cel.Type.STRING,
    int: cel.Type.INT,
    float: cel.Type.DOUBLE,
    list: cel.Type.List(cel.Type.DYN),
}
_GIVES = {"split": cel.Type.List(cel.Type.DYN)}
SHORT = growth.Size(characters=4_096, longest=16)
"""Most rows are no longer: what they come to is worked out once."""
HOISTED = 64
"""Parts of all expressions of a connector that are evaluated before the engine is asked; more are left to it."""


def _environment() -> cel.Env:
    """With our functions for the calls that the engine has to make, and the names of what was evaluated before."""
    declared: list[cel.FunctionDecl] = []
    for name, function in calls.FUNCTIONS.items():
        first = function.takes[0] if function.takes else (list,)
        ways = [[_KINDS[k], *(_KINDS[t[0]] for t in function.takes[1:])] for k in first if k in _KINDS]
        ways += [[cel.Type.NULL, *way[1:]] for way in ways[:1] if function.takes]
        gives = _GIVES.get(name, cel.Type.DYN)
        overloads = [
            cel.Overload(id=f"{name}_{i}", return_type=gives, parameters=way, impl=function.run)
            for i, way in enumerate(ways)
        ]
        declared.append(cel.FunctionDecl(name, overloads))
    hoisted = {f"_{i}": cel.Type.DYN for i in range(HOISTED)}
    rows = cel.Type.Map(cel.Type.STRING, cel.Type.DYN)
    return cel.NewEnv(variables={ROW: rows, **hoisted}, functions=declared)


_ENV = _environment()
