"""A `tools.py` as its text says it: read, never run, so that linting a stranger's tree executes nothing (P1.7).

Two forms. The article's: functions, a list `TOOLS` of declarations, a dict `HANDLERS`. Or plain functions: every
public one with a docstring is a tool, and its annotations are its schema. An entry of `TOOLS` may name a function too.
"""

from __future__ import annotations

import ast
import sys
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ukai.catalog import annotation
from ukai.kit import document, suggest
from ukai.kit.finding import Finding
from ukai.runtime import tools

Function = ast.FunctionDef | ast.AsyncFunctionDef
MAX_SOURCE = 256 << 10


@dataclass(frozen=True, kw_only=True)
class Declared:
    """What one file of tools declares."""

    specs: Mapping[str, tools.ToolSpec] = field(default_factory=dict[str, tools.ToolSpec])
    places: Mapping[str, str] = field(default_factory=dict[str, str])
    """Tool -> `file:line:column` of its declaration."""
    indexes: tuple[tuple[str, str], ...] = ()
    """Names given to `get_index` as literals, each with its place."""


class _NotStatic(Exception):
    def __init__(self, node: ast.expr) -> None:
        super().__init__()
        self.node = node


def read(raw: bytes, *, name: str) -> tuple[Declared, list[Finding]]:
    """The tools that a file declares, and everything that is wrong with them."""
    text, findings = document.decode(raw, name=name)
    if text is None:
        return Declared(), findings
    if len(raw) > MAX_SOURCE:
        # Beyond this, parsing alone could take seconds.
        return Declared(), [
            *findings,
            Finding(
                code="too_large",
                where=f"{name}:1:1",
                message="the file is too large to be read as tools",
                expected=f"at most {MAX_SOURCE} bytes",
                received=f"{len(raw)} bytes",
                hint="split the file",
            ),
        ]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an odd escape in a user's text is theirs to see, not lint's to print
            module = ast.parse(text, filename=name)
        reader = _Reader(module, name)
        reader.read()
    # Deep nesting ends in a RecursionError or a MemoryError, in Python's parser or in the reader.
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return Declared(), [*findings, _syntax(error, name)]
    findings += reader.findings
    return Declared(specs=reader.specs, places=reader.places, indexes=tuple(reader.indexes())), findings


def _syntax(error: Exception, name: str) -> Finding:
    line, column = (error.lineno or 1, error.offset or 1) if isinstance(error, SyntaxError) else (1, 1)
    told = error.msg if isinstance(error, SyntaxError) else str(error) or "nested too deeply"
    return Finding(
        code="python_syntax",
        where=f"{name}:{max(line, 1)}:{max(column, 1)}",
        message=f"not Python: {told}",
        expected=f"Python {sys.version_info.major}.{sys.version_info.minor}",
        hint="correct the code at this place",
    )


class _Reader:
    def __init__(self, module: ast.Module, name: str) -> None:
        self.module, self.name = module, name
        self.findings: list[Finding] = []
        self.specs: dict[str, tools.ToolSpec] = {}
        self.places: dict[str, str] = {}
        self.functions: dict[str, Function] = {}
        self.values: dict[str, ast.expr] = {}
        self.names: set[str] = set()
        """Everything that the module binds at its top."""
        self.marks: dict[str, tuple[int, int]] = {}
        self.incomplete = False
        """A declaration could not be read, so that its handler is not without one."""

    def where(self, node: ast.AST) -> str:
        # ast counts columns in UTF-8 bytes; people count characters, and code before a tool is ASCII nearly always.
        return f"{self.name}:{getattr(node, 'lineno', 1)}:{getattr(node, 'col_offset', 0) + 1}"

    def refuse(self, code: str, node: ast.AST, message: str, *, expected: str = "", received: str = "", hint: str):
        self.findings.append(
            Finding(code=code, where=self.where(node), message=message, expected=expected, received=received, hint=hint)
        )

    def read(self) -> None:
        for statement in self.module.body:
            self.bind(statement)
        declared = self.values.get("TOOLS")
        if declared is None:
            self.plain_functions()
            if "HANDLERS" in self.values and not self.specs:
                self.refuse(
                    "tool_not_declared",
                    self.values["HANDLERS"],
                    "HANDLERS stands without TOOLS",
                    expected="a list TOOLS",
                    hint="declare each handler in TOOLS",
                )
            return
        if not isinstance(declared, ast.List | ast.Tuple):
            self.not_static(declared, "TOOLS", "a list of declarations")
            return
        by_function = {name for entry in declared.elts if (name := self.entry(entry))}
        self.handlers(by_function)

    def bind(self, statement: ast.stmt) -> None:
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
            self.functions[statement.name] = statement
            self.names.add(statement.name)
        elif isinstance(statement, ast.ClassDef):
            self.names.add(statement.name)
        elif isinstance(statement, ast.Import | ast.ImportFrom):
            self.names |= {(a.asname or a.name).partition(".")[0] for a in statement.names}
        elif isinstance(statement, ast.Assign):
            for target in statement.targets:
                if isinstance(target, ast.Name):
                    self.names.add(target.id)
                    self.values[target.id] = statement.value
        elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name) and statement.value:
            self.names.add(statement.target.id)
            self.values[statement.target.id] = statement.value
        elif isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name):
            self.grow(statement.target.id, statement.value)
        elif isinstance(statement, ast.Expr) and _is_change(statement.value):
            self.not_static(statement.value, "TOOLS", "one list literal")
        elif isinstance(statement, ast.If | ast.Try | ast.With):
            for inner in ast.iter_child_nodes(statement):
                if isinstance(inner, ast.stmt):
                    self.bind(inner)

    def grow(self, name: str, more: ast.expr) -> None:
        """`TOOLS += [..]`."""
        before = self.values.get(name)
        if isinstance(before, ast.List) and isinstance(more, ast.List):
            self.values[name] = ast.copy_location(ast.List(elts=[*before.elts, *more.elts], ctx=ast.Load()), before)
        elif name in ("TOOLS", "HANDLERS"):
            self.not_static(more, name, "one literal")

    def not_static(self, node: ast.expr, what: str, expected: str) -> None:
        self.incomplete = True
        self.refuse(
            "not_static",
            node,
            f"{what} can only be known by running the file, which lint never does",
            expected=expected,
            received=ast.unparse(node)[:80],
            hint="write it as a literal, or write plain functions with annotations",
        )

    def plain_functions(self) -> None:
        for name, function in self.functions.items():
            if not name.startswith("_"):
                self.typed(name, function)

    def typed(self, name: str, function: Function) -> None:
        """A function whose annotations and docstring are its declaration."""
        described = annotation.described(function)
        for problem in described.problems:
            self.refuse("tool_parameter", problem.node, problem.message, expected=problem.expected, hint=problem.hint)
        if not described.description:
            self.refuse(
                "description_missing",
                function,
                f"the tool {name!r} has no docstring",
                expected="one or two sentences: what it returns, when to use it",
                hint="add a docstring, or begin the name with _ if it is no tool",
            )
        if not described.problems and described.description:
            spec = tools.ToolSpec(
                name=name, description=described.description, input_schema=described.schema, reads=False
            )
            self.add(spec, function)

    def entry(self, node: ast.expr) -> str:
        """One entry of TOOLS. Returns the name of the function that it is, if it is one."""
        node = self.followed(node)
        if isinstance(node, ast.Name):
            if node.id in self.functions:
                self.typed(node.id, self.functions[node.id])
                return node.id
            self.refuse(
                "unknown_name",
                node,
                f"TOOLS names {node.id!r}, which the file does not define",
                expected=", ".join(self.functions),
                received=node.id,
                hint=suggest.hint_for(node.id, self.functions),
            )
            return ""
        self.marks = {}
        try:
            data = self.literal(node, "")
        except _NotStatic as failure:
            self.not_static(failure.node, "the declaration", "a dict of literals")
            return ""
        except RecursionError:
            self.not_static(node, "the declaration", "a dict that is nested less deeply")
            return ""
        spec, found = tools.parse(document.Document(name=self.name, data=data, marks=self.marks))
        self.findings += found
        if spec is None:
            self.incomplete = True
        else:
            self.add(spec, node)
        return ""

    def add(self, spec: tools.ToolSpec, node: ast.AST) -> None:
        if spec.name in self.specs:
            self.refuse(
                "duplicate_name",
                node,
                f"a tool named {spec.name!r} is declared twice",
                received=spec.name,
                hint=f"rename one; the first stands at {self.places[spec.name]}",
            )
            return
        self.specs[spec.name] = spec
        self.places[spec.name] = self.where(node)

    def followed(self, node: ast.expr) -> ast.expr:
        """A name that stands for another literal of the module is that literal."""
        seen: set[str] = set()
        while isinstance(node, ast.Name) and node.id in self.values and node.id not in seen:
            seen.add(node.id)
            node = self.values[node.id]
        return node

    def literal(self, node: ast.expr, place: str) -> Any:
        """The value of a literal, with the place of each part in `marks`. Raises _NotStatic."""
        node = self.followed(node)
        self.marks[place] = (node.lineno, node.col_offset + 1)
        if isinstance(node, ast.Constant) and (node.value is None or isinstance(node.value, str | int | float | bool)):
            return node.value
        if isinstance(node, ast.List | ast.Tuple):
            return [self.literal(e, f"{place}/{i}") for i, e in enumerate(node.elts)]
        if isinstance(node, ast.Dict):
            result: dict[str, Any] = {}
            for key, value in zip(node.keys, node.values, strict=True):
                if not (isinstance(key, ast.Constant) and isinstance(key.value, str)):
                    raise _NotStatic(key or value)
                child = place + document.pointer(key.value)
                self.marks[child + "\0"] = (key.lineno, key.col_offset + 1)
                result[key.value] = self.literal(value, child)
            return result
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            operand = self.literal(node.operand, place)
            if isinstance(operand, int | float):
                return -operand
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            left, right = self.literal(node.left, place), self.literal(node.right, place)
            if isinstance(left, str) and isinstance(right, str):
                return left + right
        raise _NotStatic(node)

    def handlers(self, by_function: set[str]) -> None:
        """HANDLERS against TOOLS, both ways, and each handler's signature against its schema."""
        node = self.values.get("HANDLERS")
        keys: dict[str, tuple[ast.expr, ast.expr]] = {}
        if node is not None and not isinstance(node, ast.Dict):
            self.not_static(node, "HANDLERS", "a dict of names and functions")
            return
        for key, value in zip(node.keys, node.values, strict=True) if node else ():
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                keys[key.value] = (key, value)
            else:
                self.not_static(key or value, "a key of HANDLERS", "the tool's name as text")
        for name, (key, value) in keys.items():
            if name not in self.specs and not self.incomplete:
                self.refuse(
                    "tool_not_declared",
                    key,
                    f"HANDLERS has {name!r}, TOOLS does not",
                    expected=", ".join(sorted(self.specs)),
                    received=name,
                    hint=suggest.hint_for(name, self.specs),
                )
            self.handler(name, value)
        for name in self.specs:
            if name not in keys and name not in by_function:
                self.findings.append(
                    Finding(
                        code="handler_missing",
                        where=self.places[name],
                        message=f"TOOLS declares {name!r}, HANDLERS has no function for it",
                        expected=f'HANDLERS = {{"{name}": ...}}',
                        received=", ".join(keys),
                        hint=suggest.hint_for(name, keys) if keys else "add HANDLERS",
                    )
                )

    def handler(self, name: str, node: ast.expr) -> None:
        if isinstance(node, ast.Name) and node.id not in self.names:
            self.refuse(
                "unknown_name",
                node,
                f"HANDLERS names {node.id!r}, which the file does not define",
                expected=", ".join(self.functions),
                received=node.id,
                hint=suggest.hint_for(node.id, self.functions),
            )
        function = self.functions.get(node.id) if isinstance(node, ast.Name) else None
        if function is not None and name in self.specs:
            for problem in annotation.mismatches(function, self.specs[name].input_schema):
                self.refuse(
                    "tool_parameter",
                    problem.node,
                    problem.message,
                    expected=problem.expected,
                    received=problem.received,
                    hint=problem.hint,
                )

    def indexes(self) -> Iterator[tuple[str, str]]:
        for node in ast.walk(self.module):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "get_index":
                first = node.args[0] if node.args else None
                if isinstance(first, ast.Constant) and isinstance(first.value, str):
                    yield first.value, self.where(first)


def _is_change(node: ast.expr) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id in ("TOOLS", "HANDLERS")
        and node.func.attr in ("append", "extend", "insert", "update", "setdefault")
    )
