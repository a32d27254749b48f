from typing import Any

import pytest

from tests.gate.static.given import checked, codes, edge, only, pull, update
from ukai.gate import contract as contracts
from ukai.gate import hints
from ukai.gate.rejection import Rejection

CONTEXT = {"subject_node_id": "PullRequest#api:41"}
PERSIST = {
    "kind": "update_node",
    "node_type": "PullRequest",
    "target": {"context_ref": "subject_node_id"},
    "required_fields": ["classification"],
}
SUBJECT = {"kind": "update_node", "target": {"context_ref": "subject_node_id"}}


def contract(*produced: dict[str, Any], **rest: Any) -> contracts.Contract:
    found, findings = contracts.read({"produces": {"deltas": list(produced)}, **rest})
    assert found is not None, findings
    return found


def broken(of: contracts.Contract, *ops: dict[str, Any]) -> list[Rejection]:
    return contracts.compare(of, checked(*ops, context=CONTEXT).scene)


def test_the_article_s_contract_is_met_by_an_update_of_the_subject_that_sets_the_field():
    assert broken(contract(PERSIST), {**SUBJECT, "set": {"classification": "feature"}}) == []


def test_the_subject_may_be_named_by_its_handle():
    assert broken(contract(PERSIST), update(set={"classification": "feature"})) == []


def test_whether_the_value_is_right_is_none_of_the_contract_s_business():
    assert broken(contract(PERSIST), {**SUBJECT, "set": {"classification": "nonsense"}}) == []


@pytest.mark.parametrize("values", [{"title": "x"}, {"classification": None}, {}])
def test_a_field_that_is_not_set_is_incomplete(values: dict[str, Any]):
    rejection = only(broken(contract(PERSIST), {**SUBJECT, "set": values}))

    assert (rejection.code, rejection.layer, rejection.where) == ("contract_incomplete", 2, "/ops/0/set/classification")
    assert rejection.expected.startswith("update_node PullRequest (required: classification)")
    assert "author an update_node on PullRequest" in rejection.hint


def test_nothing_at_all_is_incomplete():
    rejection = only(broken(contract(PERSIST)))

    assert (rejection.code, rejection.where, rejection.received) == ("contract_incomplete", "/ops", "nothing")


def test_the_right_change_of_the_wrong_node_is_a_mismatch():
    made = pull() | {"ref": "$other_pr"}
    op = {"kind": "update_node", "target": {"ref": "$other_pr"}, "set": {"classification": "feature"}}

    rejections = broken(contract(PERSIST, {"kind": "create_node", "node_type": "PullRequest"}), made, op)

    rejection = only(rejections)
    assert rejection.code == "contract_mismatch"
    assert (rejection.expected, rejection.received) == ("context_ref:subject_node_id", "ref:$other_pr")
    repaired = hints.apply({"ops": [made, op]}, rejection.fix_hint.patch)["ops"][1]
    assert repaired["target"] == {"context_ref": "subject_node_id"}


@pytest.mark.parametrize(("policy", "severity"), [("reject", ["error"]), ("warn", ["warning"]), ("allow", [])])
def test_what_is_not_declared_follows_the_policy(policy: str, severity: list[str]):
    of = contract(PERSIST, unexpected=policy)

    rejections = broken(of, {**SUBJECT, "set": {"classification": "feature"}}, pull())

    assert [r.severity for r in rejections] == severity
    assert [r.code for r in rejections] == ["contract_unexpected"] * len(severity)


def test_operations_are_counted_with_batches_opened():
    issues = {
        "kind": "create_nodes_batch",
        "node_type": "Issue",
        "required_fields": ["title"],
        "count": {"min": 2, "max": 3},
    }
    items = [{"set": {"number": n, "title": "x"}} for n in range(4)]
    batch = {"kind": "create_nodes_batch", "node_type": "Issue"}

    assert broken(contract(issues), {**batch, "items": items[:2]}) == []
    assert codes(broken(contract(issues), {**batch, "items": items})) == [("contract_count", "/ops/0/items/3")]
    assert codes(broken(contract(issues), {**batch, "items": items[:1]})) == [("contract_count", "/ops/0/items/0")]
    without = [*items[:1], {"set": {"number": 9}}]
    assert codes(broken(contract(issues), {**batch, "items": without})) == [
        ("contract_incomplete", "/ops/0/items/1/set/title")
    ]


def test_edges_are_compared_by_both_ends():
    closes = {
        "kind": "create_edge",
        "edge_type": "closes",
        "from": {"context_ref": "subject_node_id"},
        "to": {"handle": "Issue#1"},
    }

    assert broken(contract(closes), edge("closes", {"context_ref": "subject_node_id"}, "Issue#1")) == []
    assert codes(broken(contract(closes), edge("closes", "PullRequest#api:41", "Issue#2"))) == [
        ("contract_mismatch", "/ops/0/from"),
        ("contract_mismatch", "/ops/0/to"),
    ]


def test_a_transition_may_be_required():
    moves = {**PERSIST, "required_fields": ["to_state"]}

    assert broken(contract(moves), {**SUBJECT, "to_state": "ready"}) == []
    assert codes(broken(contract(moves), {**SUBJECT, "set": {"title": "x"}})) == [
        ("contract_incomplete", "/ops/0/to_state")
    ]


def test_a_contract_of_the_wrong_shape_is_told():
    found, findings = contracts.read({"produces": {"deltas": [{"kind": "update_nodes"}]}})

    assert found is None
    assert [f.code for f in findings] == ["not_allowed"]
