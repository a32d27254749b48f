"""The downstream simulation (W8): before a step's output is accepted it is put into the later steps' deltas, in memory.

The producer hears what its output would do downstream while it can still correct it: a key that nobody reads, a key
that somebody reads and that is missing, a value that a later write would refuse.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, ClassVar, cast

from ukai.gate import door, hints, shape, steps, wording
from ukai.gate.author import Author
from ukai.gate.delta import Op
from ukai.gate.rejection import Rejection, reject
from ukai.gate.scene import Later
from ukai.gate.steps import Step, Workflow
from ukai.graph import kinds
from ukai.graph.catalogue import Catalogue
from ukai.graph.problem import Problem
from ukai.graph.schema import Field

Outputs = Mapping[str, Mapping[str, Any]]


def simulate(
    workflow: Workflow,
    step: Step,
    output: Any,
    catalogue: Catalogue,
    *,
    author: Author,
    now: datetime,
    context: Mapping[str, str] | None = None,
    earlier: Outputs | None = None,
) -> list[Rejection]:
    """What stands against a step's candidate output. Pointers lead into the output; `earlier` are accepted outputs."""
    if not isinstance(output, dict):
        return [_no_object(step, output)]
    candidate = cast("dict[str, Any]", output)
    missing = [k for k in step.emits if candidate.get(k) is None]
    out = list(_unread(workflow, step, candidate, missing))
    out += [_missing(workflow, step, k) for k in missing]
    out += _kinds(step, candidate)
    told = {r.where for r in out}
    values = {**(earlier or {}), step.id: candidate}
    for later in workflow.steps[workflow.by_id[step.id] + 1 :]:
        for one in _downstream(workflow, step, later, values, catalogue, author, now, context):
            if one.where not in told:
                told.add(one.where)
                out.append(one)
    return out


def _unread(workflow: Workflow, step: Step, candidate: Mapping[str, Any], missing: list[str]) -> Iterator[Rejection]:
    consumed = workflow.consumed.get(step.id, ())
    for name in candidate:
        if name in step.emits:
            continue
        meant = hints.field(name, missing)
        hint = (
            f"rename {name!r} to {meant.name!r}" if meant else f"remove {name!r}, or emit one of: {', '.join(consumed)}"
        )
        patch = {"op": "remove", "path": f"/{_escaped(name)}"}
        if meant:
            patch = {"op": "move", "from": f"/{_escaped(name)}", "path": f"/{meant.name}"}
            missing.remove(meant.name)  # one rejection tells both
        yield reject(
            "unknown_field",
            where=f"/{_escaped(name)}",
            message=f"no later step reads {name!r}: it is misspelt, or this workflow does not use it"
            + (f"; {meant.name!r} is missing" if meant else ""),
            expected=", ".join(consumed),
            received=name,
            hint=hint,
            patch=[] if missing and not meant else [patch],
            confidence=meant.confidence if meant else "likely",
            layer=2,
            op="emit",
            ref=step.id,
            field=name,
            expected_value={"keys": list(consumed)},
            received_value=wording.received(candidate[name]),
        )


def _missing(workflow: Workflow, step: Step, key: str) -> Rejection:
    readers = [s.id for s in workflow.steps if any((p, k) == (step.id, key) for _, p, k in steps.references(s))]
    expected = kinds.expected_of(step.emits[key])
    return reject(
        "required_field",
        where=f"/{key}",
        message=f"{', '.join(readers)} reads $ref:{step.id}.{key}, but the output has no {key!r}",
        expected=f"{key}: {expected}",
        received="nothing",
        hint=f"emit {key!r} ({expected}); {wording.source_of(step.emits[key])}",
        layer=2,
        op="emit",
        ref=step.id,
        field=key,
        expected_value=kinds.expected_value(step.emits[key]),
        received_value={"kind": "absent", "value": None},
    )


def _kinds(step: Step, candidate: Mapping[str, Any]) -> Iterator[Rejection]:
    for key, field in step.emits.items():
        value = candidate.get(key)
        if value is None:
            continue
        problems: list[Problem] = []
        kinds.compile(field)(value, f"/{key}", problems)
        for problem in problems:
            yield _told(step, field, problem)


def _told(step: Step, field: Field, problem: Problem) -> Rejection:
    emitting = _Emit(at="")
    found = wording.of_problem(problem, op=emitting, at=f"/{field.key}", owner=step.id, field=field, rule="")
    return _moved(found, step, problem.at)


def _downstream(
    workflow: Workflow,
    step: Step,
    later: Step,
    values: Outputs,
    catalogue: Catalogue,
    author: Author,
    now: datetime,
    context: Mapping[str, str] | None,
) -> Iterator[Rejection]:
    """What layer 1 would say about the values of this output in a later write."""
    places = {f"/ops{p.removeprefix('/write')}": k for p, s, k in steps.references(later) if s == step.id}
    if not later.write or not places:
        return
    unknown = workflow.by_id[step.id]

    def lookup(producer: str, key: str) -> Any:
        value = values.get(producer, {}).get(key)
        # What this output lacks has been said; what a later step will give is not there to be judged.
        if workflow.by_id.get(producer, 0) > unknown or (producer == step.id and value is None):
            return Later(f"$ref:{producer}.{key}")
        return steps.MISSING if value is None else value

    source: dict[str, Any] = {"ops": steps.replaced(list(later.write), lookup)}
    delta, told = door.read(source | ({"domain": workflow.domain} if workflow.domain else {}))
    if delta is not None:
        told = [*shape.check(delta, catalogue, author=author, now=now, context=context).rejections]
    for one in told:
        key = next((k for p, k in places.items() if one.where == p or one.where.startswith(f"{p}/")), None)
        if key is not None:
            yield _moved(one, step, f"/{key}", f"{later.id} would be refused: ")


def _moved(told: Rejection, step: Step, where: str, before: str = "") -> Rejection:
    """The same rejection about the output instead of the delta made of it."""
    patch = [{**p, "path": where} for p in told.fix_hint.patch if p["op"] == "replace"]
    return reject(
        told.code,
        where=where,
        message=before + told.message,
        expected=told.expected,
        received=told.received,
        hint=told.hint,
        patch=patch,
        confidence=told.fix_hint.confidence,
        layer=2,
        op="emit",
        ref=step.id,
        type=told.type,
        field=where.split("/")[1],
        expected_value=told.expected_value,
        received_value=told.received_value,
        rule=told.rule,
    )


def _no_object(step: Step, output: Any) -> Rejection:
    keys = ", ".join(f'"{k}": ..' for k in step.emits)
    return reject(
        "object_expected",
        where="",
        message="the output is not an object",
        expected=f"{{{keys}}}",
        received=wording.shown(output),
        hint=f"emit {{{keys}}}",
        layer=2,
        op="emit",
        ref=step.id,
        received_value=wording.received(output),
    )


class _Emit(Op):
    """An output is judged by the words that deltas are judged with."""

    kind: ClassVar[str] = "emit"


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")
