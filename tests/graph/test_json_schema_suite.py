"""The public suite of JSON Schema, for the keywords that a field kind needs (research: gate §5.2)."""

import json
from collections.abc import Iterator
from typing import Any

import jsonschema

from tests import shared
from ukai.graph import checks, json_import, json_schema, kinds
from ukai.graph.problem import Problem
from ukai.kit import strict_json

SUITE = shared.DATA / "gate" / "json_schema_suite" / "draft2020-12.jsonl"
KEYWORDS = (
    {"type", "enum", "const", "required", "properties", "additionalProperties", "pattern", "items", "multipleOf"}
    | {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength"}
    | {"minItems", "maxItems", "uniqueItems"}
)
pytestmark = shared.needs("gate", "json_schema_suite")


def cases() -> Iterator[tuple[str, Any, Any, bool]]:
    for line in SUITE.read_text().splitlines():
        value, _ = strict_json.loads(line)
        if value["file"].split("/")[-1].removesuffix(".json") in KEYWORDS:
            for group in value["groups"]:
                for test in group["tests"]:
                    name = f"{value['file']}: {group['description']}: {test['description']}"
                    yield name, group["schema"], test["data"], test["valid"]


def problems_of(schema: Any, data: Any) -> list[Problem]:
    found: list[Problem] = []
    json_schema.compile(schema)(data, "", found)
    return found


def test_all_426_verdicts_over_the_18_keyword_files_agree():
    rows = list(cases())

    wrong = [name for name, schema, data, valid in rows if (not problems_of(schema, data)) != valid]

    assert wrong == []
    assert len(rows) == 426
    assert sum(not valid for *_, valid in rows) == 202


def test_a_field_imported_from_each_schema_gives_the_same_426_verdicts():
    wrong: list[str] = []
    kept: set[str] = set()
    for name, schema, data, valid in cases():
        field = json_import.to_field(schema)
        kept.add(field.kind)
        found: list[Problem] = []
        if data is not None or field.kind == "json":
            kinds.compile(field)(data, "", found)
        else:
            found = problems_of(schema, data)  # null clears a field and never reaches its kind
        if (not found) != valid:
            wrong.append(f"{name}: {field}")

    assert wrong == []
    assert kept >= {"json", "string", "integer", "number", "boolean", "enum"}


def test_the_pointer_names_the_place_that_a_second_implementation_names():
    differing: list[str] = []
    for name, schema, data, valid in cases():
        if valid or not isinstance(schema, dict) or "\\p" in str(schema):  # Python's re has no \\p{Letter}
            continue
        ours = {p.at for p in problems_of(schema, data)}
        second = jsonschema.Draft202012Validator(plain(schema)).iter_errors(plain(data))
        theirs = {
            "".join(f"/{checks.escaped(str(p))}" for p in leaf.absolute_path) for e in second for leaf in leaves(e)
        }
        # We point at the member or item that is too much, where the other points at its parent.
        if not any(o == t or o.rpartition("/")[0] == t for o in ours for t in theirs):
            differing.append(f"{name}: {ours} {theirs}")

    assert differing == []


def leaves(error: jsonschema.ValidationError) -> list[jsonschema.ValidationError]:
    return [leaf for e in error.context or () for leaf in leaves(e)] or [error]


def plain(value: Any) -> Any:
    return json.loads(json.dumps(value, default=float))
