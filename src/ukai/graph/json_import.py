"""JSON Schema imported as a type: each property becomes a field whose verdict is the schema's own.

What a field kind says as well becomes that kind; everything else becomes a json field that keeps its part of the
schema (references gathered into it), so that nothing is judged more loosely. Three things differ by design, and each is
a note: null and absence are one ("required, may be null" becomes optional), date and date-time are asserted, members
that the schema leaves open go into one json field because a type is closed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast
from urllib.parse import urljoin, urlsplit

from ukai.graph import json_form, json_schema, numbers
from ukai.graph.checks import escaped
from ukai.graph.json_keywords import Object, UnusableSchema
from ukai.graph.schema import Field, Type
from ukai.kit.finding import Finding, errors

_BASE = "https://schemas.invalid/"
"""What relative `$id`s and references are joined to; nothing is ever fetched from it."""
_ROOT = frozenset({"type", "properties", "required", "additionalProperties", "patternProperties"})
_STRING = {"minLength": "min_length", "maxLength": "max_length", "pattern": "pattern"}
_RANGE = {
    "minimum": "min",
    "maximum": "max",
    "exclusiveMinimum": "exclusive_min",
    "exclusiveMaximum": "exclusive_max",
    "multipleOf": "multiple_of",
}
_LIST = {"minItems": "min_items", "maxItems": "max_items", "uniqueItems": "unique_items"}
_FORMATS = {"date": "date", "date-time": "datetime"}
_IGNORED = json_schema.ANNOTATIONS - {"$defs", "definitions", "then", "else"}


@dataclass(frozen=True, kw_only=True)
class Imported:
    """A type, and how instances of the schema are written as its fields."""

    type: Type
    rest: str = ""
    """The field that takes the members which the schema leaves open; empty: it leaves none."""
    whole: bool = False
    """The schema is no plain object: the one field `value` holds the whole instance."""

    def set_of(self, instance: Any) -> dict[str, Any]:
        """What a create of this instance sets."""
        if self.whole:
            return {"value": instance}
        known = self.type.by_key.keys() - {self.rest}
        found = {k: v for k, v in instance.items() if k in known}
        others = {k: v for k, v in instance.items() if k not in known}
        return found | ({self.rest: others} if self.rest and others else others)


def to_type(
    schema: Any, *, name: str, key: tuple[str, ...] = (), registry: Mapping[str, Any] | None = None
) -> tuple[Imported | None, list[Finding]]:
    """The type `name` for instances of `schema`. `registry` maps `$id`s to other schemas that it refers to.

    `where` of a finding is a JSON pointer into the schema. A schema that cannot be used gives an error and no type.
    """
    importer = _Importer(schema, registry or {})
    try:
        json_form.check(schema)
        imported = importer.type(name, key)
    except UnusableSchema as error:
        importer.find("invalid_schema", error.where, str(error), "a JSON Schema", "error")
        imported = None
    return (None if errors(importer.findings) else imported), importer.findings


def to_field(schema: Any, *, key: str = "value") -> Field:
    """The field whose values are the instances of `schema`, null aside. Raises UnusableSchema."""
    json_form.check(schema)
    return _Importer(schema, {}).field(key, schema, False, "")


class _Importer:
    def __init__(self, schema: Any, registry: Mapping[str, Any]) -> None:
        self.schema = schema
        self.findings: list[Finding] = []
        members = cast("Object", schema) if isinstance(schema, dict) else {}
        self.home = urljoin(_BASE, str(members.get("$id", "")))
        self.documents = {urljoin(_BASE, name): document for name, document in registry.items()}
        self.documents[self.home] = schema

    def find(self, code: str, where: str, message: str, expected: str, severity: Any = "note") -> None:
        self.findings.append(
            Finding(
                code=code,
                severity=severity,
                where=where,
                message=message,
                expected=expected,
                hint="correct the schema" if severity == "error" else "nothing to do, if this is meant",
            )
        )

    def type(self, name: str, key: tuple[str, ...]) -> Imported:
        schema = self.schema
        if not isinstance(schema, dict) or schema.keys() - _ROOT - _IGNORED - {"$defs", "definitions"}:
            return self.whole(name)
        members = cast("Object", schema)
        if members.get("type", "object") != "object":
            return self.whole(name)
        required = set(members.get("required", ()))
        fields = [
            self.field(k, part, k in required, f"/properties/{escaped(k)}")
            for k, part in members.get("properties", {}).items()
        ]
        rest = self.rest(members, {f.key for f in fields})
        fields += [rest] if rest else []
        absent = sorted(required - {f.key for f in fields})
        if absent:
            self.find("invalid_schema", "/required", f"required without a property: {', '.join(absent)}", "properties")
        return Imported(type=Type(type=name, key=key, fields=tuple(fields)), rest=rest.key if rest else "")

    def whole(self, name: str) -> Imported:
        """Exact for any schema: one json field that is held against all of it."""
        field = Field(key="value", kind="json", required=True, schema=self.usable(self.schema, self.home, ""))
        return Imported(type=Type(type=name, fields=(field,)), whole=True)

    def rest(self, members: Object, taken: set[str]) -> Field | None:
        more, patterns = members.get("additionalProperties", True), members.get("patternProperties", {})
        if more is False and not patterns:
            return None
        name = next(n for n in ("additional", "additional_members", "further_members") if n not in taken)
        part = {"type": "object", "additionalProperties": more, "patternProperties": patterns}
        self.find("invalid_schema", "", f"open to further members: they go into the field {name!r}", "a closed object")
        return Field(key=name, kind="json", schema=self.usable(part, self.home, ""))

    def field(self, key: str, schema: Any, required: bool, where: str) -> Field:
        part, base = self.followed(schema, self.home, where)
        inner, nullable = _without_null(part)
        if nullable and required:
            self.find("invalid_schema", where, f"{key!r} may be null, so it is optional: null and absence are one", "")
        simple = _options(inner)
        options: dict[str, Any] = simple or {"kind": "json", "schema": self.usable(part, base, where)}
        description = str(cast("Object", schema).get("description", "")) if isinstance(schema, dict) else ""
        if options.get("kind") in ("date", "datetime"):
            self.find("invalid_schema", where, f"the format of {key!r} is asserted", "")
        return Field(key=key, required=required and not nullable, description=description[:300], **options)

    def followed(self, schema: Any, base: str, where: str) -> tuple[Any, str]:
        """The schema that a chain of nothing but `$ref` ends at, and the document it stands in."""
        for _ in range(100):
            if not isinstance(schema, dict) or "$ref" not in schema:
                return cast("Any", schema), base
            members = cast("Object", schema)
            if members.keys() - {"$ref"} - _IGNORED:
                return members, base
            schema, base = self.target(members["$ref"], base, where)
        raise UnusableSchema("references lead in a circle", where=where)

    def target(self, reference: Any, base: str, where: str) -> tuple[Any, str]:
        address = urljoin(base, str(reference))
        pointer = urlsplit(address).fragment
        document = address.partition("#")[0]
        if document not in self.documents:
            raise UnusableSchema(f"no schema is known as {reference!r}", where=where)
        part = self.documents[document]
        for step in pointer.split("/")[1:]:
            name = step.replace("~1", "/").replace("~0", "~")
            if not isinstance(part, dict) or name not in part:
                raise UnusableSchema(f"nothing stands at {reference!r}", where=where)
            part = cast("Object", part)[name]
        json_form.check(part)  # a reference may lead to what is no schema where it stands
        return part, document

    def usable(self, schema: Any, base: str, where: str) -> Any:
        """The part of a schema as a document of its own: what it refers to stands in its `$defs`."""
        bundle = _Bundle(self)
        found = bundle.copied(schema, base, where)
        if bundle.parts and isinstance(found, dict):
            found = {**cast("Object", found), "$defs": bundle.parts}
        for place, keyword in json_schema.unsupported(found).items():
            self.find("invalid_schema", where + place, f"{keyword!r} is not checked", "a supported keyword")
        json_schema.compile(found)
        return found


class _Bundle:
    """References of one part, each target copied once."""

    def __init__(self, importer: _Importer) -> None:
        self.importer = importer
        self.names: dict[tuple[str, str], str] = {}
        self.parts: Object = {}

    def copied(self, schema: Any, base: str, where: str) -> Any:
        if not isinstance(schema, dict):
            return schema
        found: Object = {}
        for keyword, value in cast("Object", schema).items():
            if keyword == "$ref":
                found["$ref"] = self.reference(value, base, where)
            elif keyword in ("properties", "patternProperties", "dependentSchemas"):
                found[keyword] = {k: self.copied(v, base, f"{where}/{keyword}/{escaped(k)}") for k, v in value.items()}
            elif keyword in ("allOf", "anyOf", "oneOf", "prefixItems"):
                found[keyword] = [self.copied(v, base, f"{where}/{keyword}/{i}") for i, v in enumerate(value)]
            elif keyword in ("items", "additionalProperties", "propertyNames", "not", "if", "then", "else"):
                found[keyword] = self.copied(value, base, f"{where}/{keyword}")
            elif keyword == "format" or keyword not in json_schema.ANNOTATIONS:
                found[keyword] = value
        return found

    def reference(self, reference: Any, base: str, where: str) -> str:
        part, document = self.importer.target(reference, base, where)
        address = urljoin(base, str(reference))
        known = (document, urlsplit(address).fragment)
        if known not in self.names:
            self.names[known] = f"d{len(self.names) + 1}"
            self.parts[self.names[known]] = None  # held while it is copied: it may refer to itself
            self.parts[self.names[known]] = self.copied(part, document, where)
        return f"#/$defs/{self.names[known]}"


def _without_null(schema: Any) -> tuple[Any, bool]:
    """The schema for values other than null, and whether null is allowed beside them."""
    if not isinstance(schema, dict):
        return schema, False
    members = cast("Object", schema)
    named = members.get("type")
    if isinstance(named, list) and "null" in named and len(cast("list[Any]", named)) > 1:
        kept = [n for n in cast("list[str]", named) if n != "null"]
        rest = {**members, "type": kept[0] if len(kept) == 1 else kept}
        if "enum" in members:
            rest["enum"] = [v for v in members["enum"] if v is not None]
        return rest, "enum" not in members or None in members["enum"]
    for keyword in ("oneOf", "anyOf"):
        options = members.get(keyword)
        if isinstance(options, list) and {"type": "null"} in options and not members.keys() - {keyword} - _IGNORED:
            others = [o for o in cast("list[Any]", options) if o != {"type": "null"}]
            return (others[0] if len(others) == 1 else {**members, keyword: others}), True
    return members, False


def _options(schema: Any) -> dict[str, Any] | None:
    """The options of a field that judges exactly as `schema` does; None when no kind does."""
    if not isinstance(schema, dict):
        return None
    members = {k: v for k, v in cast("Object", schema).items() if k == "format" or k not in _IGNORED}
    if "const" in members and isinstance(members["const"], str) and members.keys() <= {"const", "type"}:
        return {"kind": "enum", "values": (members["const"],)}
    if "enum" in members:
        return _enum(members)
    if "oneOf" in members or "anyOf" in members:
        return _any_of(members)
    named = members.pop("type", None)
    if named == "string":
        return _string(members)
    if named == "boolean" and not members:
        return {"kind": "boolean"}
    if named == "integer" and members.keys() <= _RANGE.keys():
        return {"kind": "integer", **_bounds(members)}
    if named == "number" and members.keys() <= _RANGE.keys():
        # A number field also takes decimal text, which a schema does not.
        return {"kind": "number", **_bounds(members), "schema": {"type": "number"}}
    return _list(members) if named == "array" else None


def _enum(members: Object) -> dict[str, Any] | None:
    values = members["enum"]
    fits = members.keys() <= {"enum", "type"} and values and all(isinstance(v, str) for v in values)
    return {"kind": "enum", "values": tuple(dict.fromkeys(values))} if fits and _is_text(members) else None


def _is_text(members: Object) -> bool:
    return members.get("type", "string") == "string"


def _any_of(members: Object) -> dict[str, Any] | None:
    keyword = "oneOf" if "oneOf" in members else "anyOf"
    options = [_options(o) for o in members[keyword]] if members.keys() == {keyword} else []
    kinds = [o["kind"] for o in options if o and o.keys() == {"kind"}]
    # Two kinds written as text might both fit, which oneOf refuses.
    texts = [k for k in kinds if k in ("string", "date", "datetime")]
    fits = len(kinds) == len(options) > 1 and len(set(kinds)) == len(kinds) and len(texts) < 2
    return {"kind": "json", "any_of": tuple(kinds)} if fits else None


def _string(members: Object) -> dict[str, Any] | None:
    form = members.pop("format", None)
    if form in _FORMATS:
        return {"kind": _FORMATS[form]} if not members else None
    return (
        {"kind": "string", **{_STRING[k]: v for k, v in members.items()}} if members.keys() <= _STRING.keys() else None
    )


def _list(members: Object) -> dict[str, Any] | None:
    items = members.pop("items", None)
    if members.keys() - _LIST.keys():
        return None
    one = _options(items)
    if one is None or one.get("many") or one.get("kind") == "json" or "schema" in one:
        return None
    return {**one, "many": True, **{_LIST[k]: v for k, v in members.items()}}


def _bounds(members: Object) -> dict[str, Any]:
    return {_RANGE[k]: numbers.plain(numbers.exact(v)) for k, v in members.items()}
