"""JSON Schema (draft 2020-12) as checks: the keywords that field kinds need, and those that combine them.

One engine with the field kinds: both append `Problem`s whose `at` points into the value, and share the checks below.
`format` is asserted for date and date-time only. Keywords that are not supported are listed by `unsupported`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, cast

from ukai.graph import checks, json_form, json_keywords
from ukai.graph.checks import escaped
from ukai.graph.json_keywords import Check, Object, UnusableSchema
from ukai.graph.problem import Problem
from ukai.kit import suggest

ANNOTATIONS = frozenset(
    {"$schema", "$id", "$comment", "$anchor", "$defs", "definitions", "title", "description", "default", "examples"}
    | {"deprecated", "readOnly", "writeOnly", "contentEncoding", "contentMediaType", "tsType", "tsAdditionalProperties"}
    | {"then", "else"}  # read together with `if`
)


def compile(schema: Any) -> Check:
    """The check that `schema` stands for. References are followed inside the document (`#/$defs/..`) only.

    Raises UnusableSchema.
    """
    json_form.check(schema)
    return _Compiler(schema).check(schema, "")


def unsupported(schema: Any) -> dict[str, str]:
    """JSON pointer -> keyword, of every keyword that is not checked and is no annotation."""
    found: dict[str, str] = {}
    for place, part in _schemas(schema, ""):
        found |= {f"{place}/{escaped(k)}": k for k in part if k not in _KNOWN}
    return found


class _Compiler:
    """One schema document: the references inside it are compiled once."""

    def __init__(self, root: Any) -> None:
        self.root = root
        self.known: dict[str, Check] = {}

    def check(self, schema: Any, where: str) -> Check:
        if schema is True:
            return _anything
        if schema is False:
            return _nothing
        if not isinstance(schema, dict):
            raise UnusableSchema("a schema is an object, true or false", where=where)
        members = cast("Object", schema)
        found_checks: list[Check] = []
        if "$ref" in members:
            found_checks.append(self.reference(members["$ref"], f"{where}/$ref"))
        for keyword in members:
            place = f"{where}/{escaped(keyword)}"
            if keyword in _KEYWORDS:
                found = _KEYWORDS[keyword](self, members, place)
            elif keyword in json_keywords.VALUE_KEYWORDS:
                found = json_keywords.VALUE_KEYWORDS[keyword](members, place)
            else:
                found = None
            found_checks += [found] if found else []
        if len(found_checks) == 1:
            return found_checks[0]

        def every(value: Any, at: str, problems: list[Problem]) -> None:
            for one in found_checks:
                one(value, at, problems)

        return every

    def reference(self, target: Any, where: str) -> Check:
        if not isinstance(target, str) or not target.startswith("#") or (target != "#" and target[1] != "/"):
            raise UnusableSchema(f"only references inside the document are followed, not {target!r}", where=where)
        pointer = target[1:]

        def follow(value: Any, at: str, problems: list[Problem]) -> None:
            check = self.known.get(pointer)
            if check is None:
                raise UnusableSchema(f"reference {target!r} was never compiled", where=where)
            check(value, at, problems)

        if pointer not in self.known:
            self.known[pointer] = _nothing  # held while it is compiled: a reference to itself is followed at run time
            if self._only_refers(pointer):
                raise UnusableSchema(f"{target!r} refers to itself without end", where=where)
            self.known[pointer] = self.check(self.at(pointer, where), pointer)
        return follow

    def _only_refers(self, pointer: str) -> bool:
        seen: set[str] = set()
        while pointer not in seen:
            seen.add(pointer)
            part = self.at(pointer, pointer)
            target = cast("Object", part).get("$ref") if isinstance(part, dict) else None
            if not isinstance(target, str) or not target.startswith("#"):
                return False
            pointer = target[1:]
        return True

    def at(self, pointer: str, where: str) -> Any:
        part = self.root
        for step in pointer.split("/")[1:]:
            name = step.replace("~1", "/").replace("~0", "~")
            if isinstance(part, dict) and name in part:
                part = cast("Object", part)[name]
            elif isinstance(part, list) and name.isdigit() and int(name) < len(cast("list[Any]", part)):
                part = cast("list[Any]", part)[int(name)]
            else:
                raise UnusableSchema(f"nothing stands at '#{pointer}'", where=where)
        return part

    def several(self, members: Object, keyword: str, where: str) -> list[Check]:
        parts = members[keyword]
        if not isinstance(parts, list) or not parts:
            raise UnusableSchema(f"{keyword} is a list of schemas", where=where)
        return [self.check(p, f"{where}/{i}") for i, p in enumerate(cast("list[Any]", parts))]

    def mapped(self, members: Object, keyword: str, where: str) -> dict[str, Check]:
        parts = members.get(keyword, {})
        if not isinstance(parts, dict):
            raise UnusableSchema(f"{keyword} is an object of schemas", where=where)
        return {k: self.check(v, f"{where}/{escaped(k)}") for k, v in cast("Object", parts).items()}


def _anything(value: Any, at: str, problems: list[Problem]) -> None:
    """The schema `true`."""


def _nothing(value: Any, at: str, problems: list[Problem]) -> None:
    problems.append(
        Problem(code="type_mismatch", at=at, message="is not allowed here", expected="nothing", received=value)
    )


def _kind_of(schema: Any) -> str:
    named = cast("Object", schema).get("type") if isinstance(schema, dict) else None
    return f" ({named})" if isinstance(named, str) else ""


def _required(_: _Compiler, members: Object, where: str) -> Check:
    names = members["required"]
    if not isinstance(names, list) or not all(isinstance(n, str) for n in cast("list[Any]", names)):
        raise UnusableSchema("required is a list of names", where=where)
    wanted = cast("list[str]", names)
    properties: Object = members["properties"] if isinstance(members.get("properties"), dict) else {}

    def check(value: Any, at: str, problems: list[Problem]) -> None:
        if isinstance(value, dict):
            problems.extend(
                Problem(
                    code="required_field",
                    at=at,
                    message=f"has no member {n!r}",
                    expected=n,
                    received=sorted(cast("Object", value))[:20],
                    hint=f"add {n!r}" + _kind_of(properties.get(n)),
                )
                for n in wanted
                if n not in value
            )

    return check


def _properties(of: _Compiler, members: Object, where: str) -> Check:
    checks = of.mapped(members, "properties", where)

    def check(value: Any, at: str, problems: list[Problem]) -> None:
        if isinstance(value, dict):
            for name, one in checks.items():
                if name in value:
                    one(value[name], f"{at}/{escaped(name)}", problems)

    return check


def _pattern_properties(of: _Compiler, members: Object, where: str) -> Check:
    checks = [(json_keywords.matcher(p, where), c) for p, c in of.mapped(members, "patternProperties", where).items()]

    def check(value: Any, at: str, problems: list[Problem]) -> None:
        if isinstance(value, dict):
            for name, part in cast("Object", value).items():
                for matches, one in checks:
                    if matches(name):
                        one(part, f"{at}/{escaped(name)}", problems)

    return check


def _additional(of: _Compiler, members: Object, where: str) -> Check:
    named = set(cast("Object", members.get("properties", {})))
    patterns = [json_keywords.matcher(p, where) for p in cast("Object", members.get("patternProperties", {}))]
    rest = members["additionalProperties"]
    one = of.check(rest, where)

    def check(value: Any, at: str, problems: list[Problem]) -> None:
        if not isinstance(value, dict):
            return
        for name, part in cast("Object", value).items():
            if name in named or any(matches(name) for matches in patterns):
                continue
            if rest is False:
                problems.append(_unknown_member(name, part, at, named, cast("Object", value)))
            else:
                one(part, f"{at}/{escaped(name)}", problems)

    return check


def _unknown_member(name: str, part: Any, at: str, known: Iterable[str], others: Object) -> Problem:
    meant = suggest.suggest(name, [k for k in known if k not in others])
    return Problem(
        code="unknown_field",
        at=f"{at}/{escaped(name)}",
        message=f"no member is named {name!r}",
        expected=", ".join(sorted(known)),
        received=part,
        rename=meant.name if meant else "",
        confidence=meant.confidence if meant else "exact",
        hint=f"rename it to {meant.name!r}" if meant else suggest.hint_for(name, known),
    )


def _property_names(of: _Compiler, members: Object, where: str) -> Check:
    one = of.check(members["propertyNames"], where)

    def check(value: Any, at: str, problems: list[Problem]) -> None:
        if isinstance(value, dict):
            for name in cast("Object", value):
                one(name, f"{at}/{escaped(name)}", problems)

    return check


def _dependent_schemas(of: _Compiler, members: Object, where: str) -> Check:
    checks = of.mapped(members, "dependentSchemas", where)

    def check(value: Any, at: str, problems: list[Problem]) -> None:
        if isinstance(value, dict):
            for name, one in checks.items():
                if name in value:
                    one(value, at, problems)

    return check


def _count_items(_: _Compiler, members: Object, where: str) -> Check | None:
    least = json_keywords.count("minItems", members, where) if "minItems" in members else None
    most = json_keywords.count("maxItems", members, where) if "maxItems" in members else None
    if where.endswith("/maxItems") and least is not None:
        return None  # minItems has built both

    def check(value: Any, at: str, problems: list[Problem]) -> None:
        if isinstance(value, list):
            checks.counted(cast("list[Any]", value), at, least, most, problems)

    return check


def _unique_items(_: _Compiler, members: Object, where: str) -> Check | None:
    if members["uniqueItems"] is not True:
        return None

    def check(value: Any, at: str, problems: list[Problem]) -> None:
        if isinstance(value, list):
            checks.distinct(cast("list[Any]", value), at, problems)

    return check


def _each(of: _Compiler, members: Object, where: str) -> Check:
    if isinstance(members["items"], list):
        raise UnusableSchema("items is one schema; use prefixItems for a list of them", where=where)
    one, after = of.check(members["items"], where), len(members.get("prefixItems", ()))

    def check(value: Any, at: str, problems: list[Problem]) -> None:
        if isinstance(value, list):
            for i, item in enumerate(cast("list[Any]", value)[after:], after):
                one(item, f"{at}/{i}", problems)

    return check


def _prefix(of: _Compiler, members: Object, where: str) -> Check:
    checks = of.several(members, "prefixItems", where)

    def check(value: Any, at: str, problems: list[Problem]) -> None:
        if isinstance(value, list):
            for i, (item, one) in enumerate(zip(cast("list[Any]", value), checks, strict=False)):
                one(item, f"{at}/{i}", problems)

    return check


def _all_of(of: _Compiler, members: Object, where: str) -> Check:
    checks = of.several(members, "allOf", where)

    def check(value: Any, at: str, problems: list[Problem]) -> None:
        for one in checks:
            one(value, at, problems)

    return check


def _fits(check: Check, value: Any) -> bool:
    found: list[Problem] = []
    check(value, "", found)
    return not found


def _any_of(of: _Compiler, members: Object, where: str) -> Check:
    return _choice(of.several(members, "anyOf", where), once=False)


def _one_of(of: _Compiler, members: Object, where: str) -> Check:
    return _choice(of.several(members, "oneOf", where), once=True)


def _choice(checks: list[Check], *, once: bool) -> Check:
    def check(value: Any, at: str, problems: list[Problem]) -> None:
        attempts: list[list[Problem]] = []
        for one in checks:
            found: list[Problem] = []
            one(value, at, found)
            attempts.append(found)
        fitting = sum(not found for found in attempts)
        if fitting == 0:
            # The option that got furthest into the value is the one that was probably meant.
            deepest = max(attempts, key=lambda found: (min(p.at.count("/") for p in found), -len(found)))
            if all(p.at == at and p.code == "type_mismatch" for found in attempts for p in found):
                expected = " | ".join(dict.fromkeys(p.expected for found in attempts for p in found))
                problems.append(
                    Problem(
                        code="type_mismatch",
                        at=at,
                        message=f"is not of type {expected}",
                        expected=expected,
                        received=value,
                    )
                )
            else:
                problems.extend(deepest)
        elif once and fitting > 1:
            problems.append(
                Problem(
                    code="type_mismatch",
                    at=at,
                    message=f"fits {fitting} of the alternatives",
                    expected="exactly one of the alternatives",
                    received=value,
                )
            )

    return check


def _not(of: _Compiler, members: Object, where: str) -> Check:
    one = of.check(members["not"], where)

    def check(value: Any, at: str, problems: list[Problem]) -> None:
        if _fits(one, value):
            problems.append(
                Problem(
                    code="type_mismatch",
                    at=at,
                    message="is what the schema excludes",
                    expected="anything that is not excluded",
                    received=value,
                )
            )

    return check


def _if(of: _Compiler, members: Object, where: str) -> Check:
    test = of.check(members["if"], where)
    yes = of.check(members.get("then", True), f"{where[:-3]}/then")
    no = of.check(members.get("else", True), f"{where[:-3]}/else")

    def check(value: Any, at: str, problems: list[Problem]) -> None:
        (yes if _fits(test, value) else no)(value, at, problems)

    return check


_KEYWORDS: Mapping[str, Callable[[_Compiler, Object, str], Check | None]] = {
    "required": _required,
    "properties": _properties,
    "patternProperties": _pattern_properties,
    "additionalProperties": _additional,
    "propertyNames": _property_names,
    "dependentSchemas": _dependent_schemas,
    "minItems": _count_items,
    "maxItems": _count_items,
    "uniqueItems": _unique_items,
    "items": _each,
    "prefixItems": _prefix,
    "allOf": _all_of,
    "anyOf": _any_of,
    "oneOf": _one_of,
    "not": _not,
    "if": _if,
}

_KNOWN = frozenset({*_KEYWORDS, *json_keywords.VALUE_KEYWORDS, *ANNOTATIONS, "$ref"})


def _schemas(schema: Any, place: str) -> Iterable[tuple[str, Object]]:
    """Every schema object inside `schema`, with its pointer."""
    if not isinstance(schema, dict):
        return
    members = cast("Object", schema)
    yield place, members
    for keyword in ("items", "additionalProperties", "propertyNames", "not", "if", "then", "else"):
        yield from _schemas(members.get(keyword), f"{place}/{keyword}")
    for keyword in ("allOf", "anyOf", "oneOf", "prefixItems"):
        for i, part in enumerate(members.get(keyword, ())):
            yield from _schemas(part, f"{place}/{keyword}/{i}")
    for keyword in ("properties", "patternProperties", "dependentSchemas", "$defs", "definitions"):
        for name, part in members.get(keyword, {}).items():
            yield from _schemas(part, f"{place}/{keyword}/{escaped(name)}")
