"""The expressions of `error_when` and `empty_when`: comparisons of a place in the result with a JSON value.

    hits == []          ok == false          meta.total == 0 || items == []          status >= 400

`&&` binds tighter than `||`. A place that is not there equals nothing but null, and is neither less nor greater.
"""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from ukai.kit.finding import Finding, excerpt

_TERM = re.compile(
    r"\s*(?P<path>[A-Za-z_$][\w$]*(?:\.[A-Za-z_$][\w$]*|\[\d{1,6}\])*)\s*(?P<op>==|!=|<=|>=|<|>)\s*(?P<value>.+?)\s*\Z",
    re.S,
)
_STEP = re.compile(r"[A-Za-z_$][\w$]*|\[\d+\]")
_JOINT = re.compile(r'("(?:[^"\\]|\\.)*")|(\|\||&&)')
_ORDER: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """One place held against one value."""

    path: tuple[str | int, ...]
    op: str
    value: Any

    def __call__(self, result: Any) -> bool:
        """Whether it is true of `result`."""
        seen = _at(result, self.path)
        if self.op in ("==", "!="):
            return _equal(seen, self.value) is (self.op == "==")
        comparable = _is_number(seen) and _is_number(self.value)
        return comparable and _ORDER[self.op](seen, self.value)


@dataclass(frozen=True, kw_only=True)
class Expression:
    """Any of `choices`, each of which is all of its comparisons."""

    choices: tuple[tuple[Comparison, ...], ...]

    def __call__(self, result: Any) -> bool:
        """Whether it is true of `result`."""
        return any(all(part(result) for part in choice) for choice in self.choices)


def read(text: str, *, where: str) -> tuple[Expression | None, list[Finding]]:
    """The expression that `text` writes; with findings, None comes back."""
    choices: list[list[Comparison]] = [[]]
    start = 0
    for joint in [*_JOINT.finditer(text), None]:
        if joint is not None and joint[2] is None:
            continue  # text in quotes
        term = text[start : joint.start() if joint else len(text)]
        comparison = _comparison(term)
        if comparison is None:
            return None, [_wrong(term, where)]
        choices[-1].append(comparison)
        if joint is not None:
            start = joint.end()
            if joint[2] == "||":
                choices.append([])
    return Expression(choices=tuple(tuple(choice) for choice in choices)), []


def _comparison(term: str) -> Comparison | None:
    match = _TERM.match(term)
    if match is None:
        return None
    try:
        value = json.loads(match["value"])
    except (ValueError, RecursionError):
        return None
    steps = tuple(int(s[1:-1]) if s[0] == "[" else s for s in _STEP.findall(match["path"]))
    return Comparison(path=steps, op=match["op"], value=value)


def _at(value: Any, path: tuple[str | int, ...]) -> Any:
    for step in path:
        if isinstance(step, int) and isinstance(value, list):
            items = cast("list[Any]", value)
            value = items[step] if step < len(items) else None
        elif isinstance(step, str) and isinstance(value, Mapping):
            value = cast("Mapping[str, Any]", value).get(step)
        else:
            return None
    return value


def _equal(a: Any, b: Any) -> bool:
    return isinstance(a, bool) is isinstance(b, bool) and a == b


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _wrong(term: str, where: str) -> Finding:
    return Finding(
        code="invalid_rule",
        where=where,
        message=f"{term.strip()!r} is no comparison of a place in the result with a JSON value",
        expected="place == value, also != < <= > >=, joined by && or ||",
        received=excerpt(term),
        hint='write for example `hits == []`, `ok == false` or `status == "failed"`',
    )
