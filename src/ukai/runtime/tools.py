"""What a tool declares: its name, what it is for, what it takes, and how its results are to be read (P1.7)."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, cast

from ukai.kit import document, shape
from ukai.kit.finding import Finding

if TYPE_CHECKING:
    from ukai import record

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}\Z")
"""What every provider's API takes as the name of a function."""
KINDS = ("object", "array", "string", "integer", "number", "boolean", "null")


@dataclass(frozen=True, kw_only=True)
class ToolSpec:
    """One tool as the model sees it, and as the checks read its results."""

    __pydantic_config__ = shape.STRICT

    name: str
    description: str
    input_schema: Mapping[str, Any]
    """A JSON Schema of `type: object`."""
    reads: bool = False
    """It only reads: calling it again changes nothing outside."""
    credential: Literal["user", "service"] = "user"
    """Whose rights reach the outside system: the caller's, or a named service's (P3.4)."""
    empty_when: str = ""
    """An expression over the result: true means that nothing was found (P4.2)."""
    error_when: str = ""
    """An expression over the result: true means that the call failed although it returned."""
    target_args: tuple[str, ...] = ()
    """The arguments that name what the call is about; two calls that share them are about the same thing."""
    strict: bool = False
    """The provider holds the model to the schema, where it can and where the schema is one that it takes."""


@dataclass(frozen=True, kw_only=True)
class Document:
    """A result that the model reads as one text and the record keeps item by item: what was composed."""

    id: str
    """Of the composition."""
    shown: Any
    """What the model reads: text, or JSON."""
    items: Sequence[record.Item]
    """What it shows, for citations and checks."""


@dataclass(frozen=True, kw_only=True)
class Bound:
    """A tool ready to be called in one turn, for one caller."""

    spec: ToolSpec
    call: Callable[..., Awaitable[Any]]
    """Takes the arguments by name and gives a JSON value, text or a Document. Raises ToolRetry or ToolFailed for the
    model.
    """


def parse(doc: document.Document, *, at: str = "") -> tuple[ToolSpec | None, list[Finding]]:
    """The declaration at the pointer `at`; with error findings, None comes back."""
    return shape.checked(doc, ToolSpec, lambda spec: _findings(spec, doc, at), at=at)


def _findings(spec: ToolSpec, doc: document.Document, at: str) -> Iterator[Finding]:
    if not NAME.match(spec.name):
        yield Finding(
            code="invalid_name",
            where=doc.where(f"{at}/name"),
            message=f"{spec.name!r} cannot be a tool's name",
            expected="a letter or _, then letters, digits, _ or -, at most 64",
            received=spec.name,
            hint="rename the tool",
        )
    if not spec.description.strip():
        yield Finding(
            code="description_missing",
            where=doc.where(f"{at}/description"),
            message=f"the tool {spec.name!r} has no description",
            expected="one or two sentences: what it finds, when to use it",
            hint="say what the tool returns and when to use it; the model chooses by this text",
        )
    yield from schema_findings(spec.input_schema, doc, at=f"{at}/input_schema", owner=spec.name)
    properties = cast("Mapping[str, Any]", spec.input_schema.get("properties") or {})
    for index, name in enumerate(spec.target_args):
        if isinstance(spec.input_schema.get("properties"), Mapping) and name not in properties:
            yield Finding(
                code="tool_parameter",
                where=doc.where(f"{at}/target_args/{index}"),
                message=f"target_args names {name!r}, which input_schema does not declare",
                expected=", ".join(properties),
                received=name,
                hint="name properties of input_schema",
            )


def schema_findings(schema: Mapping[str, Any], doc: document.Document, *, at: str, owner: str) -> Iterator[Finding]:
    """Whether `schema` can describe a tool's arguments: an object with properties, and `required` among them."""
    if schema.get("type") != "object":
        yield Finding(
            code="tool_schema",
            where=doc.where(f"{at}/type"),
            message=f"the input_schema of {owner!r} is not an object",
            expected='"type": "object"',
            received=repr(schema.get("type")),
            hint="arguments have names: wrap them into an object with properties",
        )
    properties: Any = schema.get("properties", {})
    if not isinstance(properties, Mapping) or not all(isinstance(p, Mapping) for p in cast("Any", properties).values()):
        yield Finding(
            code="tool_schema",
            where=doc.where(f"{at}/properties"),
            message=f"the properties of {owner!r} are not a mapping of schemas",
            expected='{"argument": {"type": "string"}}',
            hint="give every argument a schema of its own",
        )
        return
    declared = cast("Mapping[str, Mapping[str, Any]]", properties)
    for name, part in declared.items():
        kinds: Any = part.get("type")
        unknown = [k for k in (cast("list[Any]", kinds) if isinstance(kinds, list) else [kinds]) if k not in KINDS]
        if kinds is not None and unknown:
            yield Finding(
                code="tool_schema",
                where=doc.where(f"{at}{document.pointer('properties', name, 'type')}"),
                message=f"{unknown[0]!r} is no type of JSON Schema",
                expected=" | ".join(KINDS),
                received=repr(unknown[0]),
                hint="use one of the expected types",
            )
    required: Any = schema.get("required", [])
    names = cast("list[Any]", required) if isinstance(required, list) else [required]
    for index, name in enumerate(names):
        if name not in declared:
            yield Finding(
                code="tool_schema",
                where=doc.where(f"{at}/required/{index}"),
                message=f"{name!r} is required and not declared",
                expected=", ".join(declared),
                received=repr(name),
                hint="declare it under properties, or take it out of required",
            )


_TYPES: Mapping[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}


def arguments_problem(schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> str:
    """What is wrong with the arguments of a call, for the model; nothing when the tool can take them.

    Names and types are held against the tool's schema. What is finer the tool says itself.
    """
    properties = cast("Mapping[str, Mapping[str, Any]]", schema.get("properties") or {})
    required = cast("list[str]", schema.get("required") or [])
    wrong = [f"{name!r} is missing" for name in required if name not in arguments]
    if schema.get("additionalProperties") is not True:
        wrong += [f"{name!r} is no argument" for name in arguments if name not in properties]
    for name, value in arguments.items():
        kinds: Any = properties.get(name, {}).get("type")
        allowed = cast("list[str]", kinds if isinstance(kinds, list) else [kinds]) if kinds else []
        if allowed and not any(_is(value, kind) for kind in allowed):
            wrong.append(f"{name!r} is not of type {' or '.join(allowed)}")
    takes = ", ".join(f"{n}: {p.get('type', 'any')}" for n, p in properties.items())
    return f"the arguments do not fit: {'; '.join(wrong)}. It takes {takes or 'none'}" if wrong else ""


def _is(value: Any, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    return isinstance(value, _TYPES.get(kind, (object,)))
