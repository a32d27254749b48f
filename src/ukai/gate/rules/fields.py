"""Fields: they exist, hold their kind, are given where required, and are not set where the server or nobody sets them.

A misspelt field and the required one that it probably is come back as one rejection, not as two unrelated ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal

from ukai.gate import hints, wording
from ukai.gate.delta import Op
from ukai.gate.rejection import MASK, Rejection, reject
from ukai.gate.rules import references
from ukai.gate.scene import Later, Scene
from ukai.graph import kinds
from ukai.graph.catalogue import CompiledEdge, CompiledType
from ukai.graph.problem import Problem
from ukai.graph.schema import Field
from ukai.kit import document, suggest

Part = Literal["set", "match", "test"]
Owner = CompiledType | CompiledEdge
Values = dict[str, Any]


def checked(
    scene: Scene,
    op: Op,
    owner: Owner,
    given: Mapping[str, Any],
    out: list[Rejection],
    *,
    part: Part = "set",
    creates: bool = False,
) -> Values:
    """The canonical values of what an operation gives; what is wrong is appended to `out`.

    A ref's canonical value is a `Target`, or a list of them: `shape` writes them as handles once keys are known.
    `creates`: nulls are left out (nothing is there to clear) and may stand for no required field.
    """
    values: Values = {}
    known = owner.type.by_key
    checks = owner.checks
    place = f"{op.at}/{part}"
    for name, value in given.items():
        field = known.get(name)
        if field is None:
            continue  # told by `unknown`, together with what is missing
        at = f"{place}/{name}" if name.isidentifier() else place + document.pointer(name)
        if part == "set" and field.server_set and scene.delta.undoing is None:
            out.append(_server_set(op, owner, field, at))
        elif value is None:
            _null(op, owner, field, at, part, out)
            if not creates:
                values[name] = None
        elif isinstance(value, Later):
            values[name] = value
        elif isinstance(value, str) and value.startswith("$ref:"):
            out.append(_unfilled(op, owner, field, value, at))
        elif field.kind == "ref" and not field.any_of:
            values[name] = references.value(scene, op, field, value, at, out, rule=owner.name_of(name))
        else:
            problems: list[Problem] = []
            values[name] = checks[name](value, at, problems)
            for problem in problems:
                rule = owner.name_of(name)
                out.append(wording.of_problem(problem, op=op, at=at, owner=name_of(owner), field=field, rule=rule))
    return values


def unknown(op: Op, owner: Owner, given: Mapping[str, Any], part: Part, missing: list[Field]) -> Iterator[Rejection]:
    """A rejection for each field that the type does not declare. A required field that one of them probably is is taken
    out of `missing`.
    """
    known = owner.type.by_key
    strangers = [n for n in given if n not in known]
    if not strangers:
        return
    free = [k for k, f in known.items() if k not in given and not f.server_set]
    for name in strangers:
        meant = hints.field(name, [f.key for f in missing]) or hints.field(name, free)
        wanted = next((f for f in missing if meant and f.key == meant.name), None)
        if wanted is not None:
            missing.remove(wanted)
        yield _unknown(op, owner, name, given[name], part, meant, wanted is not None, bool(missing))


def missing(owner: Owner, given: Mapping[str, Any]) -> list[Field]:
    """The required fields that a create does not name."""
    return [f for f in owner.required if f.key not in given]


def told_missing(op: Op, owner: Owner, fields: Iterable[Field], part: Part = "set") -> Iterator[Rejection]:
    """A rejection for each required field that is not given."""
    for field in fields:
        expected = kinds.expected_of(field)
        yield reject(
            "required_field",
            where=op.pointer(part, field.key),
            message=f"{name_of(owner)} needs {field.key!r}",
            expected=f"{field.key}: {expected}",
            received="nothing",
            hint=f"add {field.key!r} ({expected}); {wording.source_of(field)}",
            op=op.kind,
            ref=wording.ref_of(op),
            type=name_of(owner),
            field=field.key,
            expected_value=kinds.expected_value(field),
            received_value={"kind": "absent", "value": None},
            rule=owner.name_of(field.key),
        )


def immutable(op: Op, owner: CompiledType, given: Mapping[str, Any], known: Mapping[str, str]) -> Iterator[Rejection]:
    """An update leaves alone what is set once: immutable fields and the natural key.

    `known` are the key's values where the target's handle tells them; repeating them changes nothing.
    """
    for name in given:
        field = owner.type.by_key.get(name)
        keyed = name in owner.type.key
        if field is None or not (field.immutable or keyed) or (keyed and known.get(name) == str(given[name])):
            continue
        yield reject(
            "immutable_field",
            where=op.pointer("set", name),
            message=f"{name_of(owner)}.{name} is set once" + (": it is part of the natural key" if keyed else ""),
            expected=f"no {name!r} in an update",
            received=MASK if field.sensitive else wording.shown(given[name]),
            received_value=wording.received(given[name], field),
            hint=f"omit {name!r}; another value needs another node",
            patch=[{"op": "remove", "path": op.pointer("set", name)}],
            op=op.kind,
            ref=wording.ref_of(op),
            type=name_of(owner),
            field=name,
            rule=owner.name_of(name),
        )


def name_of(owner: Owner) -> str:
    """The type's or the edge's own name."""
    return owner.type.type if isinstance(owner, CompiledType) else owner.type.edge


def _unknown(
    op: Op,
    owner: Owner,
    name: str,
    value: Any,
    part: Part,
    meant: suggest.Suggestion | None,
    required: bool,
    others_missing: bool,
) -> Rejection:
    at = op.pointer(part, name)
    field = owner.type.by_key.get(meant.name) if meant else None
    if meant and field:
        needed = f", which is required ({kinds.expected_of(field)})" if required else ""
        hint = f"rename {name!r} to {meant.name!r}{needed}"
        patch = [{"op": "move", "from": at, "path": op.pointer(part, meant.name)}]
    else:
        names = [k for k, f in owner.type.by_key.items() if not f.server_set]
        hint = f"{suggest.hint_for(name, names)}; or remove {name!r}"
        # While a required field is missing the stranger may stand for it: removing it would lose the value.
        patch = [] if others_missing else [{"op": "remove", "path": at}]
    return reject(
        "unknown_field",
        where=at,
        message=f"{name_of(owner)} has no field {name!r}"
        + (f"; it lacks {meant.name!r}" if meant and required else ""),
        expected=", ".join(owner.type.by_key),
        received=name,
        hint=hint,
        patch=patch,
        confidence=meant.confidence if meant else "likely",
        op=op.kind,
        ref=wording.ref_of(op),
        type=name_of(owner),
        field=name,
        expected_value={"fields": list(owner.type.by_key)},
        received_value=wording.received(value),
        rule=owner.name_of(name),
    )


def _server_set(op: Op, owner: Owner, field: Field, at: str) -> Rejection:
    return reject(
        "server_set_field",
        where=at,
        message=f"{name_of(owner)}.{field.key} is set by the server",
        expected=f"no {field.key!r}",
        received=field.key,
        hint=f"omit {field.key!r}; the server sets it",
        patch=[{"op": "remove", "path": at}],
        op=op.kind,
        ref=wording.ref_of(op),
        type=name_of(owner),
        field=field.key,
        rule=owner.name_of(field.key),
    )


def _null(op: Op, owner: Owner, field: Field, at: str, part: Part, out: list[Rejection]) -> None:
    if part == "test" or (part == "set" and not field.required):
        return
    expected = kinds.expected_of(field)
    out.append(
        reject(
            "null_not_allowed",
            where=at,
            message=f"{name_of(owner)}.{field.key} cannot be empty",
            expected=expected,
            received="null",
            hint=f"give {field.key!r} a value ({expected}); {wording.source_of(field)}",
            op=op.kind,
            ref=wording.ref_of(op),
            type=name_of(owner),
            field=field.key,
            expected_value=kinds.expected_value(field),
            received_value=wording.received(None),
            rule=owner.name_of(field.key),
        )
    )


def _unfilled(op: Op, owner: Owner, field: Field, value: str, at: str) -> Rejection:
    return reject(
        "unresolved_ref",
        where=at,
        message=f"{value!r} names a value that no earlier step has given",
        expected=kinds.expected_of(field),
        received=wording.shown(value),
        hint=f"write the value itself as {kinds.expected_of(field)}; a missing value is never written as text",
        op=op.kind,
        ref=wording.ref_of(op),
        type=name_of(owner),
        field=field.key,
        expected_value=kinds.expected_value(field),
        received_value=wording.received(value),
        rule=owner.name_of(field.key),
    )
