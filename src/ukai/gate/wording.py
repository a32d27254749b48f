"""What a rejection says about a value: one place for masking, for the patch that puts a value right, and for hints."""

from __future__ import annotations

from typing import Any

from ukai.gate.delta import Op, Target
from ukai.gate.rejection import MASK, Confidence, Rejection, cut, reject
from ukai.graph import kinds
from ukai.graph.problem import NOTHING, Problem
from ukai.graph.schema import Field
from ukai.kit import canonical, document

__all__ = ["Confidence", "of_problem", "received", "ref_of", "shown", "source_of"]


def of_problem(problem: Problem, *, op: Op, at: str, owner: str, field: Field, rule: str) -> Rejection:
    """The rejection of a field's value. `at` is the pointer of the value, `owner` the type or edge."""
    inside = problem.at[len(at) :]
    named = f"{owner}.{field.key}" + (f" at {inside}" if inside else "")
    fix = NOTHING if field.sensitive else problem.fix
    hint = problem.hint
    if fix is not NOTHING:
        hint = f"set {_name(field, inside)} to {shown(fix)}"
    hint = hint or f"write {_name(field, inside)} as {problem.expected or kinds.expected_of(field)}; {source_of(field)}"
    if problem.code == "required_field":
        hint = f"{hint}; {source_of(field)}"
    elif problem.code == "enum_mismatch" and fix is NOTHING:
        hint = f"{hint} for {_name(field, inside)}; {source_of(field)}"
    message = f"{named} {problem.message}"
    if problem.code == "enum_mismatch" and not field.sensitive:
        message = f"{shown(problem.received)} is not a value of {named}"
    patch: list[dict[str, Any]] = []
    if fix is not NOTHING:
        patch = [{"op": "replace", "path": problem.at, "value": fix}]
    elif problem.rename:
        place = problem.at.rpartition("/")[0] + document.pointer(problem.rename)
        patch = [{"op": "move", "from": problem.at, "path": place}]
    return reject(
        problem.code,
        where=problem.at,
        message=message,
        expected=problem.expected,
        received=MASK if field.sensitive else shown(problem.received),
        hint=hint,
        patch=patch,
        confidence=problem.confidence,
        op=op.kind,
        ref=ref_of(op),
        type=owner,
        field=field.key,
        expected_value=problem.expected_value or kinds.expected_value(field),
        received_value=received(problem.received, field),
        rule=rule,
    )


def received(value: Any, field: Field | None = None) -> dict[str, Any]:
    """`values.received`: kind and value, the value cut, a sensitive one masked."""
    if field is not None and field.sensitive:
        return {"kind": kinds.kind_of(value), "value": MASK}
    short = value if isinstance(value, bool | int | None) else cut(value if isinstance(value, str) else _json(value))
    return {"kind": kinds.kind_of(value), "value": short}


def shown(value: Any) -> str:
    """A value in a sentence: text in quotes, anything else as JSON."""
    return cut(repr(value) if isinstance(value, str) else _json(value))


def source_of(field: Field) -> str:
    """Where the value of a field is to be read, for hints about values that stand nowhere in the delta."""
    if field.description:
        return f"it is {field.description[0].lower()}{field.description[1:]}".rstrip(".")
    return "take the value from the record or the request at hand, do not invent it"


def ref_of(op: Op) -> str:
    """The name by which an operation's node goes in the delta: its own ref, or its target."""
    name = getattr(op, "ref", "")
    target = getattr(op, "target", None)
    return name or (str(target) if isinstance(target, Target) else "")


def _name(field: Field, inside: str) -> str:
    return repr(field.key) if not inside else f"{field.key}{inside}"


def _json(value: Any) -> str:
    try:
        return canonical.dumps(value)
    except (TypeError, ValueError):
        return repr(value)
