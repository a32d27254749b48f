from typing import Any

import pytest

from tests.gate.static.given import AUTHOR, CATALOGUE, NOW
from ukai.gate import simulation, workflow
from ukai.gate.rejection import Rejection
from ukai.kit.finding import Finding

CLASSIFY = """\
workflow: classify-pull-request
domain: review
on: {node_type: PullRequest, change: created}
steps:
  - id: classify
    agent: reviewer
    ask: "Classify this pull request."
    emits:
      classification: {kind: enum, values: [small fix, feature, refactor]}
      cost: {kind: number, description: What the review will cost}
  - id: persist
    write:
      - kind: update_node
        target: {context_ref: subject_node_id}
        set: {classification: "$ref:classify.classification", cost: "$ref:classify.cost"}
    contract:
      produces:
        deltas:
          - kind: update_node
            node_type: PullRequest
            target: {context_ref: subject_node_id}
            required_fields: [classification]
  - {id: confirm, human: "group:leads", when: "steps.classify.classification == 'refactor'"}
retries: 2
"""


def read(text: str) -> tuple[workflow.Workflow | None, list[Finding]]:
    return workflow.read(text.encode(), CATALOGUE, name="w.yaml")


def good(text: str = CLASSIFY) -> workflow.Workflow:
    found, findings = read(text)
    assert found is not None, findings
    return found


def swapped(*pairs: tuple[str, str]) -> list[tuple[str, int]]:
    text = CLASSIFY
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new)
    found, findings = read(text)
    assert (found is None) == any(f.severity == "error" for f in findings)
    assert all(f.hint for f in findings)
    return [(f.code, int(f.where.split(":")[1])) for f in findings]


def test_the_workflow_of_the_formats_is_read():
    found = good()

    assert [s.id for s in found.steps] == ["classify", "persist", "confirm"]
    assert found.consumed == {"classify": ("classification", "cost")}
    assert found.retries == 2
    assert found.is_due(found.steps[2], {"classify": {"classification": "refactor"}}) is True
    assert found.is_due(found.steps[2], {"classify": {"classification": "feature"}}) is False


@pytest.mark.parametrize(
    ("old", "new", "code", "line"),
    [
        ("$ref:classify.cost", "$ref:clasify.cost", "contract_unproduced", 15),
        ("$ref:classify.cost", "$ref:classify.costs", "contract_unproduced", 15),
        ("cost: {kind: number", "price: {kind: number", "contract_unproduced", 15),
        ('cost: "$ref:classify.cost"', "cost: 3", "contract_unconsumed", 10),
        ("$ref:classify.cost", "$ref:confirm.cost", "contract_cycle", 15),
        ("values: [small fix, feature, refactor]", "values: [tiny, feature, refactor]", "contract_type", 15),
        ("cost: {kind: number", "cost: {kind: string", "contract_type", 15),
        ("== 'refactor'", "== 'refactorr'", "contract_unreachable", 23),
        ("steps.classify.classification ==", "steps.classify.klass ==", "invalid_rule", 23),
        ("required_fields: [classification]", "required_fields: [title]", "contract_incomplete", 15),
        ("required_fields: [classification]", "required_fields: [clasification]", "unknown_field", 22),
        ("set: {classification", "set: {clasification", "unknown_field", 15),
        ("context_ref: subject_node_id}\n        set", "context_ref: subject}\n        set", "unknown_context_ref", 14),
        ("domain: review", "domain: reviw", "unknown_domain", 2),
        ("on: {node_type: PullRequest", "on: {node_type: Pullrequest", "unknown_type", 3),
        ('human: "group:leads"', "human: leads", "invalid_value", 23),
        ("id: confirm", "id: persist", "duplicate_name", 23),
        ("agent: reviewer", "agent: reviewer\n    human: group:x", "invalid_value", 5),
        ("retries: 2", "retires: 2", "unknown_key", 24),
        ("{kind: number,", "{kind: numbr,", "not_allowed", 10),
    ],
)
def test_what_cannot_work_is_found_when_the_file_is_written(old: str, new: str, code: str, line: int):
    assert (code, line) in swapped((old, new))


def test_a_value_that_is_only_sometimes_produced_needs_the_same_condition():
    deepen = """\
  - id: deepen
    agent: reviewer
    when: "has(steps.classify.cost)"
    emits: {title: {kind: string}}
  - id: rename
    write: [{kind: update_node, target: {context_ref: subject_node_id}, set: {title: "$ref:deepen.title"}}]
  - {id: confirm"""
    again = CLASSIFY.replace("  - {id: confirm", deepen)

    _, findings = read(again)

    assert [f.code for f in findings] == ["contract_unreachable"]
    assert read(again.replace("- id: rename", '- id: rename\n    when: "has(steps.classify.cost)"'))[1] == []


def said(output: Any, *, step: str = "classify", earlier: Any = None) -> list[Rejection]:
    found = good()
    return simulation.simulate(
        found,
        found.steps[found.by_id[step]],
        output,
        CATALOGUE,
        author=AUTHOR,
        now=NOW,
        context={"subject_node_id": "PullRequest#api:41"},
        earlier=earlier,
    )


def test_an_output_that_later_steps_can_use_is_accepted():
    assert said({"classification": "feature", "cost": "12.5"}) == []


def test_the_article_s_three_findings_come_back_together():
    rejections = said({"cost": "cheap", "action": "x"})

    assert {(r.code, r.where) for r in rejections} == {
        ("type_mismatch", "/cost"),
        ("unknown_field", "/action"),
        ("required_field", "/classification"),
    }
    unknown = next(r for r in rejections if r.code == "unknown_field")
    assert unknown.expected_value == {"keys": ["classification", "cost"]}
    assert "$ref:classify.classification" in next(r for r in rejections if r.code == "required_field").message
    assert all(r.layer == 2 for r in rejections)


def test_a_misspelt_key_and_the_missing_one_are_one_finding():
    rejections = said({"clasification": "feature", "cost": 1})

    assert [(r.code, r.where) for r in rejections] == [("unknown_field", "/clasification")]
    assert rejections[0].fix_hint.patch == ({"op": "move", "from": "/clasification", "path": "/classification"},)


def test_a_value_that_a_later_write_would_refuse_comes_back_to_its_producer():
    rejections = said({"classification": "feature", "cost": "12.345"})

    assert [(r.code, r.where) for r in rejections] == [("precision_loss", "/cost")]
    assert "persist" in rejections[0].message


@pytest.mark.parametrize("empty", [None, ""])
def test_a_missing_value_never_becomes_an_empty_text(empty: str | None):
    rejections = said({"classification": empty, "cost": 1})

    assert [r.where for r in rejections] == ["/classification"]
    found = good()
    delta = found.delta(found.steps[1], {"classify": {"cost": 1}})
    assert delta["ops"][0]["set"] == {"classification": "$ref:classify.classification", "cost": 1}


def test_an_output_that_is_prose_is_told_to_be_an_object():
    assert [r.code for r in said("It is a feature.")] == ["object_expected"]


def test_values_travel_as_they_are_and_into_texts_as_text():
    text = CLASSIFY.replace(
        'cost: "$ref:classify.cost"', 'cost: "$ref:classify.cost", title: "Costs $ref:classify.cost"'
    )
    found = good(text)

    delta = found.delta(found.steps[1], {"classify": {"classification": "feature", "cost": 12}}, key="run-1:persist")

    assert delta == {
        "domain": "review",
        "key": "run-1:persist",
        "ops": [
            {
                "kind": "update_node",
                "target": {"context_ref": "subject_node_id"},
                "set": {"classification": "feature", "cost": 12, "title": "Costs 12"},
            }
        ],
    }
