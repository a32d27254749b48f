from typing import Any

import pytest

from tests.gate.static.given import CATALOGUE, checked, codes, only, pull, told, update
from ukai.gate import hints


def test_a_well_formed_create_leaves_a_plan_with_canonical_values():
    verdict = checked(pull(number=42.0, cost="12.50", due="2026-11-01", merged_at="2026-11-01T10:00:00+02:00"))

    assert verdict.plan is not None, verdict.rejections
    node = verdict.plan.nodes[0]
    assert node.set == {
        "number": 42,
        "repo": "api",
        "title": "Retry",
        "author": "kim",
        "cost": "12.5",
        "due": "2026-11-01",
        "merged_at": "2026-11-01T08:00:00Z",
        "draft": False,
        "opened_by": "reviewer",
        "opened_at": "2026-11-29T12:00:00Z",
    }
    assert (node.key, node.to_state) == ("api:42", "open")
    assert set(node.server_set) == {"draft", "opened_by", "opened_at"}


@pytest.mark.parametrize(
    ("field", "value", "code", "fix"),
    [
        ("number", "42", "type_mismatch", 42),
        ("number", "forty", "type_mismatch", None),
        ("number", 1.5, "type_mismatch", None),
        ("number", True, "type_mismatch", None),
        ("number", 0, "out_of_range", None),
        ("repo", "API", "pattern_mismatch", None),
        ("title", 7, "type_mismatch", None),
        ("title", "x" * 41, "too_long", None),
        ("classification", "Small_Fix", "enum_mismatch", "small fix"),
        ("classification", "bug", "enum_mismatch", None),
        ("cost", "1.234", "precision_loss", None),
        ("weight", "$1,250.00", "type_mismatch", 1250),
        ("cost", "cheap", "type_mismatch", None),
        ("weight", 0.1 + 0.2, "precision_loss", None),
        ("draft", "true", "type_mismatch", True),
        ("draft", 1, "type_mismatch", None),
        ("due", "2026/11/1", "format_invalid", "2026-11-01"),
        ("due", "2026-02-30", "format_invalid", None),
        ("merged_at", "2026-11-01T10:00:00", "format_invalid", "2026-11-01T10:00:00Z"),
        ("support", "soon", "format_invalid", None),
        ("support", 3, "type_mismatch", None),
        ("labels", "bug", "type_mismatch", ["bug"]),
        ("labels", ["a", "b", "c", "d"], "too_many_items", None),
        ("labels", ["a", "a"], "duplicate_items", None),
        ("raw", {}, "required_field", None),
        ("branch", "$ref:classify.branch", "unresolved_ref", None),
    ],
)
def test_a_wrong_value_is_told_with_its_place_its_kind_and_its_repair(field: str, value: Any, code: str, fix: Any):
    op = pull(**{field: value})

    rejection = only(told(op))

    assert rejection.code == code
    assert rejection.where.startswith(f"/ops/0/set/{field}")
    assert rejection.hint
    assert rejection.expected
    assert rejection.received
    assert rejection.hint == rejection.fix_hint.text
    patched = hints.apply({"ops": [op]}, rejection.fix_hint.patch)
    assert patched["ops"][0]["set"][field] == (value if fix is None else fix)
    if fix is not None:
        assert told(*patched["ops"]) == []


def test_a_misspelt_field_and_the_missing_one_are_one_rejection():
    op = pull(title=None, titel="Retry")

    rejection = only(told(op))

    assert (rejection.code, rejection.where) == ("unknown_field", "/ops/0/set/titel")
    assert "title" in rejection.hint
    assert "required" in rejection.hint
    assert told(*hints.apply({"ops": [op]}, rejection.fix_hint.patch)["ops"]) == []


def test_an_unknown_field_is_not_removed_while_a_required_one_is_missing():
    rejections = told(pull(title=None, headline="Retry"))

    assert codes(rejections) == [("unknown_field", "/ops/0/set/headline"), ("required_field", "/ops/0/set/title")]
    assert rejections[0].fix_hint.patch == ()


def test_a_missing_value_names_the_field_its_kind_and_where_to_read_it():
    rejection = only(told(pull(title=None)))

    assert rejection.code == "required_field"
    assert rejection.hint == "add 'title' (string); it is the title on the page"
    assert rejection.expected_value == {"kind": "string"}


def test_null_is_no_value_of_a_required_field_and_clears_an_optional_one():
    op = pull()
    op["set"] |= {"title": None, "cost": None}

    assert codes(told(op)) == [("null_not_allowed", "/ops/0/set/title")]

    verdict = checked(update(set={"cost": None}))
    assert verdict.plan is not None
    assert verdict.plan.nodes[0].set == {"cost": None}


def test_what_the_server_sets_is_said_to_be_set_by_the_server():
    rejection = only(told(pull(opened_by="kim")))

    assert rejection.code == "server_set_field"
    assert "set by the server" in rejection.message
    assert rejection.fix_hint.patch == ({"op": "remove", "path": "/ops/0/set/opened_by"},)


def test_an_update_changes_neither_the_key_nor_what_is_set_once():
    assert codes(told(update(set={"number": 7, "branch": "x"}))) == [
        ("immutable_field", "/ops/0/set/number"),
        ("immutable_field", "/ops/0/set/branch"),
    ]
    assert told(update(set={"number": 41, "repo": "api", "title": "Same key"})) == []


def test_a_sensitive_value_is_shown_nowhere():
    rejection = only(told(pull(token="hunter2")))

    assert rejection.code == "too_long"
    assert "hunter2" not in str(rejection.as_json())


def test_a_long_value_is_cut():
    rejection = only(told(pull(title="x" * 5_000)))

    assert len(rejection.received) <= 200
    assert len(rejection.as_json()["values"]["received"]["value"]) <= 200


def test_an_update_needs_no_required_field():
    assert told(update(set={"title": "Other"})) == []


def test_an_upsert_keeps_what_would_stop_only_a_creation():
    verdict = checked(
        {"kind": "upsert_node", "node_type": "PullRequest", "match": {"repo": "api", "number": 3}, "set": {}}
    )

    assert verdict.plan is not None
    node = verdict.plan.nodes[0]
    assert node.key == "api:3"
    assert [r.field for r in node.on_create] == ["title", "author"]


@pytest.mark.parametrize(("match", "fine"), [({"email": "a@x"}, True), ({"badge": 3}, True), ({"name": "Ann"}, False)])
def test_an_upsert_matches_by_the_key_or_by_one_unique_field(match: dict[str, Any], fine: bool):
    rejections = told({"kind": "upsert_node", "node_type": "Person", "match": match, "set": {}})

    assert [r.code for r in rejections] == ([] if fine else ["malformed_delta"])


def test_field_tests_are_checked_like_values_and_may_ask_for_a_state():
    assert told(update(test={"author": "kim", "state": "open"}, set={"title": "x"})) == []
    assert codes(told(update(test={"autor": "kim"}))) == [("unknown_field", "/ops/0/test/autor")]


def test_an_unknown_type_that_only_differs_in_spelling_does_not_hide_the_other_problems():
    rejections = told({**pull(title=None), "node_type": "pull_request"})

    assert codes(rejections) == [("unknown_type", "/ops/0/node_type"), ("required_field", "/ops/0/set/title")]


def test_a_type_of_another_domain_is_said_to_be_there():
    rejection = only(told({"kind": "create_node", "node_type": "Thing", "set": {"name": "x"}}, domain="review"))

    assert rejection.code == "unknown_type"
    assert "'owned'" in rejection.hint


def test_an_unknown_domain_stops_everything_that_would_follow_from_it():
    rejection = only(told(pull(number="x"), domain="reviw"))

    assert rejection.code == "unknown_domain"
    assert CATALOGUE.domains.keys() == {"review", "owned"}


def test_a_target_of_unknown_type_is_judged_once_its_node_was_read():
    from ukai.gate import shape

    verdict = checked(
        {"kind": "update_node", "target": {"id": "01234567-89ab-7def-8123-456789abcdef"}, "set": {"titel": "x"}}
    )
    assert verdict.plan is not None
    assert verdict.plan.nodes[0].type is None

    node, rejections = shape.recheck(verdict.plan.nodes[0], "PullRequest", verdict.scene)

    assert node is None
    assert [r.code for r in rejections] == ["unknown_field"]
