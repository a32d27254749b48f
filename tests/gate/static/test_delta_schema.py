"""The form of a delta as JSON Schema and the door agree: what the one lets through the other reads (W3)."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ukai.gate import delta_schema, door

FORM = {"malformed_delta", "unknown_op", "list_expected", "object_expected"}
VALIDATOR = jsonschema.Draft202012Validator(delta_schema.schema())

NAMES = st.sampled_from(["T", "in_repo", "", "$a"])
TARGETS = st.sampled_from(
    [{"handle": "T#a"}, {"ref": "$a"}, {"context_ref": "c"}, {"handle": "T"}, {"ref": ""}, {}, "T#a", {"a": "b"}, None]
)
VALUES = st.sampled_from([{}, {"a": 1}, None, [], "x"])
MEMBERS: dict[str, st.SearchStrategy[Any]] = {
    **dict.fromkeys(("node_type", "edge_type", "ref", "to_state"), NAMES | st.none() | st.integers()),
    **dict.fromkeys(("set", "match", "test"), VALUES),
    **dict.fromkeys(("target", "from", "to"), TARGETS),
    "if_version": st.sampled_from([0, 3, -1, None, "3", 1.5, True]),
    "items": st.lists(st.sampled_from([{"set": {}}, {"from": {"ref": "a"}, "to": {"ref": "b"}}, {}, {"x": 1}, 7])),
    "nonsense": NAMES,
}


EXTRA = st.sampled_from([{}, {"key": "k"}, {"keys": "k"}, {"key": 1}])


@st.composite
def operations(draw: st.DrawFn) -> Any:
    kind = draw(st.sampled_from([*door.KINDS, "make_node"]))
    members = [*door.REQUIRED.get(kind, ()), *draw(st.lists(st.sampled_from(sorted(MEMBERS)), max_size=2))]
    return {"kind": kind} | {m: draw(MEMBERS[m]) for m in members}


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(
    ops=st.lists(operations(), max_size=2) | VALUES,
    extra=st.sampled_from([{}, {"key": "k"}, {"keys": "k"}, {"key": 1}]),
)
def test_what_the_schema_lets_through_the_door_reads(ops: Any, extra: dict[str, Any]):
    delta = {"ops": ops, **extra}
    _, rejections = door.read(delta)

    if VALIDATOR.is_valid(delta):
        assert FORM.isdisjoint(r.code for r in rejections), rejections


@pytest.mark.parametrize("kind", door.KINDS)
def test_every_operation_with_what_it_needs_is_let_through(kind: str):
    given = {"node_type": "T", "edge_type": "e", "match": {"a": 1}, "items": []}
    given |= {place: {"handle": "T#a"} for place in ("target", "from", "to")}
    op = {"kind": kind} | {m: given[m] for m in door.REQUIRED[kind]}

    VALIDATOR.validate({"ops": [op]})
    assert door.read({"ops": [op]})[1] == []


@pytest.mark.parametrize("delta", [[], {}, {"ops": 1}, {"ops": [{"kind": "x"}]}, {"ops": [], "extra": 1}])
def test_what_the_door_refuses_the_schema_refuses(delta: Any):
    assert not VALIDATOR.is_valid(delta)
    assert door.read(delta)[1]


def test_definitions_can_stand_elsewhere():
    moved = str(delta_schema.schema(refs="#/components/schemas/"))

    assert "#/$defs/" not in moved
    assert "#/components/schemas/Target" in moved
