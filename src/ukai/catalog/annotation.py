"""A function's signature as a JSON Schema, and held against one that was written by hand. From the text alone."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from ukai.kit import suggest

Function = ast.FunctionDef | ast.AsyncFunctionDef

_SIMPLE: Mapping[str, dict[str, Any]] = {
    "str": {"type": "string"},
    "int": {"type": "integer"},
    "float": {"type": "number"},
    "bool": {"type": "boolean"},
    "dict": {"type": "object"},
    "list": {"type": "array"},
    "tuple": {"type": "array"},
    "set": {"type": "array"},
    "date": {"type": "string", "format": "date"},
    "datetime": {"type": "string", "format": "date-time"},
    "None": {"type": "null"},
    "Any": {},
}
_LISTS = ("list", "tuple", "set", "frozenset", "Sequence", "Iterable", "List", "Tuple", "Set")
_OBJECTS = ("dict", "Mapping", "Dict")


@dataclass(frozen=True, kw_only=True)
class Problem:
    """What is wrong with one parameter, and where."""

    node: ast.AST
    message: str
    expected: str
    hint: str
    received: str = ""


@dataclass(frozen=True, kw_only=True)
class Described:
    """What a typed function says about itself."""

    description: str
    schema: Mapping[str, Any]
    problems: tuple[Problem, ...]


def described(function: Function) -> Described:
    """Docstring and schema of a plain function."""
    properties: dict[str, Any] = {}
    required: list[str] = []
    problems: list[Problem] = []
    for parameter, default in _parameters(function):
        schema = None if parameter.annotation is None else _schema(parameter.annotation)
        if schema is None:
            problems.append(_unannotated(parameter))
            continue
        properties[parameter.arg] = schema | (_default(default) if default is not None else {})
        if default is None:
            required.append(parameter.arg)
    return Described(
        description=inspect.cleandoc(ast.get_docstring(function, clean=False) or ""),
        schema={"type": "object", "properties": properties, "required": required, "additionalProperties": False},
        problems=(*problems, *_unusable(function)),
    )


def mismatches(function: Function, schema: Mapping[str, Any]) -> Iterator[Problem]:
    """Where a hand-written schema and the function it calls disagree about the arguments."""
    yield from _unusable(function)
    properties = cast("Mapping[str, Any]", schema.get("properties") or {})
    required = cast("list[str]", schema.get("required") or [])
    parameters = {p.arg: (p, default) for p, default in _parameters(function)}
    if function.args.kwarg is None:
        for name in properties:
            if name not in parameters:
                yield Problem(
                    node=function,
                    message=f"input_schema declares {name!r}, which {function.name}() does not take",
                    expected=", ".join(parameters),
                    received=name,
                    hint=suggest.hint_for(name, parameters),
                )
    for name, (parameter, default) in parameters.items():
        if default is None and name not in required:
            yield Problem(
                node=parameter,
                message=f"{function.name}() needs {name!r}, which input_schema does not require",
                expected=f'"required": [.., "{name}"]',
                hint=f"declare {name!r} under properties and required, or give it a default",
            )


def _parameters(function: Function) -> Iterator[tuple[ast.arg, ast.expr | None]]:
    positional = [*function.args.posonlyargs, *function.args.args]
    defaults: list[ast.expr | None] = [None] * (len(positional) - len(function.args.defaults))
    yield from zip(positional, [*defaults, *function.args.defaults], strict=True)
    yield from zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True)


def _unusable(function: Function) -> Iterator[Problem]:
    for parameter in function.args.posonlyargs:
        yield Problem(
            node=parameter,
            message=f"{parameter.arg!r} can only be given by position; a model gives arguments by name",
            expected="a parameter with a name",
            hint="remove the / from the signature",
        )
    if function.args.vararg is not None:
        yield Problem(
            node=function.args.vararg,
            message=f"*{function.args.vararg.arg} cannot be filled by a model",
            expected="parameters with names",
            hint="take a list as one parameter",
        )


def _unannotated(parameter: ast.arg) -> Problem:
    written = ast.unparse(parameter.annotation) if parameter.annotation is not None else ""
    return Problem(
        node=parameter,
        message=f"the annotation {written!r} of {parameter.arg!r} has no JSON form"
        if written
        else f"the parameter {parameter.arg!r} has no annotation",
        expected="str, int, float, bool, list[..], dict[str, ..], Literal[..], or one of them | None",
        received=written,
        hint=f"write `{parameter.arg}: str`, or declare the tool in TOOLS with its own input_schema",
    )


def _default(node: ast.expr) -> dict[str, Any]:
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return {}
    return {"default": value} if value is None or isinstance(value, str | int | float | bool) else {}


def _schema(node: ast.expr) -> dict[str, Any] | None:
    """None when the annotation has no JSON form."""
    if isinstance(node, ast.Constant):
        if node.value is None:
            return {"type": "null"}
        return _quoted(node.value) if isinstance(node.value, str) else None
    if isinstance(node, ast.Name | ast.Attribute):
        name = node.id if isinstance(node, ast.Name) else node.attr
        found = _SIMPLE.get(name)
        return None if found is None else dict(found)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return _either([node.left, node.right])
    if isinstance(node, ast.Subscript):
        return _generic(node)
    return None


def _quoted(text: str) -> dict[str, Any] | None:
    try:
        return _schema(ast.parse(text, mode="eval").body)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _generic(node: ast.Subscript) -> dict[str, Any] | None:
    outer = node.value
    name = outer.id if isinstance(outer, ast.Name) else outer.attr if isinstance(outer, ast.Attribute) else ""
    inner = list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]
    if name == "Literal":
        values = [v.value for v in inner if isinstance(v, ast.Constant)]
        kinds = {type(v) for v in values}
        if len(values) != len(inner):
            return None
        return {"type": "string", "enum": values} if kinds == {str} else {"enum": values}
    if name == "Annotated":
        base = _schema(inner[0])
        notes = [v.value for v in inner[1:] if isinstance(v, ast.Constant) and isinstance(v.value, str)]
        return base if base is None or not notes else base | {"description": notes[0]}
    if name == "Optional":
        return _either([inner[0], ast.Constant(value=None)])
    if name == "Union":
        return _either(inner)
    if name in _LISTS:
        items = _schema(inner[0])
        return None if items is None else {"type": "array", "items": items}
    if name in _OBJECTS and len(inner) == 2:
        values = _schema(inner[1])
        return None if values is None else {"type": "object", "additionalProperties": values}
    return None


def _either(nodes: list[ast.expr]) -> dict[str, Any] | None:
    options: list[dict[str, Any]] = []
    for node in nodes:
        schema = _schema(node)
        if schema is None:
            return None
        options += schema["anyOf"] if set(schema) == {"anyOf"} else [schema]
    return {"anyOf": options}
