"""States: a node begins in an initial one, and moves along declared transitions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ukai.gate import wording
from ukai.gate.delta import Op
from ukai.gate.rejection import Rejection, Repair, reject
from ukai.graph.catalogue import CompiledType
from ukai.graph.schema import States
from ukai.kit import suggest


def first(owner: CompiledType, to_state: str | None) -> str | None:
    """The state in which a new node begins."""
    states = owner.type.states
    return to_state if states is None or to_state is not None else next(iter(states.initial), None)


def initial(op: Op, owner: CompiledType, to_state: str | None) -> Iterator[Rejection]:
    """Whether a new node may begin in `to_state`."""
    states = owner.type.states
    if to_state is None:
        return
    yield from unknown(op, owner, to_state)
    if states is not None and to_state in states.values and to_state not in states.initial:
        allowed = _shown(states.initial)
        only = [s for s in states.initial if s is not None]
        yield _told(
            "invalid_initial_state",
            op,
            owner,
            message=f"a new {owner.type.type} cannot begin as {to_state!r}",
            expected=allowed,
            received=to_state,
            hint=f"create it as {allowed}, then move it along its transitions",
            patch=[{"op": "replace", "path": op.pointer("to_state"), "value": only[0]}] if len(only) == 1 else [],
        )


def transition(op: Op, owner: CompiledType, source: str | None, target: str) -> Iterator[Rejection]:
    """Whether the step from `source` to `target` is declared. Staying where it is changes nothing."""
    states = owner.type.states
    if states is not None and target in states.values and target not in (source, *states.allowed_from(source)):
        yield invalid(op, owner, states, source, target)


def reachable(op: Op, owner: CompiledType, to_state: str | None) -> Iterator[Rejection]:
    """Of an update: the state exists, and some transition leads to it. From where is known after the node is read."""
    if to_state is None:
        return
    yield from unknown(op, owner, to_state)
    states = owner.type.states
    if states is None or to_state not in states.values or any(t.target == to_state for t in states.transitions):
        return
    targets = _shown(tuple(dict.fromkeys(t.target for t in states.transitions)))
    yield _told(
        "invalid_transition",
        op,
        owner,
        message=f"no transition leads to {to_state!r}",
        expected=targets,
        received=to_state,
        hint=f"move it to one of: {targets}",
        repair="fix",
    )


def unknown(op: Op, owner: CompiledType, to_state: str) -> Iterator[Rejection]:
    """Whether the type has the state at all."""
    states = owner.type.states
    if states is None:
        yield _told(
            "state_unknown",
            op,
            owner,
            message=f"{owner.type.type} declares no states",
            expected="no `to_state`",
            received=to_state,
            hint="omit `to_state`",
            patch=[{"op": "remove", "path": op.pointer("to_state")}],
        )
    elif to_state not in states.values:
        meant = suggest.suggest(to_state, states.values)
        yield _told(
            "state_unknown",
            op,
            owner,
            message=f"{owner.type.type} has no state {to_state!r}",
            expected=" | ".join(states.values),
            received=to_state,
            hint=f"set to_state to {meant.name!r}" if meant else suggest.hint_for(to_state, states.values),
            patch=[{"op": "replace", "path": op.pointer("to_state"), "value": meant.name}] if meant else [],
            confidence=meant.confidence if meant else None,
        )


def invalid(op: Op, owner: CompiledType, states: States, source: str | None, target: str) -> Rejection:
    """The rejection of a step that is not declared, once the current state is known."""
    allowed = _shown(states.allowed_from(source)) or "nothing"
    return _told(
        "invalid_transition",
        op,
        owner,
        message=f"{owner.type.type} does not go from {_shown((source,))} to {target!r}",
        expected=f"from {_shown((source,))}: {allowed}",
        received=f"{_shown((source,))} -> {target}",
        hint=f"from {_shown((source,))} it can only go to: {allowed}",
    )


def _shown(states: Sequence[str | None]) -> str:
    return " | ".join("no state" if s is None else repr(s) for s in states)


def _told(
    code: str,
    op: Op,
    owner: CompiledType,
    *,
    message: str,
    expected: str,
    received: str,
    hint: str,
    patch: Sequence[dict[str, object]] = (),
    confidence: wording.Confidence | None = None,
    repair: Repair | None = None,
) -> Rejection:
    return reject(
        code,
        where=op.pointer("to_state"),
        message=message,
        expected=expected,
        received=received,
        hint=hint,
        patch=patch,
        confidence=confidence,
        op=op.kind,
        ref=wording.ref_of(op),
        type=owner.type.type,
        field="state",
        expected_value={"states": list(owner.type.states.values) if owner.type.states else []},
        received_value={"kind": "string", "value": received},
        rule=owner.name_of("state"),
        repair=repair,
    )
