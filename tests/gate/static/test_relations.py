"""States, references, edges, repetitions, counts and rules."""

from typing import Any

import pytest

from tests.gate.static.given import checked, codes, edge, only, pull, told, update
from ukai.gate import hints


@pytest.mark.parametrize(
    ("op", "code", "fixed"),
    [
        (pull() | {"to_state": "merged"}, "invalid_initial_state", "open"),
        (pull() | {"to_state": "Open"}, "state_unknown", "open"),
        (update(to_state="redy"), "state_unknown", "ready"),
        (update(to_state="open"), "invalid_transition", None),
        (update(test={"state": "open"}, to_state="merged"), "invalid_transition", None),
        (
            {"kind": "create_node", "node_type": "Issue", "set": {"number": 1}, "to_state": "open"},
            "state_unknown",
            None,
        ),
    ],
)
def test_a_state_is_declared_and_reached(op: dict[str, Any], code: str, fixed: str | None):
    rejection = only(told(op))

    assert (rejection.code, rejection.where) == (code, "/ops/0/to_state")
    assert rejection.expected
    if rejection.fix_hint.patch:
        assert hints.apply({"ops": [op]}, rejection.fix_hint.patch)["ops"][0].get("to_state") == fixed


def test_a_new_node_is_moved_from_the_state_it_begins_in():
    made = pull() | {"ref": "$pr"}

    assert told(made, {"kind": "update_node", "target": {"ref": "$pr"}, "to_state": "ready"}) == []
    assert codes(told(made, {"kind": "update_node", "target": {"ref": "$pr"}, "to_state": "merged"})) == [
        ("invalid_transition", "/ops/1/to_state")
    ]


def test_a_misspelt_ref_is_told_once_and_nothing_that_follows_from_it():
    made = pull() | {"ref": "$pull"}

    rejections = told(made, edge("in_repo", {"ref": "$pul"}, "Issue#1", set={"since": "2026-01-01"}))

    assert codes(rejections) == [("unresolved_ref", "/ops/1/from/ref")]
    assert rejections[0].fix_hint.patch == ({"op": "replace", "path": "/ops/1/from/ref", "value": "$pull"},)


def test_refs_in_values_become_handles_where_the_key_is_known():
    verdict = checked(
        {"kind": "create_node", "ref": "$ann", "node_type": "Person", "set": {"email": "ann@x"}},
        pull(number=1) | {"ref": "$a"},
        pull(number=2, parent="$a", reviewers=["$ann", "Person#bo@x", {"context_ref": "me"}]),
        context={"me": "Person#me@x"},
    )

    assert verdict.plan is not None, verdict.rejections
    node = verdict.plan.nodes[2]
    assert node.set["parent"] == "PullRequest#api:1"
    assert node.set["reviewers"] == ["Person#ann@x", "Person#bo@x", "Person#me@x"]
    assert [t.kind for t in node.refs["reviewers"]] == ["ref", "handle", "context_ref"]


def test_a_key_made_of_a_ref_is_made_of_its_handle():
    verdict = checked(
        {"kind": "create_node", "node_type": "Slot", "set": {"person": "$p", "day": "2026-01-01"}},
        {"kind": "create_node", "ref": "$p", "node_type": "Person", "set": {"email": "ann@x"}},
    )

    assert verdict.plan is not None, verdict.rejections
    assert verdict.plan.nodes[0].key == "Person%23ann@x:2026-01-01"


def test_keys_that_need_each_other_are_refused():
    from tests.gate.static.given import domain
    from ukai.graph.catalogue import Catalogue

    loop = domain(
        "domain: loop\ntypes:\n  - {type: Knot, key: to, fields: [{key: to, kind: ref, to: Knot, required: true}]}"
    )
    knots = [
        {"kind": "create_node", "ref": "$a", "node_type": "Knot", "set": {"to": "$b"}},
        {"kind": "create_node", "ref": "$b", "node_type": "Knot", "set": {"to": "$a"}},
    ]

    assert [r.code for r in told(*knots, catalogue=Catalogue([loop]))] == ["ref_cycle", "ref_cycle"]


@pytest.mark.parametrize(
    ("value", "code"),
    [
        ("$nobody", "unresolved_ref"),
        ("Issue#1", "ref_type_mismatch"),
        ("Pulrequest#api:1", "unknown_type"),
        ("api:1", "format_invalid"),
        (7, "type_mismatch"),
        ({"context_ref": "nothing"}, "unknown_context_ref"),
    ],
)
def test_a_ref_field_names_a_node_of_its_type(value: Any, code: str):
    rejection = only(told(pull(parent=value), context={"subject_node_id": "PullRequest#api:41"}))

    assert rejection.code == code
    assert rejection.where.startswith("/ops/0/set/parent")


def test_a_ref_is_made_once():
    assert codes(told(pull() | {"ref": "$a"}, pull(number=2) | {"ref": "$a"})) == [("duplicate_ref", "/ops/1/ref")]


def test_a_target_is_one_that_the_run_holds():
    op = {"kind": "update_node", "target": {"context_ref": "subject_nod_id"}, "set": {"title": "x"}}

    rejection = only(told(op, context={"subject_node_id": "PullRequest#api:41"}))

    assert rejection.code == "unknown_context_ref"
    assert hints.apply({"ops": [op]}, rejection.fix_hint.patch)["ops"][0]["target"] == {
        "context_ref": "subject_node_id"
    }


def test_the_type_of_what_the_run_holds_is_known():
    op = {"kind": "update_node", "target": {"context_ref": "subject_node_id"}, "set": {"titel": "x"}}

    assert [r.code for r in told(op, context={"subject_node_id": "PullRequest#api:41"})] == ["unknown_field"]


def test_a_turned_edge_is_turned_back_by_its_patch():
    op = edge("closes", "Issue#1", "PullRequest#api:41")

    rejection = only(told(op))

    assert (rejection.code, rejection.where) == ("edge_direction", "/ops/0")
    assert hints.apply({"ops": [op]}, rejection.fix_hint.patch)["ops"] == [
        edge("closes", "PullRequest#api:41", "Issue#1")
    ]


def test_an_edge_ends_at_the_declared_types():
    assert codes(told(edge("closes", "PullRequest#api:41", "Repo#api"))) == [("edge_endpoint_type", "/ops/0/to")]
    assert codes(told(edge("follows", "Person#a@x", "Person#a@x"))) == [("self_edge", "/ops/0/to")]
    assert codes(told(edge("clozes", "PullRequest#api:41", "Issue#1"))) == [("unknown_edge_kind", "/ops/0/edge_type")]
    assert codes(told(edge("in_repo", "PullRequest#api:41", "Repo#api"))) == [("required_field", "/ops/0/set/since")]


def test_nothing_is_done_twice_in_one_delta():
    assert [r.code for r in told(update(set={"title": "a"}), update(set={"title": "b"}))] == ["duplicate_target"]
    assert [r.code for r in told(pull(), pull())] == ["unique_violation"]
    people = [{"kind": "create_node", "node_type": "Person", "set": {"email": e, "badge": 7}} for e in ("a@x", "b@x")]
    assert codes(told(*people)) == [("unique_violation", "/ops/1/set/badge")]
    twice = [edge("closes", "PullRequest#api:41", "Issue#1")] * 2
    assert "duplicate_edge" in [r.code for r in told(*twice)]


def test_edges_are_counted_as_far_as_the_delta_decides():
    closing = [edge("closes", "PullRequest#api:41", f"Issue#{n}") for n in range(3)]
    assert codes(told(*closing)) == [("cardinality_max", "/ops/2/from")]

    thing = {"kind": "create_node", "ref": "$t", "node_type": "Thing", "set": {"name": "x"}}
    assert codes(told(thing)) == [("cardinality_min", "/ops/0")]
    assert told(thing, edge("belongs_to", {"ref": "$t"}, "Person#a@x")) == []
    # The edge that is there is only misnamed: that the node lacks one would follow from it.
    assert [r.code for r in told(thing, edge("belongs_to", {"ref": "$x"}, "Person#a@x"))] == ["unresolved_ref"]


def test_rules_judge_a_new_node_whose_values_hold():
    rejections = told(pull(cost="1000.00", author="reviewer"))

    assert [r.rule for r in rejections] == ["review@0#PullRequest.cheap", "review@0#PullRequest.own"]
    assert rejections[0].message == "a review costs less than 1000"
    assert "cost" in rejections[0].hint
    assert [r.code for r in told(pull(cost="x", author="reviewer"))] == ["type_mismatch"]


def test_batches_are_checked_item_by_item():
    batch = {
        "kind": "create_nodes_batch",
        "node_type": "Issue",
        "items": [{"set": {"number": 1}}, {"set": {"titel": "x"}}],
    }

    assert codes(told(batch)) == [
        ("unknown_field", "/ops/0/items/1/set/titel"),
        ("required_field", "/ops/0/items/1/set/number"),
    ]


def test_a_wrong_type_of_a_batch_is_told_once():
    batch = {"kind": "create_nodes_batch", "node_type": "Isue", "items": [{"set": {"number": n}} for n in range(5)]}

    assert codes(told(batch)) == [("unknown_type", "/ops/0/node_type")]


def test_causes_come_first_and_operations_in_order():
    rejections = told(
        pull(number="1", titel="x", title=None) | {"to_state": "merged"},
        edge("closes", "Issue#1", "PullRequest#api:41"),
        update(set={"classification": "Feature"}),
    )

    assert [(r.where.split("/")[2], r.code) for r in rejections] == [
        ("0", "unknown_field"),
        ("0", "type_mismatch"),
        ("0", "invalid_initial_state"),
        ("1", "edge_direction"),
        ("2", "enum_mismatch"),
    ]


def test_all_patches_together_repair_the_delta():
    ops = [
        pull(number="1", titel="x", title=None, extra=3, classification="FEATURE") | {"to_state": "opne"},
        edge("closes", "Issue#1", "PullRequest#api:41"),
    ]

    repaired = hints.repaired({"ops": ops}, told(*ops))

    assert told(*repaired["ops"]) == []
    assert repaired["ops"][0]["set"] == {
        "number": 1,
        "repo": "api",
        "title": "x",
        "author": "kim",
        "classification": "feature",
    }
