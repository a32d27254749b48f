"""References: a `$ref` is made in this delta, a `context_ref` is held by the run, a handle names a declared type."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, cast

from ukai.gate import wording
from ukai.gate.delta import CreateNode, Op, Target, UpsertNode
from ukai.gate.rejection import Rejection, reject
from ukai.gate.scene import Scene
from ukai.graph import kinds
from ukai.graph.catalogue import CompiledType
from ukai.graph.schema import Field
from ukai.kit import handle, suggest

_KINDS = ("handle", "ref", "context_ref", "id")


def repeated(scene: Scene) -> Iterator[Rejection]:
    """A ref names one node of the delta."""
    seen: dict[str, str] = {}
    for op in scene.delta.singles():
        if not isinstance(op, CreateNode | UpsertNode) or not op.ref:
            continue
        first = seen.setdefault(op.ref, op.at)
        if first != op.at:
            yield reject(
                "duplicate_ref",
                where=op.pointer("ref"),
                message=f"{op.ref!r} is made twice, first at {first}",
                expected="a ref of its own for each node",
                received=op.ref,
                hint=f"rename one of the two {op.ref!r} and what means it",
                op=op.kind,
                ref=op.ref,
                type=op.node_type,
            )


def target(scene: Scene, op: Op, named: Target, rule: str = "") -> Iterator[Rejection]:
    """Whether a target can name a node at all."""
    if named.kind == "ref" and named.value not in scene.refs:
        yield _unresolved(scene, op, named.value, named.pointer)
    elif named.kind == "context_ref" and scene.context is not None and named.value not in scene.context:
        yield _unheld(scene, op, named)
    elif named.kind == "handle":
        parsed = handle.parse(named.value)
        if parsed is not None and scene.catalogue.type(parsed.type) is None:
            yield _unknown_type(scene, op, parsed, named.pointer)


def value(scene: Scene, op: Op, field: Field, given: Any, at: str, out: list[Rejection], *, rule: str) -> Any:
    """The target, or the list of targets, that a ref field's value names; what is wrong is appended."""
    if not field.many:
        return _one(scene, op, field, given, at, out, rule)
    if not isinstance(given, list):
        alone: list[Rejection] = []
        _one(scene, op, field, given, at, alone, rule)
        out.append(_mismatch(scene, op, field, given, at, rule, wrapped=not alone))
        return []
    return [_one(scene, op, field, v, f"{at}/{i}", out, rule) for i, v in enumerate(cast("list[Any]", given))]


def key_cycles(scene: Scene, keyed: Mapping[str, list[str]]) -> Iterator[Rejection]:
    """Natural keys that need each other: `keyed` is ref -> the refs that its node's key is made of."""
    for ref, needed in keyed.items():
        seen: set[str] = set()
        open_ = list(needed)
        while open_:
            one = open_.pop()
            if one not in seen:
                seen.add(one)
                open_ += keyed.get(one, [])
        maker = scene.refs.get(ref)
        if ref in seen and maker is not None:
            yield reject(
                "ref_cycle",
                where=maker.at,
                message=f"the key of {ref!r} is made of itself",
                expected="keys that do not need each other",
                received=" -> ".join((ref, *sorted(seen - {ref}), ref)),
                hint="name one of the nodes by a handle that exists already",
                op=maker.kind,
                ref=ref,
                type=maker.node_type,
            )


def _one(scene: Scene, op: Op, field: Field, given: Any, at: str, out: list[Rejection], rule: str) -> Target | None:
    named = _named(given, at)
    if named is None:
        out.append(_mismatch(scene, op, field, given, at, rule))
        return None
    inner = at if isinstance(given, str) else named.pointer
    if named.kind == "ref" and named.value not in scene.refs:
        out.append(_unresolved(scene, op, named.value, inner, field.key))
        return None
    if named.kind == "context_ref" and scene.context is not None and named.value not in scene.context:
        out.append(_unheld(scene, op, named))
        return None
    if named.kind == "handle":
        parsed = handle.parse(named.value)
        if parsed is None or parsed.part:
            out.append(_mismatch(scene, op, field, given, at, rule))
            return None
        if scene.catalogue.type(parsed.type) is None:
            out.append(_unknown_type(scene, op, parsed, inner))
            return None
    found = scene.type_of(named)
    if field.to and isinstance(found, CompiledType) and found.type.type != field.to:
        out.append(
            reject(
                "ref_type_mismatch",
                where=at,
                message=f"{field.key} points at a {found.type.type}, not at a {field.to}",
                expected=field.to,
                received=f"{found.type.type} ({named})",
                hint=f"name a {field.to}",
                op=op.kind,
                ref=wording.ref_of(op),
                type=scene.type_named(op),
                field=field.key,
                expected_value=kinds.expected_value(field),
                received_value=wording.received(given, field),
                rule=rule,
            )
        )
        return None
    return named


def _named(given: Any, at: str) -> Target | None:
    """A ref's value: a handle, a `$ref`, or an object with one of the four names."""
    if isinstance(given, str):
        return Target(kind="ref" if given.startswith("$") else "handle", value=given, at=at)
    if isinstance(given, dict):
        members = cast("dict[str, Any]", given)
        name = next(iter(members), "")
        if len(members) == 1 and name in _KINDS and isinstance(members[name], str):
            return Target(kind=cast("Any", name), value=members[name], at=at)
    return None


def _mismatch(
    scene: Scene, op: Op, field: Field, given: Any, at: str, rule: str, *, wrapped: bool = False
) -> Rejection:
    wanted = f"{field.to or 'Type'}#key"
    text = isinstance(given, str) and not wrapped
    handles = (
        f"write the handle of a {field.to or 'node'} for {field.key!r} as it was read, {wanted}, or a delta's $ref"
    )
    return reject(
        "format_invalid" if text else "type_mismatch",
        where=at,
        message=f"{field.key} is no list" if wrapped else f"{field.key} does not name a node",
        expected=f"list of {wanted}" if field.many else wanted,
        received=wording.shown(given),
        hint=f"put the one into a list for {field.key!r}" if wrapped else handles,
        patch=[{"op": "replace", "path": at, "value": [given]}] if wrapped else [],
        confidence="likely" if wrapped else None,
        op=op.kind,
        ref=wording.ref_of(op),
        type=scene.type_named(op),
        field=field.key,
        expected_value=kinds.expected_value(field),
        received_value=wording.received(given, field),
        rule=rule,
    )


def _unresolved(scene: Scene, op: Op, ref: str, where: str, field: str = "") -> Rejection:
    known = scene.refs
    meant = suggest.suggest(ref, known)
    return reject(
        "unresolved_ref",
        where=where,
        message=f"{ref!r} is not made in this delta",
        expected=", ".join(known) or "no ref: this delta makes no named node",
        received=ref,
        hint=f"write {meant.name!r}"
        if meant
        else "make the node in this delta under this ref, or name it by its handle",
        patch=[{"op": "replace", "path": where, "value": meant.name}] if meant else [],
        confidence=meant.confidence if meant else None,
        op=op.kind,
        ref=ref,
        type=scene.type_named(op),
        field=field,
        expected_value={"refs": list(known)},
        received_value={"kind": "string", "value": ref},
    )


def _unheld(scene: Scene, op: Op, named: Target) -> Rejection:
    known = list(scene.context or ())
    meant = suggest.suggest(named.value, known)
    return reject(
        "unknown_context_ref",
        where=named.pointer,
        message=f"this run holds nothing called {named.value!r}",
        expected=", ".join(known) or "no context_ref: this run holds none",
        received=named.value,
        hint=f"write {meant.name!r}" if meant else suggest.hint_for(named.value, known),
        patch=[{"op": "replace", "path": named.pointer, "value": meant.name}] if meant else [],
        confidence=meant.confidence if meant else None,
        op=op.kind,
        ref=str(named),
        type=scene.type_named(op),
        expected_value={"context": known},
        received_value={"kind": "string", "value": named.value},
    )


def _unknown_type(scene: Scene, op: Op, parsed: handle.Handle, where: str) -> Rejection:
    known = scene.catalogue.types()
    meant = suggest.suggest(parsed.type, known)
    fixed = f"{meant.name}#{parsed.key}" if meant else ""
    return reject(
        "unknown_type",
        where=where,
        message=f"no node type is called {parsed.type!r}",
        expected=", ".join(known),
        received=str(parsed),
        hint=f"write {fixed!r}" if meant else suggest.hint_for(parsed.type, known),
        patch=[{"op": "replace", "path": where, "value": fixed}] if meant else [],
        confidence=meant.confidence if meant else None,
        op=op.kind,
        ref=str(parsed),
        type=parsed.type,
        expected_value={"types": known},
        received_value={"kind": "string", "value": str(parsed)},
    )
