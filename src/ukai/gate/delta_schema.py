"""A delta's form as JSON Schema: for the OpenAPI document, and for tools that hand it to a model.

Made from the table by which the door reads, so that the two cannot drift apart. Names and values are a domain's matter
and stay open here.
"""

from __future__ import annotations

from typing import Any

from ukai.gate import door
from ukai.gate.limits import LIMITS

_TEXT = {"type": "string"}
_NAME = {"type": "string", "minLength": 1}
_HANDLE = r"^[A-Za-z_][A-Za-z0-9_]*#[^\s/#]+$"
_MEMBERS: dict[str, dict[str, Any]] = {
    "node_type": _TEXT,
    "edge_type": _TEXT,
    "ref": {"type": "string", "description": "A name for the new node inside this delta, such as $pr."},
    "to_state": {"type": ["string", "null"]},
    "set": {"type": "object", "description": "Absent keeps, null clears."},
    "match": {"type": "object", "description": "The natural key, or one unique field."},
    "test": {"type": "object", "description": "Values that the fields must hold."},
    "if_version": {"type": ["integer", "null"], "minimum": 0},
    "target": {"$ref": "#/$defs/Target"},
    "from": {"$ref": "#/$defs/Target"},
    "to": {"$ref": "#/$defs/Target"},
}
_ITEMS = {"create_nodes_batch": ("set", "ref", "to_state"), "create_edges_batch": ("from", "to", "set")}


def schema(*, refs: str = "#/$defs/") -> dict[str, Any]:
    """JSON Schema 2020-12 of a delta. `refs`: where the definitions will stand, if not in the schema itself."""
    found: dict[str, Any] = {
        "type": "object",
        "additionalProperties": False,
        "required": ["ops"],
        "properties": {
            "domain": _TEXT,
            "key": {"type": "string", "maxLength": LIMITS.key, "description": "Idempotency key."},
            "ops": {
                "type": "array",
                "minItems": 1,
                "maxItems": LIMITS.ops,
                "items": {"oneOf": [{"$ref": f"{refs}{_name(k)}"} for k in door.KINDS]},
            },
        },
    }
    return found | {"$defs": definitions(refs=refs)}


def definitions(*, refs: str = "#/$defs/") -> dict[str, Any]:
    """The operations by name, and what a target is."""
    ways = [{"handle": {"type": "string", "pattern": _HANDLE}}, {"ref": _NAME}, {"context_ref": _NAME}]
    ways.append({"id": {"type": "string", "format": "uuid"}})
    made = {_name(kind): _operation(kind) for kind in door.KINDS}
    made["Target"] = {
        "description": "One node, named in exactly one way.",
        "oneOf": [
            {"type": "object", "additionalProperties": False, "required": list(w), "properties": w} for w in ways
        ],
    }
    return {name: _placed(part, refs) for name, part in made.items()}


def _operation(kind: str) -> dict[str, Any]:
    members = (*door.REQUIRED[kind], *door.OPTIONAL[kind])
    properties: dict[str, Any] = {"kind": {"const": kind}}
    for name in members:
        properties[name] = {"type": "array", "items": _item(kind)} if name == "items" else _MEMBERS[name]
    return _object(properties, ("kind", *door.REQUIRED[kind]))


def _item(kind: str) -> dict[str, Any]:
    members = _ITEMS[kind]
    return _object({name: _MEMBERS[name] for name in members}, [m for m in members if m in ("from", "to")])


def _object(properties: dict[str, Any], required: Any) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": False, "required": list(required), "properties": properties}


def _name(kind: str) -> str:
    return "".join(word.capitalize() for word in kind.split("_"))


def _placed(part: Any, refs: str) -> Any:
    if isinstance(part, dict):
        members: dict[str, Any] = part  # pyright: ignore[reportUnknownVariableType]
        return {k: v.replace("#/$defs/", refs) if k == "$ref" else _placed(v, refs) for k, v in members.items()}
    return [_placed(p, refs) for p in part] if isinstance(part, list) else part  # pyright: ignore[reportUnknownVariableType]
