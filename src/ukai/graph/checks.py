"""The checks that field kinds and JSON Schema share: each says what is wrong with a value, and where."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from ukai.graph import numbers
from ukai.graph.problem import NOTHING, Problem
from ukai.kit import suggest


def identity(value: Any) -> Any:
    """A hashable stand-in: equal for values that JSON Schema calls equal (1 and 1.0), unequal for 1 and true."""
    if isinstance(value, bool):
        return ("boolean", value)
    if numbers.is_number(value):
        return numbers.exact(value)
    if isinstance(value, list | tuple):
        return ("list", tuple(identity(v) for v in cast("Sequence[Any]", value)))
    if isinstance(value, dict):
        return ("object", frozenset((k, identity(v)) for k, v in cast("dict[str, Any]", value).items()))
    return value


def escaped(part: str) -> str:
    """`part` as one step of a JSON pointer."""
    return part.replace("~", "~0").replace("/", "~1")


def short(value: str, at: str, limit: int) -> Problem:
    """A text below its least length."""
    return Problem(
        code="too_short",
        at=at,
        message=f"has {len(value)} characters",
        expected=f"at least {limit} characters",
        received=value,
        hint=f"write at least {limit} characters",
    )


def long(value: str, at: str, limit: int) -> Problem:
    """A text above its greatest length."""
    return Problem(
        code="too_long",
        at=at,
        message=f"has {len(value)} characters",
        expected=f"at most {limit} characters",
        received=value,
        hint=f"shorten it to {limit} characters",
    )


def unlike(value: str, at: str, pattern: str) -> Problem:
    """A text that its pattern does not occur in."""
    return Problem(
        code="pattern_mismatch",
        at=at,
        message="does not match the pattern",
        expected=f"text matching {pattern}",
        received=value,
        hint=f"write text that matches {pattern}",
    )


def outside(value: Any, at: str, expected: str) -> Problem:
    """A number or day outside its range."""
    return Problem(
        code="out_of_range",
        at=at,
        message=f"is not {expected}",
        expected=expected,
        received=value,
        hint=f"write {expected}",
    )


def not_one_of(value: Any, at: str, values: Sequence[Any], texts: Sequence[str]) -> Problem:
    """A value outside a closed list, with the one that was probably meant."""
    meant = suggest.suggest(value, texts) if isinstance(value, str) else None
    return Problem(
        code="enum_mismatch",
        at=at,
        message="is not one of its values",
        expected=" | ".join(v if isinstance(v, str) else _text(v) for v in values),
        expected_value={"kind": "enum", "values": list(values)},
        received=value,
        fix=meant.name if meant else NOTHING,
        confidence=meant.confidence if meant else "exact",
        hint="" if meant else suggest.hint_for(value if isinstance(value, str) else "", map(_text, values)),
    )


def counted(items: Sequence[Any], at: str, least: int | None, most: int | None, problems: list[Problem]) -> None:
    """The length of a list against its bounds."""
    if least is not None and len(items) < least:
        problems.append(_items("too_few_items", items, at, f"at least {least} items"))
    if most is not None and len(items) > most:
        problems.append(_items("too_many_items", items, at, f"at most {most} items"))


def distinct(items: Sequence[Any], at: str, problems: list[Problem]) -> None:
    """No value twice; the problem stands at the second one."""
    seen: dict[Any, int] = {}
    for i, item in enumerate(items):
        first = seen.setdefault(identity(item), i)
        if first != i:
            problems.append(
                Problem(
                    code="duplicate_items",
                    at=f"{at}/{i}",
                    message=f"repeats item {first}",
                    expected="items that differ",
                    received=item,
                    hint="remove the repetition",
                )
            )


def _items(code: str, items: Sequence[Any], at: str, expected: str) -> Problem:
    return Problem(
        code=code,
        at=at,
        message=f"has {len(items)} items",
        expected=expected,
        received=f"{len(items)} items",
        hint=f"give {expected}",
    )


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
