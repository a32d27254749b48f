"""75 real webhook payloads and their 118 JSON Schemas (research: gate §5.3)."""

import json
from typing import Any

import jsonschema

from tests import shared
from tests.gate.static.given import AUTHOR, NOW
from ukai.gate import contract as contracts
from ukai.gate import door, shape
from ukai.graph import domain_file, json_import
from ukai.graph.catalogue import Catalogue
from ukai.graph.schema import Domain

FOLDER = shared.DATA / "gate" / "github_webhooks"
pytestmark = shared.needs("gate", "github_webhooks")

# The article's type, in the article's own form.
ARTICLE = {
    "type": "PullRequest",
    "fields": [
        {"key": "number", "kind": "number", "required": True, "unique": True},
        {"key": "title", "kind": "string", "required": True},
        {"key": "author", "kind": "string", "required": True},
        {"key": "classification", "kind": "enum", "values": ["small fix", "feature", "refactor"]},
    ],
    "states": {
        "values": ["open", "ready", "needs_human_review", "closed", "merged"],
        "transitions": [{"from": "ready", "to": "closed"}, {"from": "ready", "to": "merged"}],
    },
}
CONTRACT = {
    "produces": {
        "deltas": [
            {
                "kind": "update_node",
                "node_type": "PullRequest",
                "target": {"context_ref": "subject_node_id"},
                "required_fields": ["classification"],
            }
        ]
    }
}


def payloads() -> list[dict[str, Any]]:
    return [json.loads(line) for line in (FOLDER / "payloads.jsonl").read_text().splitlines()]


def schemas() -> dict[str, Any]:
    rows = [json.loads(line) for line in (FOLDER / "schemas.jsonl").read_text().splitlines()]
    return {row["file"]: row["schema"] for row in rows}


def schema_of(payload: dict[str, Any], known: dict[str, Any]) -> Any:
    folder, _, name = payload["file"].rpartition("/")
    return known[f"{folder}/{name.split('.')[0]}.schema.json"]


def article() -> Catalogue:
    domain, findings = domain_file.read(json.dumps(ARTICLE).encode(), name="pull_request.json")
    assert domain is not None, findings
    assert domain.types[0].key == ("number",)
    return Catalogue([domain])


def judged(catalogue: Catalogue, op: dict[str, Any], **how: Any) -> shape.Checked:
    delta, told = door.read({"ops": [op]})
    assert delta is not None, told
    return shape.check(delta, catalogue, author=AUTHOR, now=NOW, **how)


def test_the_thirty_payloads_with_a_pull_request_become_the_article_s_type_and_meet_its_contract():
    catalogue = article()
    contract, _ = contracts.read(CONTRACT)
    assert contract is not None
    pulls = [p["payload"]["pull_request"] for p in payloads() if "pull_request" in p["payload"]]
    assert len(pulls) == 30

    for pull in pulls:
        values = {"number": pull["number"], "title": pull["title"], "author": pull["user"]["login"]}
        created = judged(catalogue, {"kind": "create_node", "node_type": "PullRequest", "set": values})
        assert created.rejections == ()
        assert created.plan is not None
        assert created.plan.nodes[0].to_state == "open"

        context = {"subject_node_id": f"PullRequest#{created.plan.nodes[0].key}"}
        target = {"kind": "update_node", "target": {"context_ref": "subject_node_id"}}
        done = judged(catalogue, {**target, "set": {"classification": "feature"}}, context=context)
        assert contracts.compare(contract, done.scene) == []
        forgotten = judged(catalogue, {**target, "set": {"title": pull["title"]}}, context=context)
        assert [r.code for r in contracts.compare(contract, forgotten.scene)] == ["contract_incomplete"]
        elsewhere = judged(
            catalogue,
            {**target, "target": {"handle": "PullRequest#7"}, "set": {"classification": "feature"}},
            context=context,
        )
        assert [r.code for r in contracts.compare(contract, elsewhere.scene)] == ["contract_mismatch"]


def test_every_payload_commits_as_the_type_imported_from_its_schema():
    known = schemas()
    registry = {s["$id"]: s for s in known.values() if "$id" in s}
    refused: list[str] = []
    for row in payloads():
        imported, findings = json_import.to_type(schema_of(row, known), name="Event", registry=registry)
        assert imported is not None, findings
        op = {"kind": "create_node", "node_type": "Event", "set": imported.set_of(row["payload"])}
        verdict = judged(Catalogue([Domain(domain="github", types=(imported.type,))]), op)
        if verdict.plan is None:
            refused.append(f"{row['file']}: {verdict.rejections[0]}")

    assert refused == []


def test_a_broken_payload_is_refused_at_the_place_that_is_broken():
    known = schemas()
    registry = {s["$id"]: s for s in known.values() if "$id" in s}
    row = next(p for p in payloads() if "pull_request" in p["payload"])
    row["payload"]["pull_request"]["head"]["repo"]["id"] = "not a number"
    imported, _ = json_import.to_type(schema_of(row, known), name="Event", registry=registry)
    assert imported is not None

    verdict = judged(
        Catalogue([Domain(domain="github", types=(imported.type,))]),
        {"kind": "create_node", "node_type": "Event", "set": imported.set_of(row["payload"])},
    )

    assert [(r.code, r.where) for r in verdict.rejections] == [
        ("type_mismatch", "/ops/0/set/pull_request/head/repo/id")
    ]


def test_every_schema_is_imported_and_the_type_survives_its_file():
    known = schemas()
    registry = {s["$id"]: s for s in known.values() if "$id" in s}
    for name, schema in known.items():
        imported, findings = json_import.to_type(schema, name="Event", registry=registry)
        assert imported is not None, (name, findings)
        domain = Domain(domain="github", types=(imported.type,))
        again, told = domain_file.from_data(domain_file.as_data(domain))
        assert again is not None, (name, told)
        assert again.fingerprint == domain.fingerprint


def test_a_second_implementation_agrees_on_payloads_and_on_their_mutations():
    known = schemas()
    registry = {s["$id"]: s for s in known.values() if "$id" in s}
    row = next(p for p in payloads() if p["file"].endswith("label/deleted.payload.json"))
    schema = schema_of(row, known)
    imported, _ = json_import.to_type(schema, name="Event", registry=registry)
    assert imported is not None
    catalogue = Catalogue([Domain(domain="github", types=(imported.type,))])
    second = jsonschema.Draft7Validator(_inlined(schema, registry))

    for path in _paths(row["payload"]):
        for value in (None, 7, "x", [], {}):
            changed = _with(row["payload"], path, value)
            verdict = judged(catalogue, {"kind": "create_node", "node_type": "Event", "set": imported.set_of(changed)})
            # null is absence to a node, wherever it stands at the top; deeper it is a value like any other
            if value is None and len(path) == 1:
                continue
            if "_at" not in path[-1]:  # date-time is asserted by us only
                assert (verdict.plan is not None) == second.is_valid(changed), (path, value, verdict.rejections)


def _inlined(schema: Any, registry: dict[str, Any], depth: int = 0) -> Any:
    if isinstance(schema, dict):
        if "$ref" in schema and depth < 40:
            name = schema["$ref"]
            return _inlined(registry[name if name in registry else f"common/{name}"], registry, depth + 1)
        return {k: _inlined(v, registry, depth) for k, v in schema.items() if k != "$id"}
    return [_inlined(v, registry, depth) for v in schema] if isinstance(schema, list) else schema


def _paths(value: Any, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    found = [path] if path else []
    if isinstance(value, dict):
        for name, part in value.items():
            found += _paths(part, (*path, name))
    return found


def _with(value: Any, path: tuple[str, ...], new: Any) -> Any:
    if not path:
        return new
    return {**value, path[0]: _with(value[path[0]], path[1:], new)}
