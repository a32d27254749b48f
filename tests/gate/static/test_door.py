import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given as given_
from hypothesis import strategies as st

from ukai.gate import delta as deltas
from ukai.gate import door, hints
from ukai.gate.limits import Limits


def refused(source: Any, **limits: int) -> list[tuple[str, str]]:
    delta, rejections = door.read(source, Limits(**limits))
    assert (delta is None) == bool(rejections)
    assert all(r.hint for r in rejections)
    return [(r.code, r.where) for r in rejections]


def test_every_operation_is_read_with_its_places():
    delta, _ = door.read(
        {
            "domain": "review",
            "key": "run-7f:step-2",
            "ops": [
                {"kind": "create_node", "ref": "$pr", "node_type": "A", "set": {"x": 1}, "to_state": "s"},
                {
                    "kind": "update_node",
                    "target": {"handle": "A#1"},
                    "if_version": 3,
                    "test": {"x": 1},
                    "set": {"x": 2},
                },
                {"kind": "upsert_node", "node_type": "A", "match": {"x": 1}, "set": {"y": 9}},
                {"kind": "create_edge", "edge_type": "e", "from": {"ref": "$pr"}, "to": {"handle": "B#1"}, "set": {}},
                {
                    "kind": "update_edge",
                    "edge_type": "e",
                    "from": {"handle": "A#1"},
                    "to": {"handle": "B#1"},
                    "if_version": 1,
                },
                {
                    "kind": "create_nodes_batch",
                    "node_type": "B",
                    "items": [{"set": {"n": 1}}, {"ref": "$b", "set": {"n": 2}}],
                },
                {
                    "kind": "create_edges_batch",
                    "edge_type": "e",
                    "items": [{"from": {"ref": "$pr"}, "to": {"ref": "$b"}}],
                },
                {"kind": "delete_edge", "edge_type": "e", "from": {"handle": "A#1"}, "to": {"handle": "B#7"}},
                {"kind": "delete_node", "target": {"context_ref": "subject_node_id"}},
            ],
        }
    )

    assert delta is not None
    assert [op.kind for op in delta.ops] == list(door.KINDS)
    singles = list(delta.singles())
    assert [op.at for op in singles][5:8] == ["/ops/5/items/0", "/ops/5/items/1", "/ops/6/items/0"]
    edge = singles[7]
    assert isinstance(edge, deltas.CreateEdge)
    assert (edge.source.pointer, str(edge.target)) == ("/ops/6/items/0/from/ref", "ref:$b")


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ('{"ops": "The Salesforce query could not be run"}', [("list_expected", "/ops")]),
        (
            '{"ops": [{"kind": "create_nodes_batch", "node_type": "A", "items": "prose"}]}',
            [("list_expected", "/ops/0/items")],
        ),
        ("[]", [("malformed_delta", "")]),
        ("3", [("object_expected", "")]),
        ("{}", [("malformed_delta", "")]),
        ("{", [("malformed_delta", "json:1:2")]),
        ('{"ops": [NaN]}', [("malformed_delta", "")]),
        ('{"ops": [], "ops": []}', [("malformed_delta", "/ops")]),
        ('{"ops": ["\\ud800"]}', [("malformed_delta", "/ops/0")]),
        (
            '{"ops": [{"kind": "create_node", "node_type": "A", "set": {"x": "\\u0000"}}]}',
            [("format_invalid", "/ops/0/set/x")],
        ),
        ('{"ops": [3]}', [("object_expected", "/ops/0")]),
        ('{"ops": [{"node_type": "A"}]}', [("malformed_delta", "/ops/0")]),
        ('{"ops": [{"kind": "zap"}]}', [("unknown_op", "/ops/0/kind")]),
        ('{"ops": [{"kind": "delete_node", "target": "A#1"}]}', [("object_expected", "/ops/0/target")]),
        (
            '{"ops": [{"kind": "delete_node", "target": {"ref": "$a", "id": "x"}}]}',
            [("malformed_delta", "/ops/0/target")],
        ),
        (
            '{"ops": [{"kind": "delete_node", "target": {"handle": "A#1/part/2"}}]}',
            [("format_invalid", "/ops/0/target/handle")],
        ),
        ('{"ops": [{"kind": "delete_node", "target": {"id": "abc"}}]}', [("format_invalid", "/ops/0/target/id")]),
        (
            {"ops": [{"kind": "create_node", "node_type": "A", "set": {"x": float("nan")}}]},
            [("malformed_delta", "/ops/0/set/x")],
        ),
        ({"ops": [{"kind": "create_node", "node_type": "A", "set": {1: 2}}]}, [("malformed_delta", "/ops/0/set")]),
        (
            {"ops": [{"kind": "create_node", "node_type": "A", "set": {"x": object()}}]},
            [("malformed_delta", "/ops/0/set/x")],
        ),
    ],
)
def test_what_is_no_delta_is_refused_where_it_goes_wrong(source: Any, expected: list[tuple[str, str]]):
    assert refused(source) == expected


def test_names_that_differ_in_spelling_are_repaired_by_the_patch_and_hide_nothing():
    source = {
        "ops": [
            {"kind": "createNode", "nodeType": "A", "set": {"x": 1}},
            {"kind": "delete_node", "target": "A#1", "if_version": "3"},
            {"kind": "create_node", "node_type": "A", "set": {}, "title": "x"},
        ]
    }

    _, rejections = door.read(source)

    assert [(r.code, r.where) for r in rejections] == [
        ("unknown_op", "/ops/0/kind"),
        ("malformed_delta", "/ops/0/nodeType"),
        ("object_expected", "/ops/1/target"),
        ("malformed_delta", "/ops/1/if_version"),
        ("malformed_delta", "/ops/2/title"),
    ]
    assert hints.repaired(source, rejections) == {
        "ops": [
            {"kind": "create_node", "node_type": "A", "set": {"x": 1}},
            {"kind": "delete_node", "target": {"handle": "A#1"}, "if_version": 3},
            {"kind": "create_node", "node_type": "A", "set": {"title": "x"}},
        ]
    }


def test_limits_are_said_and_never_a_cut():
    op = {"kind": "create_node", "node_type": "A", "set": {}}
    batch = {"kind": "create_nodes_batch", "node_type": "A", "items": [{"set": {}}] * 5}

    assert refused({"ops": [op] * 3}, ops=2) == [("too_many_ops", "/ops")]
    assert refused({"ops": [batch]}, items=5) == [("too_many_ops", "/ops")]
    assert refused(json.dumps({"ops": [op]}), bytes=10) == [("too_large", "")]
    assert refused('{"ops": [[[[]]]]}', depth=3) == [("too_deep", "/ops/0/0")]
    assert refused({"ops": [[[[]]]]}, depth=3) == [("too_deep", "/ops/0/0")]
    assert refused({"ops": [], "key": "k" * 9}, key=8) == [("too_large", "/key")]


def test_numbers_stay_exact_from_the_door_on():
    delta, _ = door.read('{"ops": [{"kind": "create_node", "node_type": "A", "set": {"x": 12345678901234567.89}}]}')

    assert delta is not None
    assert next(iter(delta.singles())).set["x"] == Decimal("12345678901234567.89")  # type: ignore[union-attr]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["kind", "ops", "set", "target", "handle", "items", "from", "x"]), inner, max_size=4
        )
    ),
    max_leaves=15,
)


@given_(JSON)
def test_no_value_raises(value: Any):
    door.read(value)


@given_(
    st.sampled_from(sorted(door.KINDS)),
    st.dictionaries(
        st.sampled_from(
            [
                "node_type",
                "set",
                "target",
                "from",
                "to",
                "items",
                "match",
                "ref",
                "edge_type",
                "if_version",
                "test",
                "to_state",
            ]
        ),
        JSON,
        max_size=6,
    ),
)
def test_no_operation_raises(kind: str, members: dict[str, Any]):
    door.read({"ops": [{"kind": kind, **members}]})


@pytest.mark.parametrize("version", [2**31, 10**40, "9999999999", "²"])
def test_a_version_that_no_record_can_have_is_malformed_and_no_fault(version: object):
    op = {"kind": "delete_node", "target": {"handle": "A#1"}, "if_version": version}

    parsed, found = door.read({"ops": [op]})

    assert parsed is None
    assert [(r.code, r.where) for r in found] == [("malformed_delta", "/ops/0/if_version")]
