"""The keywords of JSON Schema that speak of one value: type, closed lists, ranges, lengths, patterns, formats."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, cast

from ukai.graph import checks, numbers, regex, times
from ukai.graph.problem import NOTHING, Problem

Check = Callable[[Any, str, list[Problem]], None]
Object = dict[str, Any]


class UnusableSchema(ValueError):
    """The schema itself is wrong; `where` is a JSON pointer into it."""

    def __init__(self, message: str, *, where: str) -> None:
        super().__init__(message)
        self.where = where


_IS: dict[str, Callable[[Any], bool]] = {
    "string": lambda v: isinstance(v, str),
    "integer": lambda v: numbers.is_number(v) and numbers.is_whole(numbers.exact(v)),
    "number": numbers.is_number,
    "boolean": lambda v: isinstance(v, bool),
    "null": lambda v: v is None,
    "object": lambda v: isinstance(v, dict),
    "array": lambda v: isinstance(v, list),
}


def _type(members: Object, where: str) -> Check:
    named = members["type"]
    names = cast("list[Any]", named) if isinstance(named, list) else [named]
    if not names or any(n not in _IS for n in names):
        raise UnusableSchema(f"no type is called {named!r}", where=where)
    tests = [_IS[n] for n in names]
    expected = " | ".join(names)

    def check(value: Any, at: str, problems: list[Problem]) -> None:
        if not any(test(value) for test in tests):
            problems.append(
                Problem(
                    code="type_mismatch",
                    at=at,
                    message=f"is not of type {expected}",
                    expected=expected,
                    expected_value={"kind": names if len(names) > 1 else names[0]},
                    received=value,
                    fix=_number_in(value, names),
                )
            )

    return check


def _number_in(value: Any, names: list[Any]) -> Any:
    """The number that a text writes, where a number is wanted."""
    number = numbers.from_text(value.strip()) if isinstance(value, str) else None
    if number is None or not {"integer", "number"} & set(names):
        return NOTHING
    if numbers.is_whole(number):
        return int(number)
    return float(number) if "number" in names and numbers.exact(float(number)) == number else NOTHING


def _values(members: Object, where: str) -> Check:
    values = members["enum"]
    if not isinstance(values, list):
        raise UnusableSchema("enum is a list", where=where)
    return _closed(cast("list[Any]", values))


def _const(members: Object, where: str) -> Check:
    return _closed([members["const"]])


def _closed(values: list[Any]) -> Check:
    known = {checks.identity(v) for v in values}
    texts = [v for v in values if isinstance(v, str)]

    def check(value: Any, at: str, problems: list[Problem]) -> None:
        if checks.identity(value) not in known:
            problems.append(checks.not_one_of(value, at, values, texts))

    return check


def _limit(keyword: str, words: str, broken: Callable[[Any, Decimal], bool]) -> Any:
    def build(members: Object, where: str) -> Check:
        if not numbers.is_number(members[keyword]):
            raise UnusableSchema(f"{keyword} is a number", where=where)
        bound = numbers.exact(members[keyword])
        if keyword == "multipleOf" and bound <= 0:
            raise UnusableSchema("multipleOf is above zero", where=where)

        def check(value: Any, at: str, problems: list[Problem]) -> None:
            if numbers.is_number(value) and broken(numbers.exact(value), bound):
                problems.append(checks.outside(value, at, f"{words} {bound}"))

        return check

    return build


def count(keyword: str, members: Object, where: str) -> int:
    """The whole number of a counting keyword."""
    value = members[keyword]
    if not numbers.is_number(value) or not numbers.is_whole(numbers.exact(value)) or value < 0:
        raise UnusableSchema(f"{keyword} is a whole number from 0", where=where)
    return int(value)


def _min_length(members: Object, where: str) -> Check:
    least = count("minLength", members, where)

    def check(value: Any, at: str, problems: list[Problem]) -> None:
        if isinstance(value, str) and len(value) < least:
            problems.append(checks.short(value, at, least))

    return check


def _max_length(members: Object, where: str) -> Check:
    most = count("maxLength", members, where)

    def check(value: Any, at: str, problems: list[Problem]) -> None:
        if isinstance(value, str) and len(value) > most:
            problems.append(checks.long(value, at, most))

    return check


def matcher(pattern: Any, where: str) -> Callable[[str], bool]:
    """The compiled pattern. Raises UnusableSchema."""
    matches = regex.compiled(pattern) if isinstance(pattern, str) else "not text"
    if isinstance(matches, str):
        raise UnusableSchema(f"pattern {pattern!r} cannot be used: {matches}", where=where)
    return matches


def _pattern(members: Object, where: str) -> Check:
    matches = matcher(members["pattern"], where)

    def check(value: Any, at: str, problems: list[Problem]) -> None:
        if isinstance(value, str) and not matches(value):
            problems.append(checks.unlike(value, at, members["pattern"]))

    return check


def _format(members: Object, where: str) -> Check | None:
    name = members["format"]
    if name not in _FORMATS:
        return None  # an annotation
    is_written, expected = _FORMATS[name]

    def check(value: Any, at: str, problems: list[Problem]) -> None:
        if isinstance(value, str) and not is_written(value):
            problems.append(
                Problem(
                    code="format_invalid",
                    at=at,
                    message="is not written in its format",
                    expected=expected,
                    received=value,
                    hint=f"write a {expected}",
                )
            )

    return check


_FORMATS: Mapping[str, tuple[Callable[[str], bool], str]] = {
    "date": (times.is_date, "date (YYYY-MM-DD)"),
    "date-time": (times.is_datetime, "datetime (2026-11-29T08:30:00Z)"),
}

VALUE_KEYWORDS: Mapping[str, Callable[[Object, str], Check | None]] = {
    "type": _type,
    "enum": _values,
    "const": _const,
    "minimum": _limit("minimum", "at least", lambda v, b: v < b),
    "maximum": _limit("maximum", "at most", lambda v, b: v > b),
    "exclusiveMinimum": _limit("exclusiveMinimum", "more than", lambda v, b: v <= b),
    "exclusiveMaximum": _limit("exclusiveMaximum", "less than", lambda v, b: v >= b),
    "multipleOf": _limit("multipleOf", "a multiple of", lambda v, b: not numbers.is_multiple(v, b)),
    "minLength": _min_length,
    "maxLength": _max_length,
    "pattern": _pattern,
    "format": _format,
}
