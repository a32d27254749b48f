"""Conditions in CEL over typed records: checked when they are written, evaluated in microseconds, bounded in time.

Checking and evaluating use two environments. The first declares every record as a message with typed fields, so that an
unknown field, an unknown function or a wrong type is a fault before anything runs. The second takes plain values: dates
as timestamps at midnight UTC, instants as timestamps, numbers as whole numbers scaled by their field's places (they are
opaque to the checker and only readable through `dec(x)`), json as it is, an absent value as null.
Source of the choice: docs/design/rules.md.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, NamedTuple, cast

from cel_expr_python import cel
from google.protobuf import descriptor_pb2, descriptor_pool, struct_pb2, timestamp_pb2, wrappers_pb2

from ukai.graph import growth, numbers, times
from ukai.graph.schema import DEFAULT_PLACES, Field
from ukai.kit import suggest

MAX_EXPRESSION = 2_000
"""Characters. Nesting is bounded by the engine (32 levels), iterations by its budget."""
MAX_SUMS = 16
"""Plus signs: what joins texts inside `map` inside `map` grows by their product, here at most about 360 times. How
long the texts may be is for `growth` to say."""


@dataclass(frozen=True, kw_only=True)
class Record:
    """A variable with named parts."""

    name: str
    """As people know it, for messages: the type's name."""
    parts: Mapping[str, Field | Record]


@dataclass(frozen=True, kw_only=True)
class Fault:
    """Why an expression cannot be used."""

    message: str
    column: int = 1
    """Inside the expression, from 1."""
    expected: str = ""
    hint: str = ""


@dataclass(frozen=True, kw_only=True)
class Unevaluable:
    """An evaluation that gave no answer. Callers fail closed."""

    reason: str
    lossy: str = ""
    """The field whose number has more places than `dec` keeps, when that is the reason."""


Variables = Mapping[str, "Record | str"]
"""Variable -> its record, or "string"."""


class Environment:
    """What expressions of one kind may speak of."""

    def __init__(self, variables: Variables) -> None:
        self.variables = variables
        self._checker = _checker(variables)

    def compile(self, text: str) -> Program | list[Fault]:
        """A condition ready to run, or everything that is wrong with it."""
        bare = _without_texts(text)
        if len(text) > MAX_EXPRESSION:
            return [Fault(message="the expression is too long", expected=f"at most {MAX_EXPRESSION} characters")]
        if bare.count("+") > MAX_SUMS:
            return [Fault(message="the expression adds too often", expected=f"at most {MAX_SUMS} plus signs")]
        try:
            checked = self._checker.compile(text)
        except RuntimeError as error:
            return list(self._faults(str(error), text))
        if checked.return_type() != cel.Type.BOOL:
            return [
                Fault(message=f"gives {_word(checked.return_type().name())}, not true or false", expected="a condition")
            ]
        faults = list(self._scales(bare))
        return faults or Program(text=text, variables=self.variables)

    def _faults(self, error: str, text: str) -> Iterator[Fault]:
        found = re.findall(r"ERROR: <input>:(-?\d+):(-?\d+): (.*)", error)
        if not found:
            yield Fault(message=error.splitlines()[0][:200])
        for line, column, message in found:
            at = max(1, int(column)) + _before_line(text, int(line))
            yield self._fault(message, at, text)

    def _fault(self, message: str, column: int, text: str) -> Fault:
        field = re.match(r"undefined field '(.*?)' not found in struct '(?:ukai\.)?(.*?)'", message)
        if field:
            record = next((r for r in _records(self.variables.values()) if _struct(r) == field[2]), None)
            known = list(record.parts) if record else []
            return Fault(
                message=f"{record.name if record else field[2]} has no field {field[1]!r}",
                column=column + 1,
                expected=", ".join(sorted(known)),
                hint=suggest.hint_for(field[1], known),
            )
        name = re.match(r"undeclared reference to '(.*?)'", message)
        if name:
            known = [*self.variables, *_FUNCTIONS]
            called = text[: column - 1].endswith(name[1])  # the engine points behind the name of a call
            return Fault(
                message=f"nothing is called {name[1]!r}",
                column=column - len(name[1]) if called else column,
                expected=", ".join(self.variables),
                hint=suggest.hint_for(name[1].split(".")[0], known),
            )
        overload = re.match(r"found no matching overload for '(.*?)' applied to '(.*)'", message)
        if overload:
            called = overload[1].strip("_").replace("_", " ")
            return Fault(
                message=f"{called} does not take {_word(overload[2])}",
                column=column,
                hint="compare a number through dec(x)" if "Decimal" in overload[2] else "compare values of one type",
            )
        return Fault(message=message[:200], column=column, hint="see the syntax of CEL")

    def _scales(self, bare: str) -> Iterator[Fault]:
        """Two numbers kept to different places would be compared at different scales."""
        seen: dict[int, str] = {}
        for found in re.finditer(r"\bdec\(\s*([\w.]+)\s*\)", bare):
            part = _at(self.variables, found[1].split("."))
            if isinstance(part, Field):
                seen.setdefault(_places(part), found[1])
        if len(seen) > 1:
            told = ", ".join(f"{name} to {places}" for places, name in seen.items())
            yield Fault(
                message=f"dec() scales numbers that are kept to different places: {told}",
                expected="numbers with the same places",
                hint="declare the same `places` for the fields that a rule compares",
            )


class Program:
    """A checked condition. The engine's own program is made on first use and kept."""

    def __init__(self, *, text: str, variables: Variables) -> None:
        self.text = text
        self._variables = variables
        bare = _without_texts(text)
        self._read = frozenset(re.findall(r"(?<![\w.])[A-Za-z_]\w*(?:\.\w+)*", bare))
        self._parts = tuple((n, _part(n, of, self._read)) for n, of in variables.items())
        self._program: Any = None
        self._growth = growth.growth_of(text)

    def evaluate(self, values: Mapping[str, Any]) -> bool | Unevaluable:
        """The condition over canonical values (see `kinds`); a record may be None. Anything but a clear yes or no is
        Unevaluable.
        """
        if self._program is None:
            self._program = _runner(tuple(sorted(self._variables))).compile(_asking(self.text, self._variables))
        try:
            data = {name: part.converted(values.get(name)) for name, part in self._parts}
            if not self._growth.is_still and self._growth.evaluated(growth.size_of(data)) > growth.MOST:
                return Unevaluable(reason=growth.TOO_LARGE)
            found = self._program.eval(data=data).value()
        except RuntimeError as error:
            return Unevaluable(reason=_reason(str(error)))
        except _Lossy as lossy:
            return Unevaluable(reason=f"{lossy.field} has more places than are compared", lossy=lossy.field)
        if found is True or found is False:
            return found
        return Unevaluable(reason=_reason(str(found)))

    def fields(self, variable: str) -> frozenset[str]:
        """The parts of `variable` that the condition reads."""
        return frozenset(p.split(".")[1] for p in self._read if p.startswith(f"{variable}."))

    def speaks_of(self, variable: str) -> bool:
        """Whether the condition reads `variable`, or a part of it."""
        return any(p.split(".")[0] == variable for p in self._read)

    def reads_whole(self, variable: str) -> bool:
        """Whether it reads more of `variable` than parts named in it."""
        return variable in self._read


def _part(path: str, of: Record | Field | str, read: frozenset[str]) -> _Part:
    if not isinstance(of, Record):
        return _Part(of, ())
    inner = [(name, f"{path}.{name}", part) for name, part in of.parts.items()]
    wanted = [(n, p, part) for n, p, part in inner if any(r in (path, p) or r.startswith(p + ".") for r in read)]
    return _Part(of, tuple((n, _part(p, part, read)) for n, p, part in wanted))


class _Part(NamedTuple):
    """What of a variable is handed to the engine: only what the condition reads."""

    of: Record | Field | str
    inner: tuple[tuple[str, _Part], ...]

    def converted(self, value: Any) -> Any:
        if isinstance(self.of, Field):
            return _converted(self.of, value)
        if isinstance(self.of, str):
            return value or ""
        if value is None:
            return None
        return {name: part.converted(value.get(name)) for name, part in self.inner}


class _Lossy(Exception):
    def __init__(self, field: str) -> None:
        super().__init__(field)
        self.field = field


def _converted(field: Field, value: Any) -> Any:
    if value is None:
        return None
    if field.many:
        return [_one(field, v) for v in cast("list[Any]", value)]
    return _one(field, value)


def _one(field: Field, value: Any) -> Any:
    kinds = field.any_of or (field.kind,)
    if isinstance(value, str):
        if "date" in kinds and times.is_date(value):
            return _timestamp(f"{value}T00:00:00Z")
        if "datetime" in kinds and times.is_datetime(value):
            return _timestamp(value)
    if "number" in kinds and not isinstance(value, bool):
        number = numbers.from_text(value) if isinstance(value, str) else numbers.exact(value)
        if number is not None:
            return _scaled(field, number)
    return value


def _scaled(field: Field, number: Decimal) -> int:
    scaled = number.scaleb(_places(field)) if len(number.as_tuple().digits) <= 19 else Decimal("1e30")
    if not numbers.is_whole(scaled) or abs(scaled) >= 1 << 63:
        raise _Lossy(field.key)
    return int(scaled)


def _places(field: Field) -> int:
    return DEFAULT_PLACES if field.places is None else field.places


def _timestamp(text: str) -> timestamp_pb2.Timestamp:
    stamp = timestamp_pb2.Timestamp()
    stamp.FromJsonString(text)
    return stamp


# Environments.

_FUNCTIONS = ("has", "size", "dec", "timestamp", "duration", "matches", "contains", "startsWith", "endsWith", "exists")
_DECIMAL = "ukai.Decimal"
_IMPORTED = (wrappers_pb2, timestamp_pb2, struct_pb2)
_WRAPPED = {
    "string": "google.protobuf.StringValue",
    "text": "google.protobuf.StringValue",
    "ref": "google.protobuf.StringValue",
    "enum": "google.protobuf.StringValue",
    "integer": "google.protobuf.Int64Value",
    "boolean": "google.protobuf.BoolValue",
    "date": "google.protobuf.Timestamp",
    "datetime": "google.protobuf.Timestamp",
    "number": _DECIMAL,
    "json": "google.protobuf.Value",
}
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


def _dec(parameter: Any) -> cel.FunctionDecl:
    overload = cel.Overload(id="dec", return_type=cel.Type.INT, parameters=[parameter], impl=_same)
    return cel.FunctionDecl("dec", [overload])


def _same(scaled: int) -> int:
    return scaled


def _checker(variables: Variables) -> cel.Env:
    """Every record as a message type of its own."""
    pool = descriptor_pool.DescriptorPool()
    file = descriptor_pb2.FileDescriptorProto(name="ukai.proto", package="ukai", syntax="proto3")
    for module in _IMPORTED:
        copied = descriptor_pb2.FileDescriptorProto()
        module.DESCRIPTOR.CopyToProto(copied)
        pool.Add(copied)  # pyright: ignore[reportUnknownMemberType]
        file.dependency.append(copied.name)
    file.message_type.add(name="Decimal")
    for record in {id(r): r for r in _records(variables.values())}.values():
        _message(file, record)
    pool.Add(file)  # pyright: ignore[reportUnknownMemberType]
    declared = {
        name: cel.Type(f"ukai.{_struct(of)}") if isinstance(of, Record) else cel.Type.STRING
        for name, of in variables.items()
    }
    return cel.NewEnv(descriptor_pool=pool, variables=declared, functions=[_dec(cel.Type(_DECIMAL))])


def _message(file: descriptor_pb2.FileDescriptorProto, record: Record) -> None:
    if any(m.name == _struct(record) for m in file.message_type):
        return
    message = file.message_type.add(name=_struct(record))
    names = [n for n in record.parts if _NAME.match(n)]
    for number, name in enumerate(names, 20_000):  # above the range that protocol buffers keep for themselves
        part = record.parts[name]
        label = descriptor_pb2.FieldDescriptorProto.LABEL_OPTIONAL
        if isinstance(part, Field) and part.many:
            label = descriptor_pb2.FieldDescriptorProto.LABEL_REPEATED
        message.field.add(
            name=name,
            json_name=f"f{number}",
            number=number,
            label=label,
            type=descriptor_pb2.FieldDescriptorProto.TYPE_MESSAGE,
            type_name="." + (f"ukai.{_struct(part)}" if isinstance(part, Record) else _declared(part)),
        )


def _declared(field: Field) -> str:
    if field.any_of or (field.kind == "enum" and not all(isinstance(v, str) for v in field.values)):
        return _WRAPPED["json"]
    return _WRAPPED[field.kind]


_RUNNERS: dict[tuple[str, ...], cel.Env] = {}


def _runner(names: tuple[str, ...]) -> cel.Env:
    if names not in _RUNNERS:
        dynamic = dict.fromkeys(names, cel.Type.DYN)
        _RUNNERS[names] = cel.NewEnv(variables=dynamic, functions=[_dec(cel.Type.INT)])
    return _RUNNERS[names]


def _records(values: Any) -> Iterator[Record]:
    for value in values:
        if isinstance(value, Record):
            yield value
            yield from _records(value.parts.values())


def _struct(record: Record) -> str:
    return "R_" + re.sub(r"\W", "_", record.name)


def _at(variables: Variables, path: list[str]) -> Record | Field | str | None:
    part: Any = variables.get(path[0])
    for step in path[1:]:
        part = part.parts.get(step) if isinstance(part, Record) else None
    return part


def _without_texts(text: str) -> str:
    """`text` with the inside of its string literals blanked, so that names are only found outside."""
    return re.sub(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'", lambda m: '"' + " " * (len(m[0]) - 2) + '"', text)


def _asking(text: str, variables: Variables) -> str:
    """`text` with `has(field)` as `(field != null)`: to a field null and absence are one, and maps tell them apart.

    And with `dec` as `int`, which is the same of a scaled number and refuses null alike: the engine never lets go of
    what it hands to a function in Python, some 80 bytes an evaluation.
    """
    for call in re.finditer(r"\bdec(?=\s*\()", _without_texts(text)):
        text = f"{text[: call.start()]}int{text[call.end() :]}"
    found, end = "", 0
    for asked in re.finditer(r"\bhas\(\s*([\w.]+)\s*\)", _without_texts(text)):
        if isinstance(_at(variables, asked[1].split(".")), Field):
            found += f"{text[end : asked.start()]}({asked[1]} != null)"
            end = asked.end()
    return found + text[end:]


def _before_line(text: str, line: int) -> int:
    lines = text.split("\n")
    return sum(len(part) + 1 for part in lines[: line - 1]) if 1 < line <= len(lines) else 0


def _reason(error: str) -> str:
    first = error.splitlines()[0] if error else ""
    return re.sub(r"\s*\[[A-Z_]+\]$|^[A-Z_]+: ", "", first)[:200] or "no answer"


def _word(type_name: str) -> str:
    text = re.sub(r"wrapper\((\w+)\)", r"\1", type_name)
    text = text.replace("google.protobuf.Timestamp", "timestamp").replace(_DECIMAL, "a number")
    return re.sub(r"ukai\.R_(\w+)", r"\1", text).strip("()").lower()
