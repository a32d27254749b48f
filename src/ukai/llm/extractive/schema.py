"""As much JSON Schema as a planner needs: whether a value fits, and never a guess about a shape it does not know."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

from ukai.kit import words

Schema = Mapping[str, Any]

_SAID = words.listed("""
    title description examples example default deprecated readOnly writeOnly $comment $schema $defs definitions $id
""")
_CHECKED = words.listed("""
    type enum const minimum maximum minLength maxLength pattern items minItems maxItems properties required
    additionalProperties uniqueItems
""")
_TYPES: Mapping[str, type | tuple[type, ...]] = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "array": list,
    "object": dict,
    "null": type(None),
}


def resolved(schema: Any, root: Schema, *, depth: int = 8) -> Schema | None:
    """`schema` with local references followed and optional values unwrapped; None when its shape is not known."""
    if not isinstance(schema, dict) or depth == 0:
        return None
    data = cast("dict[str, Any]", schema)
    if isinstance(reference := data.get("$ref"), str):
        target: Any = root
        for step in reference.removeprefix("#/").split("/"):
            target = cast("dict[str, Any]", target).get(step) if isinstance(target, dict) else None
        return resolved(target, root, depth=depth - 1)
    for union in ("anyOf", "oneOf"):
        if isinstance(options := data.get(union), list):
            chosen: list[Any] = [o for o in cast("list[Any]", options) if o != {"type": "null"}]
            rest = {k: v for k, v in data.items() if k != union}
            return resolved({**rest, **chosen[0]}, root, depth=depth - 1) if len(chosen) == 1 else None
    if isinstance(kinds := data.get("type"), list):
        kept = [k for k in cast("list[Any]", kinds) if k != "null"]
        return {**data, "type": kept[0]} if len(kept) == 1 else None
    return data if set(data) <= _SAID | _CHECKED | {"format"} else None


def type_of(schema: Schema) -> str:
    """The one type a schema allows; what its closed list holds when it names none; "" when that is open."""
    kind = schema.get("type")
    if isinstance(kind, str):
        return kind
    values = schema.get("enum") or ([schema["const"]] if "const" in schema else [])
    return "string" if values and all(isinstance(v, str) for v in values) else ""


def fits(value: Any, schema: Any, root: Schema) -> bool:
    """Whether `value` is certainly allowed. False also when the schema says something that is not understood."""
    known = resolved(schema, root)
    if known is None:
        return False
    kind = known.get("type")
    if kind is not None:
        expected = _TYPES.get(str(kind))
        if expected is None or not isinstance(value, expected) or (isinstance(value, bool) and kind != "boolean"):
            return False
    if "enum" in known and value not in known["enum"]:
        return False
    if "const" in known and value != known["const"]:
        return False
    if isinstance(value, str):
        return _text_fits(value, known)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return known.get("minimum", value) <= value <= known.get("maximum", value)
    if isinstance(value, list):
        return _list_fits(cast("list[Any]", value), known, root)
    if isinstance(value, dict):
        return _object_fits(cast("dict[str, Any]", value), known, root)
    return True


def _text_fits(value: str, known: Schema) -> bool:
    if "format" in known or not known.get("minLength", 0) <= len(value) <= known.get("maxLength", len(value)):
        return False
    if "pattern" not in known:
        return True
    try:
        return re.search(str(known["pattern"]), value) is not None
    except re.error:
        return False


def _list_fits(value: Sequence[Any], known: Schema, root: Schema) -> bool:
    if not known.get("minItems", 0) <= len(value) <= known.get("maxItems", len(value)):
        return False
    return "items" not in known or all(fits(entry, known["items"], root) for entry in value)


def _object_fits(value: Mapping[str, Any], known: Schema, root: Schema) -> bool:
    properties: Mapping[str, Any] = known.get("properties", {})
    if not set(known.get("required", ())) <= set(value):
        return False
    others = known.get("additionalProperties", True)
    return all(fits(v, properties[k], root) if k in properties else others is not False for k, v in value.items())
