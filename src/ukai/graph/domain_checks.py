"""What a domain must hold beyond its shape: names that exist, options that fit their kind, rules that compile."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from ukai.graph import cel, conditions, json_schema, kinds, numbers, regex, schema, times
from ukai.graph.problem import Problem
from ukai.kit import document, suggest
from ukai.kit.finding import Finding, Severity, excerpt

MAX_TYPES = 1_000
MAX_FIELDS = 1_000
MAX_RULES = 100
MAX_NAME = 100
"""Characters of a name."""

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_DOMAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*\Z")
_TEXTUAL = frozenset({"string", "text"})
_ORDERED = frozenset({"integer", "number", "date", "datetime"})
_KEYED = frozenset({"string", "text", "integer", "number", "enum", "date", "datetime", "ref"})
_OPTIONS: dict[str, frozenset[str]] = {
    "values": frozenset({"enum"}),
    "to": frozenset({"ref"}),
    "places": frozenset({"number"}),
    "pattern": _TEXTUAL,
    "min_length": _TEXTUAL,
    "max_length": _TEXTUAL,
    "min": _ORDERED,
    "max": _ORDERED,
    "exclusive_min": frozenset({"integer", "number"}),
    "exclusive_max": frozenset({"integer", "number"}),
    "multiple_of": frozenset({"integer", "number"}),
}
"""Option -> the kinds that it means something for."""


@dataclass(frozen=True, kw_only=True)
class Places:
    """Where the parts of a domain stand in its document."""

    doc: document.Document
    single: bool
    """The document is one type and not a domain."""
    lines: tuple[str, ...] = ()
    """The file's text, when there is one: a quoted expression begins one column after its place."""

    def type(self, index: int, *parts: str | int) -> str:
        """Pointer of a part of a type."""
        return document.pointer(*parts) if self.single else document.pointer("types", index, *parts)


def findings(domain: schema.Domain, places: Places, *, others: Collection[str] | None) -> list[Finding]:
    """Everything that is wrong with a domain of the right shape."""
    return list(_Checker(domain, places, others).all())


def field_findings(field: schema.Field, doc: document.Document, *, at: str) -> list[Finding]:
    """The same for one field that belongs to no domain. Types that it may refer to are taken on trust."""
    nowhere = schema.Domain(domain="", types=(schema.Type(type=field.to),) if field.to else ())
    return list(_Checker(nowhere, Places(doc=doc, single=False), None).field(field, at))


class _Checker:
    def __init__(self, domain: schema.Domain, places: Places, others: Collection[str] | None) -> None:
        self.domain, self.places, self.others = domain, places, others

    def all(self) -> Iterator[Finding]:
        domain = self.domain
        if not self.places.single and not _is_name(domain.domain, _DOMAIN):
            yield self._name("/domain", domain.domain)
        if len(domain.types) > MAX_TYPES:
            yield self._find("too_large", "/types", "the domain has too many types", f"at most {MAX_TYPES}", "split it")
        yield from self._repeated([t.type for t in domain.types], lambda i: self.places.type(i, "type"))
        yield from self._repeated([e.edge for e in domain.edges], lambda i: document.pointer("edges", i, "edge"))
        for i, type in enumerate(domain.types):
            yield from self._type(type, partial(self.places.type, i))
        for i, edge in enumerate(domain.edges):
            yield from self._edge(edge, document.pointer("edges", i))

    def _type(self, type: schema.Type, at: Callable[..., str]) -> Iterator[Finding]:
        if not _is_name(type.type, _IDENTIFIER):
            yield self._name(at("type"), type.type)
        yield from self._fields(type.fields, at("fields"))
        yield from self._key(type, at)
        for name in re.findall(r"\{([^{}]*)\}", type.path):
            yield from self._known(type, name, at("path"))
        for i, name in enumerate(type.text):
            # Searching less than was meant loses nothing, so only a misspelt name stops.
            near = suggest.suggest(name, type.by_key)
            yield from self._known(type, name, at("text", i), severity="error" if near else "warning")
        yield from self._readers(type, at)
        if type.passages is not None:
            yield from self._known(type, type.passages.source, at("passages", "from"))
        if type.states is not None:
            yield from self._states(type, type.states, at)
        yield from self._rules(type, at)

    def _key(self, type: schema.Type, at: Callable[..., str]) -> Iterator[Finding]:
        for i, name in enumerate(type.key):
            place = at("key", i) if len(type.key) > 1 else at("key")
            field = type.by_key.get(name)
            if field is None:
                yield from self._known(type, name, place)
            elif not field.required or field.many or field.any_of or field.kind not in _KEYED:
                yield self._find(
                    "invalid_key",
                    place,
                    f"{name!r} cannot be part of a key",
                    "a required field with one value that reads as text",
                    f"make {name!r} required, or key the type by another field",
                )

    def _readers(self, type: schema.Type, at: Callable[..., str]) -> Iterator[Finding]:
        readers = type.readers
        if readers is None:
            return
        if readers.field:
            yield from self._known(type, readers.field, at("readers", "from"))
        if readers.field and readers.edge:
            yield self._find(
                "invalid_value",
                at("readers"),
                "readers come from a field or an edge, not both",
                "one of them",
                "keep one",
            )
        if readers.edge and readers.edge not in self.domain.by_edge:
            yield self._unknown("edge", readers.edge, self.domain.by_edge, at("readers", "edge"))

    def _known(self, type: schema.Type, name: str, place: str, *, severity: Severity = "error") -> Iterator[Finding]:
        if name not in type.by_key:
            yield self._unknown("field", name, type.by_key, place, severity=severity)

    def _states(self, type: schema.Type, states: schema.States, at: Callable[..., str]) -> Iterator[Finding]:
        if "state" in type.by_key:
            yield self._find(
                "reserved_name",
                at("fields"),
                "a type with states has no field called 'state'",
                "another name",
                "rename the field; the state is written with `to_state` and read as `state`",
            )
        if not states.values:
            yield self._find("missing_key", at("states", "values"), "no state is listed", "states", "list the states")
        yield from self._repeated(states.values, lambda i: at("states", "values", i))
        for i, name in enumerate(states.initial):
            if name is not None and name not in states.values:
                yield self._unknown("state", name, states.values, at("states", "initial", i))
        reached = set(states.initial)
        for i, step in enumerate(states.transitions):
            for end, name in (("from", step.source), ("to", step.target)):
                if name is not None and name not in states.values:
                    yield self._unknown("state", name, states.values, at("states", "transitions", i, end))
            reached.add(step.target)
        for i, name in enumerate(states.values):
            if name not in reached:
                yield self._find(
                    "unreachable_state",
                    at("states", "values", i),
                    f"nothing leads to the state {name!r}",
                    "an initial state, or a transition to it",
                    f"add a transition to {name!r} if nodes should ever be in it",
                    severity="note",
                )

    def _rules(self, type: schema.Type, at: Callable[..., str]) -> Iterator[Finding]:
        if not type.rules:
            return
        if len(type.rules) > MAX_RULES:
            yield self._find(
                "too_large", at("rules"), "the type has too many rules", f"at most {MAX_RULES}", "merge some"
            )
        yield from self._repeated([r.id for r in type.rules], lambda i: at("rules", i, "id"))
        environment = conditions.environment_of(type)
        for i, rule in enumerate(type.rules[:MAX_RULES]):
            found = environment.compile(rule.require)
            if isinstance(found, list):
                yield from (self._fault(f, rule.require, at("rules", i, "require")) for f in found)

    def _fault(self, fault: cel.Fault, expression: str, place: str) -> Finding:
        return Finding(
            code="invalid_rule",
            where=self._inside(place, expression, fault.column),
            message=f"{fault.message} (column {fault.column} of the expression)",
            expected=fault.expected,
            received=excerpt(expression),
            hint=fault.hint or "correct the expression",
        )

    def _inside(self, place: str, expression: str, column: int) -> str:
        """The place in the file of a column of an expression that stands on one line; else where it begins."""
        where = self.places.doc.where(place)
        name, line, start = where.rsplit(":", 2)
        if "\n" in expression or len(self.places.lines) < int(line):
            return where
        text, begin = self.places.lines[int(line) - 1], int(start)
        quoted = text[begin - 1 : begin] in ("'", '"')
        written = text[begin - 1 + quoted :].startswith(expression)
        return f"{name}:{line}:{begin + quoted + column - 1}" if written else where

    def _edge(self, edge: schema.EdgeType, at: str) -> Iterator[Finding]:
        if not _is_name(edge.edge, _IDENTIFIER):
            yield self._name(f"{at}/edge", edge.edge)
        for end, names in (("from", edge.sources), ("to", edge.targets)):
            for i, name in enumerate(names):
                yield from self._declared(name, f"{at}/{end}/{i}" if len(names) > 1 else f"{at}/{end}")
        for least, most in (("min_out", "max_out"), ("min_in", "max_in")):
            low, high = getattr(edge, least), getattr(edge, most)
            if low < 0 or (high is not None and high < max(low, 1)):
                yield self._find(
                    "invalid_value",
                    f"{at}/{most if high is not None else least}",
                    f"{least} and {most} leave nothing between them",
                    f"0 <= {least} <= {most}, and at least 1 for {most}",
                    "correct the counts",
                )
        yield from self._fields(edge.fields, f"{at}/fields")

    def _declared(self, name: str, place: str) -> Iterator[Finding]:
        if name in self.domain.by_type or (self.others is not None and name in self.others):
            return
        known = {*self.domain.by_type, *(self.others or ())}
        # Without the deployment's other domains a type declared elsewhere cannot be told from a misspelt one.
        unsure = self.others is None and suggest.suggest(name, known) is None
        yield self._unknown("type", name, known, place, severity="warning" if unsure else "error")

    def _fields(self, fields: Sequence[schema.Field], at: str) -> Iterator[Finding]:
        if len(fields) > MAX_FIELDS:
            yield self._find("too_large", at, "too many fields", f"at most {MAX_FIELDS}", "split the type")
        yield from self._repeated([f.key for f in fields], lambda i: f"{at}/{i}/key")
        for i, field in enumerate(fields):
            yield from self.field(field, f"{at}/{i}")

    def field(self, field: schema.Field, at: str) -> Iterator[Finding]:
        if not field.key.isprintable() or not 0 < len(field.key) <= MAX_NAME or field.key != field.key.strip():
            yield self._name(f"{at}/key", field.key)
        stated = self.places.doc.where(f"{at}/kind") != self.places.doc.where(at) or not self.places.doc.marks
        if not field.any_of and not stated:
            yield self._find("missing_key", at, f"{field.key!r} has no kind", ", ".join(schema.KINDS), "add `kind:`")
        for option, meant in _OPTIONS.items():
            given = getattr(field, option)
            if given not in (None, (), "") and not meant & set(field.any_of or (field.kind,)):
                yield self._find(
                    "invalid_option",
                    f"{at}/{option}",
                    f"{option} means nothing for a field of kind {field.kind}",
                    f"{option} on: {', '.join(sorted(meant))}",
                    f"remove {option} or change the kind",
                )
        if "enum" in (field.any_of or (field.kind,)) and not field.values:
            yield self._find(
                "missing_key", at, f"the enum {field.key!r} lists no values", "values", "add `values: [..]`"
            )
        yield from self._repeated([repr(v) for v in field.values], lambda i: f"{at}/values/{i}")
        if field.to:
            yield from self._declared(field.to, f"{at}/to")
        yield from self._bounds(field, at)
        yield from self._usable(field, at)

    def _bounds(self, field: schema.Field, at: str) -> Iterator[Finding]:
        for least, most in (("min", "max"), ("min_length", "max_length"), ("min_items", "max_items")):
            low, high = _comparable(getattr(field, least)), _comparable(getattr(field, most))
            if low is not None and high is not None and type(low) is type(high) and low > high:
                yield self._find(
                    "invalid_value",
                    f"{at}/{most}",
                    f"{most} is below {least}",
                    f"{least} <= {most}",
                    "correct the bounds",
                )
        for option in ("min", "max", "exclusive_min", "exclusive_max", "multiple_of"):
            given = getattr(field, option)
            if given is not None and not _is_bound(given, field.any_of or (field.kind,)):
                yield self._find(
                    "invalid_value",
                    f"{at}/{option}",
                    f"{option} is no {field.kind}",
                    field.kind,
                    "write the bound as its kind",
                )

    def _usable(self, field: schema.Field, at: str) -> Iterator[Finding]:
        if field.pattern is not None:
            reason = regex.compiled(field.pattern)
            if isinstance(reason, str):
                yield self._find(
                    "invalid_pattern",
                    f"{at}/pattern",
                    f"the pattern cannot be used: {reason}",
                    "a regular expression in RE2 syntax",
                    "look-around and back references are not available",
                )
                return
        try:
            check = kinds.compile(field)
        except json_schema.UnusableSchema as error:
            yield self._find(
                "invalid_schema", f"{at}/schema{error.where}", str(error), "a JSON Schema", "correct the schema"
            )
            return
        except (ValueError, ArithmeticError):
            return  # a bound that is no number, found above
        if field.default is not None:
            problems: list[Problem] = []
            check(field.default, "", problems)
            if problems or field.server_set:
                yield self._find(
                    "invalid_default",
                    f"{at}/default",
                    f"the default of {field.key!r} is not a value of the field",
                    kinds.expected_of(field),
                    "change the default, or remove it where the server sets the field",
                    received=excerpt(field.default),
                )

    def _repeated(self, names: Sequence[str], place: Callable[[int], str]) -> Iterator[Finding]:
        seen: set[str] = set()
        for i, name in enumerate(names):
            if name in seen:
                yield self._find(
                    "duplicate_name", place(i), f"{name!r} is declared twice", "each name once", "rename one"
                )
            seen.add(name)

    def _name(self, place: str, name: str) -> Finding:
        return self._find(
            "invalid_name",
            place,
            f"{name!r} is not a usable name",
            f"letters, digits and underscores, at most {MAX_NAME}",
            "rename it",
            received=excerpt(name),
        )

    def _unknown(
        self, what: str, name: str, known: Iterable[str], place: str, *, severity: Severity = "error"
    ) -> Finding:
        names = list(known)
        return Finding(
            code=f"unknown_{what}",
            severity=severity,
            where=self.places.doc.where(place),
            message=f"no {what} is called {name!r}",
            expected=", ".join(sorted(names)[:20]),
            received=name,
            hint=suggest.hint_for(name, names),
        )

    def _find(
        self,
        code: str,
        place: str,
        message: str,
        expected: str,
        hint: str,
        *,
        received: str = "",
        severity: Severity = "error",
    ) -> Finding:
        return Finding(
            code=code,
            severity=severity,
            where=self.places.doc.where(place),
            message=message,
            expected=expected,
            received=received,
            hint=hint,
        )


def _is_name(name: str, pattern: re.Pattern[str]) -> bool:
    return len(name) <= MAX_NAME and pattern.match(name) is not None


def _comparable(value: Any) -> Any:
    if isinstance(value, str):
        return numbers.from_text(value) or value
    return numbers.exact(value) if numbers.is_number(value) else value


def _is_bound(value: Any, kinds_: Collection[str]) -> bool:
    if isinstance(value, str):
        return (
            (times.is_date(value) and "date" in kinds_)
            or (times.is_datetime(value) and "datetime" in kinds_)
            or (numbers.from_text(value) is not None and bool({"integer", "number"} & set(kinds_)))
        )
    return numbers.is_number(value) and bool({"integer", "number"} & set(kinds_))
