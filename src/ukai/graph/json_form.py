"""Whether a JSON Schema is one: each keyword holds the form of value that the specification gives it.

Looked at before anything is compiled, so that what compiles need not ask again. Source: JSON Schema 2020-12, §8 to §10
and the validation vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

from ukai.graph import numbers
from ukai.graph.checks import escaped
from ukai.graph.json_keywords import UnusableSchema

_SCHEMA = (
    *("additionalProperties", "contains", "contentSchema", "else", "if", "items", "not", "propertyNames", "then"),
    *("unevaluatedItems", "unevaluatedProperties"),
)
_MAPS = ("$defs", "definitions", "dependentSchemas", "patternProperties", "properties")
_COUNTED = ("Items", "Length", "Properties")
_LISTS = ("allOf", "anyOf", "oneOf", "prefixItems")
_TEXTS = ("$anchor", "$comment", "$id", "$ref", "$schema", "description", "format", "pattern", "title")


def check(schema: Any) -> None:
    """Raises UnusableSchema for the first keyword that holds something else. Looks into every schema inside."""
    pending: list[tuple[Any, str]] = [(schema, "")]
    while pending:
        part, where = pending.pop()
        if isinstance(part, bool):
            continue
        if not isinstance(part, dict):
            raise UnusableSchema("a schema is an object, true or false", where=where)
        for keyword, value in cast("dict[str, Any]", part).items():
            place = f"{where}/{escaped(keyword)}"
            _form(keyword, value, place)
            pending += _inside(keyword, value, place)


def _inside(keyword: str, value: Any, place: str) -> list[tuple[Any, str]]:
    if keyword in _SCHEMA:
        return [(value, place)]
    if keyword in _MAPS:
        return [(v, f"{place}/{escaped(k)}") for k, v in value.items()]
    return [(v, f"{place}/{i}") for i, v in enumerate(value)] if keyword in _LISTS else []


def _form(keyword: str, value: Any, place: str) -> None:
    wanted, holds = _FORMS.get(keyword, ("", _anything))
    if not holds(value):
        raise UnusableSchema(f"{keyword} is {wanted}", where=place)


def _anything(value: Any) -> bool:
    return True


def _is_map(value: Any) -> bool:
    return isinstance(value, dict)


def _is_list(value: Any) -> bool:
    return isinstance(value, list)


def _is_filled(value: Any) -> bool:
    return isinstance(value, list) and bool(cast("list[Any]", value))


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(v, str) for v in cast("list[Any]", value))


def _is_type(value: Any) -> bool:
    return isinstance(value, str) or (_are_texts(value) and bool(value))


def _are_lists_of_text(value: Any) -> bool:
    return isinstance(value, dict) and all(_are_texts(v) for v in cast("dict[str, Any]", value).values())


def _is_count(value: Any) -> bool:
    return numbers.is_number(value) and numbers.is_whole(numbers.exact(value)) and value >= 0


_FORMS: Mapping[str, tuple[str, Callable[[Any], bool]]] = {
    **dict.fromkeys(_MAPS, ("an object of schemas", _is_map)),
    **dict.fromkeys(_LISTS, ("a list of schemas", _is_filled)),
    **dict.fromkeys(_TEXTS, ("text", _is_text)),
    **{
        f"{side}{what}": ("a count", _is_count) for side in ("min", "max") for what in ("Length", "Items", "Properties")
    },
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), ("a number", numbers.is_number)),
    "multipleOf": ("a number above 0", lambda v: numbers.is_number(v) and v > 0),
    "uniqueItems": ("true or false", lambda v: isinstance(v, bool)),
    "type": ("a name or a list of names", _is_type),
    "required": ("a list of names", _are_texts),
    "dependentRequired": ("an object of lists of names", _are_lists_of_text),
    "enum": ("a list", _is_list),
}
