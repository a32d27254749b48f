"""A document held against a frozen dataclass: the value, or every way in which the document differs from it.

The dataclass is the room's own value (`graph.Domain`, `access.Policy`); pydantic does the checking, this module turns
its errors into findings with line, column and suggestion. Nothing is coerced: `"3"` is no integer, `1` is no text.
"""

from __future__ import annotations

import dataclasses
import json
import types
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, TypeVar, cast

from pydantic import ConfigDict, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from ukai.kit import document, suggest
from ukai.kit.finding import Finding, errors, excerpt

T = TypeVar("T")

STRICT = ConfigDict(extra="forbid", strict=True, arbitrary_types_allowed=True)
"""Set `__pydantic_config__ = shape.STRICT` on dataclasses that `parse` reads, nested ones included."""

_EXPECTED = {
    "string_type": "text",
    "int_type": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "list_type": "a list",
    "tuple_type": "a list",
    "dict_type": "a mapping",
    "dataclass_type": "a mapping",
    "dataclass_exact_type": "a mapping",
    "none_required": "nothing",
    "mapping_type": "a mapping",
    "set_type": "a list",
    "frozen_set_type": "a list",
    "int_from_float": "a whole number",
    "model_type": "a mapping",
}


def parse(
    doc: document.Document, model: type[T], *, at: str = "", given: Mapping[str, Any] | None = None
) -> tuple[T | None, list[Finding]]:
    """The part of `doc` at the JSON pointer `at` as a `model`; with error findings, None comes back.

    `given` holds fields of the model that the author does not write, such as the prose below a front matter.

    Lists are read into tuples where the model says so. Findings: `unknown_key`, `missing_key`, `wrong_type`,
    `not_allowed` (a value outside a closed list), `invalid_value` (anything else the model refuses).
    """
    data = _at(doc.data, at)
    taken: list[Finding] = []
    if given and isinstance(data, dict):
        written = cast("dict[str, Any]", data)
        known = {name for name, _ in _fields(model)} - given.keys()
        taken = [_unknown(doc, at + document.pointer(k), k, known) for k in given if k in written]
        data = {**written, **given}
    try:
        # Through JSON, because strict pydantic takes a list for a tuple and a mapping for a dataclass only there.
        value = _adapter(model).validate_json(json.dumps(data))
    except ValidationError as error:
        return None, [*taken, *_findings(doc, model, at, error, frozenset(given or ()))]
    return (None if taken else value), taken


def checked(
    doc: document.Document,
    model: type[T],
    check: Callable[[T], Iterable[Finding]],
    *,
    at: str = "",
    given: Mapping[str, Any] | None = None,
) -> tuple[T | None, list[Finding]]:
    """The same, and then what `check` says of a value of the right shape; with error findings, None comes back."""
    value, found = parse(doc, model, at=at, given=given)
    if value is None:
        return None, found
    found = [*found, *check(value)]
    return (None if errors(found) else value), found


@lru_cache(maxsize=256)
def _adapter(model: type[Any]) -> TypeAdapter[Any]:
    return TypeAdapter(model)


def _unknown(doc: document.Document, place: str, key: str, known: set[str]) -> Finding:
    return Finding(
        code="unknown_key",
        where=doc.where_key(place),
        message=f"no field is named {key!r}",
        expected=", ".join(sorted(known)),
        received=key,
        hint=suggest.hint_for(key, known),
    )


def _findings(
    doc: document.Document, model: type, at: str, error: ValidationError, given: frozenset[str]
) -> list[Finding]:
    found: list[Finding] = []
    rows = error.errors(include_url=False)
    misspelt: set[tuple[str, str]] = set()
    for row in rows:
        if row["type"] in ("unexpected_keyword_argument", "extra_forbidden"):
            place = _place(doc.data, at, row["loc"])
            key, parent = str(row["loc"][-1]), place.rpartition("/")[0]
            known = _keys(model, row["loc"][:-1]) - (given if len(row["loc"]) == 1 else frozenset())
            guess = suggest.suggest(key, known)
            if guess:
                misspelt.add((parent, guess.name))
            found.append(_unknown(doc, place, key, known))
    for row in rows:
        kind, loc = row["type"], row["loc"]
        if kind in ("unexpected_keyword_argument", "extra_forbidden"):
            continue
        place = _place(doc.data, at, loc)
        if kind in ("missing", "missing_argument", "missing_keyword_only_argument"):
            key = str(loc[-1])
            if (place, key) in misspelt:
                continue  # the misspelt key's own finding already says so
            found.append(
                Finding(
                    code="missing_key",
                    where=doc.where(place),
                    message=f"the field {key!r} is missing",
                    expected=key,
                    hint=f"add `{key}:`",
                )
            )
            continue
        received = excerpt(row["input"])
        if kind in ("literal_error", "enum"):
            expected = str(row.get("ctx", {}).get("expected", ""))
            names = [e.strip().strip("'") for e in expected.replace(" or ", ", ").split(",")]
            text = row["input"] if isinstance(row["input"], str) else received
            found.append(
                Finding(
                    code="not_allowed",
                    where=doc.where(place),
                    message=f"{received} is not a value of {_name(loc)}",
                    expected=" | ".join(names),
                    received=received,
                    hint=suggest.hint_for(text, names),
                )
            )
        elif kind in _EXPECTED:
            found.append(
                Finding(
                    code="wrong_type",
                    where=doc.where(place),
                    message=f"{_name(loc)} has the wrong type",
                    expected=_EXPECTED[kind],
                    received=received,
                    hint=f"write {_EXPECTED[kind]}",
                )
            )
        else:
            message = row["msg"].removeprefix("Value error, ")
            found.append(
                Finding(
                    code="invalid_value",
                    where=doc.where(place),
                    message=f"{_name(loc)}: {message}",
                    received=received,
                    expected=message,
                    hint="correct the value",
                )
            )
    return sorted({(f.code, f.where, f.message): f for f in found}.values(), key=_place_of)


def _place_of(finding: Finding) -> tuple[int, int]:
    _, line, column = finding.where.rsplit(":", 2)
    return int(line), int(column)


def _name(loc: tuple[int | str, ...]) -> str:
    words = [str(p) for p in loc if isinstance(p, str) and not p.endswith("]") and p.isidentifier()]
    return words[-1] if words else "the value"


def _at(data: Any, at: str) -> Any:
    for step in at.split("/")[1:]:
        part = step.replace("~1", "/").replace("~0", "~")
        data = cast("list[Any]", data)[int(part)] if isinstance(data, list) else data[part]
    return data


def _place(data: Any, at: str, loc: tuple[int | str, ...]) -> str:
    """The pointer that `loc` names, with pydantic's own segments (union members, `[key]`) left out."""
    place, value = at, _at(data, at)
    for part in loc:
        if isinstance(value, dict) and part in value:
            value = cast("dict[Any, Any]", value)[part]
        elif isinstance(value, list) and isinstance(part, int) and part < len(cast("list[Any]", value)):
            value = cast("list[Any]", value)[part]
        else:
            continue
        place += document.pointer(part)
    return place


def _keys(model: Any, loc: tuple[int | str, ...]) -> set[str]:
    """The keys that the dataclass at `loc` knows."""
    here: list[Any] = [model]
    for part in loc:
        step = [n for m in here for n in _step(m, part)]
        here = step or here  # a segment of pydantic's own (a union member) does not move us
    return {name for m in here for d in _dataclasses(m) for name, _ in _fields(d)}


def _step(model: Any, part: int | str) -> Iterator[Any]:
    for option in _options(model):
        if dataclasses.is_dataclass(option):
            yield from (kind for name, kind in _fields(option) if name == part)
        else:
            args = typing.get_args(option)
            origin = typing.get_origin(option)
            if origin in (tuple, list, frozenset, set) and isinstance(part, int) and args:
                yield args[0]
            elif isinstance(origin, type) and issubclass(origin, Mapping) and len(args) == 2:
                yield args[1]


def _dataclasses(model: Any) -> Iterator[Any]:
    yield from (o for o in _options(model) if dataclasses.is_dataclass(o))


def _options(model: Any) -> Iterator[Any]:
    origin = typing.get_origin(model)
    if origin is typing.Annotated:
        yield from _options(typing.get_args(model)[0])
    elif origin in (typing.Union, types.UnionType):
        for arg in typing.get_args(model):
            yield from _options(arg)
    else:
        yield model


@lru_cache(maxsize=256)
def _fields(model: Any) -> tuple[tuple[str, Any], ...]:
    hints = typing.get_type_hints(model, include_extras=True)
    rows: list[tuple[str, Any]] = []
    for f in dataclasses.fields(model):
        if not f.init:
            continue
        kind = hints[f.name]
        alias = f.name
        if typing.get_origin(kind) is typing.Annotated:
            alias = next((m.alias for m in typing.get_args(kind)[1:] if isinstance(m, FieldInfo) and m.alias), alias)
        rows.append((alias, kind))
    return tuple(rows)
