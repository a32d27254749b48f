"""Rules of a type: CEL conditions over the node as it would be. Both halves of the gate call `judged`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ukai.gate import wording
from ukai.gate.delta import Op
from ukai.gate.rejection import MASK, Rejection, reject
from ukai.graph import cel
from ukai.graph.catalogue import CompiledType
from ukai.graph.schema import DEFAULT_PLACES, Rule


def judged(
    op: Op, owner: CompiledType, *, new: Mapping[str, Any], old: Mapping[str, Any] | None, author: str
) -> Iterator[Rejection]:
    """What the type's rules say about `new`: canonical values, with `state` for a type that has states. `old` is the
    node before, None on create. A rule that gives no answer is `rule_error`: it fails closed.
    """
    for rule, program in owner.rules:
        found = program.evaluate({"new": new, "old": old, "author": author})
        if isinstance(found, cel.Unevaluable):
            yield _unevaluable(op, owner, rule, program, new, found)
        elif not found:
            yield _violated(op, owner, rule, program, new)


def holds(
    owner: CompiledType, rule: Rule, *, new: Mapping[str, Any], old: Mapping[str, Any] | None, author: str
) -> bool:
    """Whether one rule is met: for ratcheting, which asks whether the node broke it before."""
    program = next(p for r, p in owner.rules if r.id == rule.id)
    return program.evaluate({"new": new, "old": old, "author": author}) is True


def _violated(op: Op, owner: CompiledType, rule: Rule, program: cel.Program, new: Mapping[str, Any]) -> Rejection:
    inputs = _inputs(owner, program, new)
    told = ", ".join(f"{k} = {wording.shown(v)}" for k, v in inputs.items())
    return reject(
        "rule_violation",
        severity=rule.severity,
        where=op.at,
        message=rule.message or f"the rule {rule.id!r} of {owner.type.type} is not met",
        expected=rule.require,
        received=told or "-",
        hint=f"change {' or '.join(repr(n) for n in inputs) or 'the node'} so that {rule.message or rule.require}",
        op=op.kind,
        ref=wording.ref_of(op),
        type=owner.type.type,
        expected_value={"rule": rule.id, "require": rule.require},
        received_value=inputs,
        rule=owner.name_of(rule.id),
    )


def _unevaluable(
    op: Op, owner: CompiledType, rule: Rule, program: cel.Program, new: Mapping[str, Any], why: cel.Unevaluable
) -> Rejection:
    if why.lossy:
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
    absent = sorted(n for n in program.fields("new") if new.get(n) is None)
    return reject(
        "rule_error",
        where=op.at,
        message=f"the rule {rule.id!r} of {owner.type.type} gives no answer: {why.reason}",
        expected=rule.require,
        received=f"no value for {', '.join(absent)}" if absent else why.reason,
        hint=(
            f"give {' and '.join(repr(n) for n in absent)}, or have the rule ask has(new.{absent[0]}) first"
            if absent
            else "the owner of the domain has to correct the rule; nothing was written"
        ),
        op=op.kind,
        ref=wording.ref_of(op),
        type=owner.type.type,
        expected_value={"rule": rule.id, "require": rule.require},
        rule=owner.name_of(rule.id),
    )


def _inputs(owner: CompiledType, program: cel.Program, new: Mapping[str, Any]) -> dict[str, Any]:
    """What the rule read, sensitive values masked."""
    found: dict[str, Any] = {}
    for name in sorted(program.fields("new")):
        field = owner.type.by_key.get(name)
        found[name] = MASK if field is not None and field.sensitive and name in new else new.get(name)
    return found
