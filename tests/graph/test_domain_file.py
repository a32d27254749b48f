import pytest

from ukai.graph import domain_file, schema
from ukai.kit.finding import Finding

GOOD = """\
domain: review
description: Pull requests and what they close
types:
  - type: PullRequest
    key: [repo, number]
    path: "github/{repo}/pulls/{number}"
    readers: ["group:engineering"]
    text: [title]
    fields:
      - {key: number, kind: integer, required: true, min: 0, max: 10}
      - {key: repo, kind: string, required: true, pattern: "^a"}
      - {key: title, kind: string, min_length: 1, max_length: 300}
      - {key: classification, kind: enum, values: [small fix, feature]}
      - {key: cost, kind: number, places: 2}
      - {key: owner, kind: string, server_set: author}
      - {key: support, any_of: [date, boolean]}
      - {key: draft, kind: boolean, default: false}
      - {key: issue, kind: ref, to: Issue, list: true}
    states:
      values: [open, merged]
      initial: [open, null]
      transitions:
        - {from: open, to: merged}
    rules:
      - id: merged-is-classified
        require: "new.state != 'merged' || has(new.classification)"
        message: "a merged pull request has a classification"
  - {type: Issue, key: number, fields: [{key: number, kind: integer, required: true}], readers: {edge: closes}}
edges:
  - {edge: closes, from: PullRequest, to: [Issue, PullRequest], max_out: 10, on_delete: {from: cascade}, owns: to,
     fields: [{key: since, kind: date}]}
"""


def findings(old: str = "", new: str = "", **how: object) -> list[Finding]:
    assert old in GOOD
    domain, found = domain_file.read(GOOD.replace(old, new, 1).encode() if old else GOOD.encode(), name="d.yaml", **how)  # type: ignore[arg-type]
    assert (domain is None) == any(f.severity == "error" for f in found)
    assert all(f.hint for f in found)
    return found


def test_a_domain_is_read_whole():
    domain, found = domain_file.read(GOOD.encode(), name="d.yaml")

    assert found == []
    assert domain is not None
    pull = domain.by_type["PullRequest"]
    assert pull.key == ("repo", "number")
    assert pull.readers == schema.Readers(names=("group:engineering",))
    assert pull.by_key["issue"].many
    assert pull.states is not None
    assert pull.states.initial == ("open", None)
    assert domain.by_edge["closes"].owns == "target"
    assert domain.by_edge["closes"].on_delete == schema.OnDelete(source="cascade", target="reject")


def test_a_domain_is_written_in_the_language_it_is_read_from():
    domain, _ = domain_file.read(GOOD.encode(), name="d.yaml")
    assert domain is not None

    again, found = domain_file.from_data(domain_file.as_data(domain))

    assert found == []
    assert again == domain
    assert again.fingerprint == domain.fingerprint


@pytest.mark.parametrize(
    ("old", "new", "code", "place"),
    [
        ("kind: integer", "kind: integr", "not_allowed", "10:29"),
        ("required: true", "requird: true", "unknown_key", "10:38"),
        ("type: PullRequest", "type: Pull Request", "invalid_name", "4:11"),
        ("[repo, number]", "[repo, nummer]", "unknown_field", "5:17"),
        ("[repo, number]", "[repo, title]", "invalid_key", "5:17"),
        ("{repo}/pulls", "{rep}/pulls", "unknown_field", "6:11"),
        ("text: [title]", "text: [titel]", "unknown_field", "8:12"),
        ("min: 0, max: 10", "min: 20, max: 10", "invalid_value", "10:68"),
        ("min: 0", "min: soon", "invalid_value", "10:59"),
        ("min: 0", "max_length: 3", "invalid_option", "10:66"),
        ('"^a"', '"(?=a)"', "invalid_pattern", "11:60"),
        ("values: [small fix, feature]", "values: []", "missing_key", "13:9"),
        ("default: false", "default: 3", "invalid_default", "17:46"),
        ("to: Issue, list", "to: Isue, list", "unknown_type", "18:37"),
        ("initial: [open, null]", "initial: [opn]", "unknown_state", "21:17"),
        ("{from: open, to: merged}", "{from: open, to: mergd}", "unknown_state", "23:28"),
        ("new.state !=", "new.stat !=", "invalid_rule", "26:23"),
        ("has(new.class", "hsa(new.class", "invalid_rule", "26:44"),
        ("!= 'merged'", "!= 3", "invalid_rule", "26:29"),
        ("new.state != 'merged' ||", "new.state +", "invalid_rule", "26:29"),
        ("{edge: closes}", "{edge: close}", "unknown_edge", "28:104"),
        ("max_out: 10", "max_out: 0", "invalid_value", "30:74"),
        ("type: Issue", "type: PullRequest", "duplicate_name", "28:12"),
        ("key: owner", "key: cost", "duplicate_name", "15:15"),
        ("key: owner", "key: state", "reserved_name", "10:7"),
        ("kind: boolean, ", "", "missing_key", "17:9"),
    ],
)
def test_what_is_wrong_is_found_at_its_column(old: str, new: str, code: str, place: str):
    assert (code, f"d.yaml:{place}") in [(f.code, f.where) for f in findings(old, new)]


def test_everything_is_found_at_once():
    text = (
        GOOD.replace("[repo, number]", "[repo, nummer]")
        .replace("new.state", "new.sttae")
        .replace("to: merged", "to: x")
    )

    _, found = domain_file.read(text.encode(), name="d.yaml")

    assert [f.code for f in found if f.severity == "error"] == ["unknown_field", "unknown_state", "invalid_rule"]


def test_a_type_of_another_domain_is_a_warning_until_the_others_are_known():
    swap = ("[Issue, PullRequest]", "[Issue, Repository]")

    assert [(f.code, f.severity) for f in findings(*swap)] == [("unknown_type", "warning")]
    assert findings(*swap, others=["Repository"]) == []
    assert [(f.code, f.severity) for f in findings(*swap, others=["Account"])] == [("unknown_type", "error")]


def test_a_state_that_nothing_leads_to_is_noted():
    assert [(f.code, f.severity) for f in findings("[open, merged]", "[open, merged, lost]")] == [
        ("unreachable_state", "note")
    ]


def test_numbers_of_different_places_are_not_compared():
    rule = "new.state != 'merged' || has(new.classification)"
    swapped = GOOD.replace(rule, "dec(new.cost) > dec(new.weight)").replace(
        "- {key: owner,", "- {key: weight, kind: number}\n      - {key: owner,"
    )

    _, found = domain_file.read(swapped.encode(), name="d.yaml")

    assert [f.code for f in found] == ["invalid_rule"]
    assert "places" in found[0].hint


def test_one_type_alone_is_a_domain_of_one_type():
    text = b'{"type": "PullRequest", "fields": [{"key": "number", "kind": "number", "required": true, "unique": true}]}'

    domain, found = domain_file.read(text, name="pull.json")

    assert found == []
    assert domain is not None
    assert (domain.domain, domain.types[0].key) == ("pull_request", ("number",))


def test_fingerprints_tell_content_and_not_versions():
    from dataclasses import replace

    domain, _ = domain_file.read(GOOD.encode(), name="d.yaml")
    assert domain is not None

    assert replace(domain, version=7).fingerprint == domain.fingerprint
    assert replace(domain, description="x").fingerprint != domain.fingerprint
