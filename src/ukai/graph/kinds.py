"""The kinds of values that fields hold: a field compiles to one function that checks a value and makes it canonical.

Canonical values are plain JSON: dates and instants as text (instants in UTC with a final Z), whole numbers as int,
other numbers as decimal text, refs as the handle's text. Adding a kind = one function and one line in `_SCALARS`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any, cast

from ukai.graph import checks, json_schema, numbers, regex, times
from ukai.graph.problem import NOTHING, Problem
from ukai.graph.schema import Bound, Field, Kind
from ukai.kit import handle

Check = Callable[[Any, str, list[Problem]], Any]
"""`check(value, at, problems) -> canonical value`: appends what is wrong, with `at` as the pointer of the value. What
comes back after a problem was appended is not to be used.
"""


def compile(field: Field) -> Check:
    """The check of a field's value. Null is not its business, except for json: null clears and is judged before."""
    one = _any_of(field) if field.any_of else _scalar(field)
    check = _many(field, one) if field.many else one
    if field.schema is None:
        return check
    also = json_schema.compile(field.schema)

    def both(value: Any, at: str, problems: list[Problem]) -> Any:
        before = len(problems)
        canonical = check(value, at, problems)
        if len(problems) == before:
            also(value, at, problems)
        return canonical

    return both


def expected_of(field: Field) -> str:
    """What the field holds, in a few words: `small fix | feature`, `list of string`, `number with at most 2 places`."""
    if field.kind == "enum" and not field.any_of:
        text = " | ".join(_shown(v) for v in field.values)
    elif field.any_of:
        text = " | ".join(field.any_of)
    elif field.kind == "ref":
        text = f"ref to {field.to}" if field.to else "ref"
    elif field.kind == "number" and field.places is not None:
        text = f"number with at most {field.places} decimal places"
    else:
        text = _WORDS.get(field.kind, field.kind)
    return f"list of {text}" if field.many else text


def expected_value(field: Field) -> dict[str, Any]:
    """The same for a program: `{"kind": "enum", "values": [..]}`."""
    found: dict[str, Any] = {"any_of": list(field.any_of)} if field.any_of else {"kind": field.kind}
    if field.kind == "enum":
        found["values"] = list(field.values)
    if field.to:
        found["to"] = field.to
    if field.places is not None:
        found["places"] = field.places
    return found | ({"list": True} if field.many else {})


def kind_of(value: Any) -> str:
    """The kind of a received value, in the words of the field kinds."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if numbers.is_number(value):
        return "integer" if isinstance(value, int) else "number"
    if isinstance(value, str):
        return "string"
    return "list" if isinstance(value, list | tuple) else "object"


_WORDS: dict[str, str] = {
    "date": "date (YYYY-MM-DD)",
    "datetime": "datetime (2026-11-29T08:30:00Z)",
    "integer": "integer",
    "json": "any JSON value",
}


def _mismatch(field: Field, value: Any, at: str, *, fix: Any = NOTHING, likely: bool = False) -> Problem:
    expected = expected_of(field)
    return Problem(
        code="type_mismatch",
        at=at,
        message=f"expected {expected}, got {kind_of(value)}",
        expected=expected,
        expected_value=expected_value(field),
        received=value,
        fix=fix,
        confidence="likely" if likely else "exact",
    )


def _scalar(field: Field) -> Check:
    return _SCALARS[field.kind](field)


def _string(field: Field) -> Check:
    shortest, longest = field.min_length, field.max_length
    matches = regex.compiled(field.pattern) if field.pattern is not None else None
    plain = shortest is None and longest is None and matches is None

    def check(value: Any, at: str, problems: list[Problem]) -> Any:
        if not isinstance(value, str):
            # A number is not offered as text: what the text should have been is not known.
            problems.append(_mismatch(field, value, at))
            return value
        if plain:
            return value
        if shortest is not None and len(value) < shortest:
            problems.append(checks.short(value, at, shortest))
        if longest is not None and len(value) > longest:
            problems.append(checks.long(value, at, longest))
        if callable(matches) and not matches(value):
            problems.append(checks.unlike(value, at, field.pattern or ""))
        return value

    return check


def _integer(field: Field) -> Check:
    within = _range(field)

    def check(value: Any, at: str, problems: list[Problem]) -> Any:
        if type(value) is not int:
            number = numbers.exact(value) if numbers.is_number(value) else None
            if number is None or not numbers.is_whole(number):
                text = numbers.from_text(value.strip()) if isinstance(value, str) else None
                fix = int(text) if text is not None and numbers.is_whole(text) else NOTHING
                problems.append(_mismatch(field, value, at, fix=fix))
                return value
            value = int(number)
        if within is not None:
            within(value, at, problems)
        return value

    return check


def _number(field: Field) -> Check:
    within, kept = _range(field), field.places

    def check(value: Any, at: str, problems: list[Problem]) -> Any:
        if type(value) is int:
            number = Decimal(value)
        elif numbers.is_number(value):
            number = numbers.exact(value)
            if isinstance(value, float) and len(number.as_tuple().digits) > 15:
                problems.append(_lossy(value, at, "a decimal written as text", fix=NOTHING))
                return value
        else:
            found = numbers.from_text(value) if isinstance(value, str) else None
            if found is None:
                text = numbers.from_text(_bare(value)) if isinstance(value, str) else None
                fix = numbers.plain(text) if text is not None else NOTHING
                problems.append(_mismatch(field, value, at, fix=fix, likely=True))
                return value
            number = found
        if kept is not None and numbers.places(number) > kept:
            problems.append(_lossy(value, at, f"at most {kept} decimal places", fix=NOTHING))
        if within is not None:
            within(number, at, problems)
        return numbers.plain(number)

    return check


def _bare(text: str) -> str:
    """`$1,250.00` and ` 12 ` without what people write around figures."""
    found = re.fullmatch(r"\s*[$€£]?\s*(-?\d{1,3}(?:,\d{3})+(?:\.\d+)?|-?\d+(?:\.\d+)?)\s*[$€£%]?\s*", text)
    return found.group(1).replace(",", "") if found and "%" not in text else ""


def _lossy(value: Any, at: str, expected: str, *, fix: Any) -> Problem:
    return Problem(
        code="precision_loss",
        at=at,
        message="would lose digits",
        expected=expected,
        received=value,
        fix=fix,
        hint=f"write {expected}; round it yourself if that is meant",
    )


def _range(field: Field) -> Callable[[int | Decimal, str, list[Problem]], None] | None:
    low, high = _bound(field.min), _bound(field.max)
    above, below = _bound(field.exclusive_min), _bound(field.exclusive_max)
    step = _bound(field.multiple_of)
    if low is high is above is below is step is None:
        return None

    def check(value: int | Decimal, at: str, problems: list[Problem]) -> None:
        if low is not None and value < low:
            problems.append(checks.outside(value, at, f"at least {low}"))
        if high is not None and value > high:
            problems.append(checks.outside(value, at, f"at most {high}"))
        if above is not None and value <= above:
            problems.append(checks.outside(value, at, f"more than {above}"))
        if below is not None and value >= below:
            problems.append(checks.outside(value, at, f"less than {below}"))
        if step is not None and not numbers.is_multiple(Decimal(value), step):
            problems.append(checks.outside(value, at, f"a multiple of {step}"))

    return check


def _bound(value: Bound | None) -> Decimal | None:
    return None if value is None else numbers.exact(value)


def _boolean(field: Field) -> Check:
    def check(value: Any, at: str, problems: list[Problem]) -> Any:
        if value is True or value is False:
            return value
        words = {"true": True, "false": False}
        meant = words.get(value.strip().lower(), NOTHING) if isinstance(value, str) else NOTHING
        problems.append(_mismatch(field, value, at, fix=meant))
        return value

    return check


def _date(field: Field) -> Check:
    low, high = field.min, field.max

    def check(value: Any, at: str, problems: list[Problem]) -> Any:
        if not isinstance(value, str):
            problems.append(_mismatch(field, value, at))
            return value
        if not times.is_date(value):
            problems.append(_format(field, value, at, fix=times.probable_date(value) or NOTHING))
            return value
        _ordered(value, low, high, at, problems)
        return value

    return check


def _ordered(value: str, low: Bound | None, high: Bound | None, at: str, problems: list[Problem]) -> None:
    if low is not None and value < str(low):
        problems.append(checks.outside(value, at, f"{low} or later"))
    if high is not None and value > str(high):
        problems.append(checks.outside(value, at, f"{high} or earlier"))


def _datetime(field: Field) -> Check:
    low, high = field.min, field.max

    def check(value: Any, at: str, problems: list[Problem]) -> Any:
        if not isinstance(value, str):
            problems.append(_mismatch(field, value, at))
            return value
        instant = times.instant_of(value)
        if instant is None:
            problems.append(_format(field, value, at, fix=f"{value}Z" if times.lacks_offset(value) else NOTHING))
            return value
        canonical = times.written(instant)
        _ordered(canonical, low, high, at, problems)
        return canonical

    return check


def _format(field: Field, value: Any, at: str, *, fix: Any = NOTHING) -> Problem:
    return Problem(
        code="format_invalid",
        at=at,
        message=f"is not a {field.kind}",
        expected=expected_of(field),
        expected_value=expected_value(field),
        received=value,
        fix=fix,
        confidence="likely",
    )


def _enum(field: Field) -> Check:
    values = {checks.identity(v): v for v in field.values}
    texts = [v for v in field.values if isinstance(v, str)]

    def check(value: Any, at: str, problems: list[Problem]) -> Any:
        known = values.get(checks.identity(value), NOTHING)
        if known is not NOTHING:
            return known
        problems.append(checks.not_one_of(value, at, field.values, texts))
        return value

    return check


def _ref(field: Field) -> Check:
    def check(value: Any, at: str, problems: list[Problem]) -> Any:
        if not isinstance(value, str):
            problems.append(_mismatch(field, value, at))
            return value
        found = handle.parse(value)
        if found is None:
            problems.append(
                Problem(
                    code="format_invalid",
                    at=at,
                    message="is not the name of a node",
                    expected=f"{field.to or 'Type'}#key",
                    expected_value=expected_value(field),
                    received=value,
                    hint=f"write the handle of a {field.to or 'node'}, for example {field.to or 'Type'}#key",
                )
            )
        elif field.to and found.type != field.to:
            problems.append(
                Problem(
                    code="ref_type_mismatch",
                    at=at,
                    message=f"points at a {found.type}, not at a {field.to}",
                    expected=field.to,
                    expected_value=expected_value(field),
                    received=value,
                    hint=f"name a {field.to}",
                )
            )
        return value

    return check


def _json(field: Field) -> Check:
    return lambda value, at, problems: plain_json(value, at, problems)


def plain_json(value: Any, at: str, problems: list[Problem]) -> Any:
    """A JSON value with its decimals as floats; one that a float would change is `precision_loss`."""
    if isinstance(value, Decimal):
        near = float(value)
        if numbers.exact(near) != value:
            problems.append(_lossy(value, at, "a decimal written as text", fix=str(value)))
        return int(value) if numbers.is_whole(value) and "e" in repr(near) else near
    if isinstance(value, dict):
        members = cast("dict[str, Any]", value)
        return {k: plain_json(v, f"{at}/{checks.escaped(k)}", problems) for k, v in members.items()}
    if isinstance(value, list | tuple):
        return [plain_json(v, f"{at}/{i}", problems) for i, v in enumerate(cast("Sequence[Any]", value))]
    return value


def _any_of(field: Field) -> Check:
    options = [(k, _SCALARS[k](_as(field, k))) for k in field.any_of]

    def check(value: Any, at: str, problems: list[Problem]) -> Any:
        close: list[Problem] = []
        for _, option in options:
            found: list[Problem] = []
            canonical = option(value, at, found)
            if not found:
                return canonical
            if found[0].code != "type_mismatch":
                close = close or found
        problems.extend(close or [_mismatch(field, value, at)])
        return value

    return check


def _as(field: Field, kind: Kind) -> Field:
    return Field(
        key=field.key,
        kind=kind,
        values=field.values,
        to=field.to,
        places=field.places,
        pattern=field.pattern if kind in ("string", "text") else None,
        min_length=field.min_length,
        max_length=field.max_length,
        min=field.min,
        max=field.max,
    )


def _many(field: Field, one: Check) -> Check:
    def check(value: Any, at: str, problems: list[Problem]) -> Any:
        if not isinstance(value, list):
            alone: list[Problem] = []
            one(value, at, alone)
            problems.append(_mismatch(field, value, at, fix=NOTHING if alone else [value], likely=True))
            return value
        items = cast("list[Any]", value)
        checks.counted(items, at, field.min_items, field.max_items, problems)
        found = [one(v, f"{at}/{i}", problems) for i, v in enumerate(items)]
        if field.unique_items:
            checks.distinct(items, at, problems)
        return found

    return check


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else "null" if value is None else str(value).lower()


_SCALARS: dict[str, Callable[[Field], Check]] = {
    "string": _string,
    "text": _string,
    "integer": _integer,
    "number": _number,
    "boolean": _boolean,
    "date": _date,
    "datetime": _datetime,
    "enum": _enum,
    "ref": _ref,
    "json": _json,
}
