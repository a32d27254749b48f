"""The value of a guardrail file (P1.5)."""

from __future__ import annotations

import pytest

from ukai.kit import document
from ukai.runtime import guardrail

HEAD = {"id": "rule", "stage": "output", "verdict_type": "block", "applies_to": "['*']"}


def parse(body: str = "Fire on discounts.\n", **fields: str):
    head = "".join(f"{k}: {v}\n" for k, v in {**HEAD, **fields}.items() if v)
    doc, findings = document.read_front_matter(f"---\n{head}---\n{body}".encode(), name="rule.md")
    assert doc is not None, findings
    return guardrail.parse(doc)


def test_a_rule_fails_closed_and_is_judged_by_a_model_unless_it_says_otherwise():
    rule, findings = parse()

    assert findings == []
    assert rule is not None
    assert (rule.failure_policy, rule.kind, rule.prose) == ("closed", "model", "Fire on discounts.\n")


@pytest.mark.parametrize(
    ("fields", "code", "where"),
    [
        ({"stage": "ouput"}, "not_allowed", "rule.md:3:8"),
        ({"verdict_type": "warn"}, "not_allowed", "rule.md:4:15"),
        ({"failure_policy": "opne"}, "not_allowed", "rule.md:6:17"),
        ({"stage": ""}, "missing_key", "rule.md:2:1"),
        ({"kind": "pattern"}, "missing_key", "rule.md:6:7"),
        ({"kind": "list"}, "missing_key", "rule.md:6:7"),
        ({"kind": "pattern", "patterns": "['(']"}, "invalid_pattern", "rule.md:7:12"),
        ({"version": "0"}, "invalid_value", "rule.md:6:10"),
        ({"version": "'2'"}, "wrong_type", "rule.md:6:10"),
        ({"examples": "{pas: [a]}"}, "unknown_key", "rule.md:6:12"),
        ({"prose": "x"}, "unknown_key", "rule.md:6:1"),
    ],
)
def test_what_is_wrong_with_a_guardrail_is_told_at_its_place(fields: dict[str, str], code: str, where: str):
    rule, findings = parse(**fields)

    assert rule is None
    assert [(f.code, f.where) for f in findings] == [(code, where)]


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"applies_to": ""}, "applies_to_nobody"),
        ({"stage": "input", "verdict_type": "rewrite"}, "rewrite_on_input"),
        ({"words": "[discount]"}, "unused_field"),
    ],
)
def test_what_is_probably_not_meant_is_a_warning(fields: dict[str, str], code: str):
    rule, findings = parse(**fields)

    assert rule is not None
    assert [(f.severity, f.code) for f in findings] == [("warning", code)]


def test_a_rule_of_a_model_needs_words():
    rule, findings = parse(body="\n  \n")

    assert rule is None
    assert [f.code for f in findings] == ["prose_missing"]
    assert parse(body="", kind="list", words="[discount]")[1] == []


def test_the_hash_follows_the_wording_and_not_the_audience():
    plain, louder = parse()[0], parse(body="Fire on any discount.\n")[0]
    wider = parse(applies_to="[a, b]")[0]

    assert plain is not None
    assert louder is not None
    assert wider is not None
    assert plain.sha256 != louder.sha256
    assert plain.sha256 == wider.sha256


def test_examples_are_what_must_pass_and_what_must_fire():
    rule, _ = parse(examples="{pass: [a], fire: [b]}")

    assert rule is not None
    assert (rule.examples.passes, rule.examples.fire) == (("a",), ("b",))
