"""Rules of a type: CEL conditions over the node as it would be. Both halves of the gate call `judged`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any

from ukai.gate import wording
from ukai.gate.delta import Op
from ukai.gate.rejection import MASK, FixHint, Rejection, reject
from ukai.gate.rights import Rights
from ukai.graph import cel
from ukai.graph.catalogue import CompiledType
from ukai.graph.schema import DEFAULT_PLACES, Rule

_OLD = "it was so before, and nothing that the rule reads was changed"
Seen = Callable[[str], bool]
"""Whether the writer may read a field of the node."""


def _all_seen(_: str) -> bool:
    return True


def seen_of_new(type: str, given: Collection[str], rights: Rights) -> Seen:
    """Of a node that is made: what its writer gives, its state, and what may be read of some node of the type."""
    return lambda name: name == "state" or name in given or bool(rights.readable(type, frozenset({name})))


def judged(
    op: Op,
    owner: CompiledType,
    *,
    new: Mapping[str, Any],
    old: Mapping[str, Any] | None,
    author: str,
    undoing: bool = False,
    seen: Seen = _all_seen,
) -> Iterator[Rejection]:
    """What the type's rules say about `new`: canonical values, with `state` for a type that has states. `old` is the
    node before, None on create. A rule that gives no answer is `rule_error`: it fails closed.

    Old data is let be: a rule about nothing that changes was broken before, and is a warning. An undo is held against
    the rules about how a node is, not against those about the step from `old`: it goes back a step that was allowed.
    Values of fields that are not `seen` by the writer are left out of what is said.
    """
    for rule, program in owner.rules:
        if undoing and program.speaks_of("old"):
            continue
        found = program.evaluate({"new": new, "old": old, "author": author})
        if found is True:
            continue
        told = (
            _unevaluable(op, owner, rule, program, new, found, seen)
            if isinstance(found, cel.Unevaluable)
            else _violated(op, owner, rule, program, new, seen)
        )
        if old is not None and _is_old_data(program, new, old):
            told = replace(told, severity="warning", hint=_OLD, fix_hint=FixHint(text=_OLD))
        yield told


def _is_old_data(program: cel.Program, new: Mapping[str, Any], old: Mapping[str, Any]) -> bool:
    """Whether the rule is about the node alone, and about nothing that changes."""
    if program.speaks_of("old") or program.speaks_of("author") or program.reads_whole("new"):
        return False
    return all(new.get(n) == old.get(n) for n in program.fields("new"))


def _violated(
    op: Op, owner: CompiledType, rule: Rule, program: cel.Program, new: Mapping[str, Any], seen: Seen
) -> Rejection:
    inputs = _inputs(owner, program, new, seen)
    way = rule.message or (rule.require if inputs else f"the rule {rule.id!r} is met")
    told = ", ".join(f"{k} = {wording.shown(v)}" for k, v in inputs.items())
    return reject(
        "rule_violation",
        severity=rule.severity,
        where=op.at,
        message=rule.message or f"the rule {rule.id!r} of {owner.type.type} is not met",
        expected=rule.require if inputs else way,
        received=told or "-",
        hint=f"change {' or '.join(repr(n) for n in inputs) or 'the node'} so that {way}",
        op=op.kind,
        ref=wording.ref_of(op),
        type=owner.type.type,
        expected_value={"rule": rule.id, "require": rule.require if inputs else None},
        received_value=inputs,
        rule=owner.name_of(rule.id),
    )


def _unevaluable(
    op: Op,
    owner: CompiledType,
    rule: Rule,
    program: cel.Program,
    new: Mapping[str, Any],
    why: cel.Unevaluable,
    seen: Seen,
) -> Rejection:
    if why.lossy and seen(why.lossy):
        field = owner.type.by_key[why.lossy]
        places = DEFAULT_PLACES if field.places is None else field.places
        return reject(
            "precision_loss",
            where=op.pointer("set", why.lossy),
            message=f"the rule {rule.id!r} compares {why.lossy!r} to {places} decimal places",
            expected=f"at most {places} decimal places",
            received=MASK if field.sensitive else wording.shown(new.get(why.lossy)),
            hint=f"write {why.lossy!r} with at most {places} decimal places",
            op=op.kind,
            ref=wording.ref_of(op),
            type=owner.type.type,
            field=why.lossy,
            rule=owner.name_of(rule.id),
        )
    absent = sorted(n for n in program.fields("new") if new.get(n) is None and seen(n))
    is_told = _is_told(program, seen)
    way = rule.require if is_told else rule.message or f"the rule {rule.id!r} is met"
    reason = f": {why.reason}" if is_told else ""
    return reject(
        "rule_error",
        where=op.at,
        message=f"the rule {rule.id!r} of {owner.type.type} gives no answer{reason}",
        expected=way,
        received=f"no value for {', '.join(absent)}" if absent else reason.removeprefix(": ") or "-",
        hint=(
            f"give {' and '.join(repr(n) for n in absent)}, or have the rule ask has(new.{absent[0]}) first"
            if absent
            else "the owner of the domain has to correct the rule; nothing was written"
        ),
        op=op.kind,
        ref=wording.ref_of(op),
        type=owner.type.type,
        expected_value={"rule": rule.id, "require": rule.require if is_told else None},
        rule=owner.name_of(rule.id),
    )


def _is_told(program: cel.Program, seen: Seen) -> bool:
    """Whether the condition itself may be told: it names the fields that it reads."""
    return all(map(seen, program.fields("new") | program.fields("old")))


def _inputs(owner: CompiledType, program: cel.Program, new: Mapping[str, Any], seen: Seen) -> dict[str, Any]:
    """What the rule read, sensitive values masked. Nothing when a part may not be read: the others would tell of it."""
    if not _is_told(program, seen):
        return {}
    found: dict[str, Any] = {}
    for name in sorted(program.fields("new")):
        field = owner.type.by_key.get(name)
        found[name] = MASK if field is not None and field.sensitive and name in new else new.get(name)
    return found
