"""A JSON Schema that is none is said so with its place, whatever stands in it; nothing raw is raised (X3)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ukai.graph import domain_file, json_import

# fmt: off
KEYWORDS = [
    "type", "properties", "required", "additionalProperties", "patternProperties", "items", "prefixItems", "enum",
    "const", "minLength", "pattern", "minimum", "multipleOf", "anyOf", "allOf", "not", "$ref", "$id", "$defs",
    "format", "uniqueItems", "contains", "dependentRequired", "dependentSchemas", "if", "then", "propertyNames",
    "minItems", "description", "unevaluatedProperties",
]
# fmt: on
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 3) | st.sampled_from(["a", "object", "string", "#/const", "("]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["a", "type"]), inner, max_size=2),
    max_leaves=4,
)
SCHEMAS = st.recursive(
    st.dictionaries(st.sampled_from(KEYWORDS), VALUES, max_size=3),
    lambda inner: st.dictionaries(
        st.sampled_from(KEYWORDS),
        inner | st.dictionaries(st.sampled_from(["a", "b"]), inner, max_size=2) | st.lists(inner, max_size=2) | VALUES,
        max_size=3,
    ),
    max_leaves=5,
)


@given(schema=SCHEMAS)
def test_whatever_comes_a_type_or_findings_come_back(schema: Any):
    imported, findings = json_import.to_type(schema, name="X")

    assert (imported is None) == any(f.severity == "error" for f in findings)


@given(schema=SCHEMAS)
def test_a_field_with_a_schema_is_judged_when_its_domain_is_read(schema: Any):
    data = {"domain": "d", "types": [{"type": "T", "fields": [{"key": "a", "kind": "json", "schema": schema}]}]}

    domain, findings = domain_file.from_data(data)

    assert (domain is None) == any(f.severity == "error" for f in findings)


@pytest.mark.parametrize(
    ("schema", "where"),
    [
        ({"properties": 7}, "/properties"),
        ({"properties": {"a/b": {"type": {}}}}, "/properties/a~1b/type"),
        ({"required": None}, "/required"),
        ({"allOf": []}, "/allOf"),
        ({"items": {"minLength": -1}}, "/items/minLength"),
        ({"not": 1}, "/not"),
        ({"$ref": "#/const", "const": {"properties": 7}}, "/properties"),
    ],
)
def test_the_place_is_named(schema: Any, where: str):
    _, findings = json_import.to_type(schema, name="X")

    assert [(f.code, f.where) for f in findings if f.severity == "error"] == [("invalid_schema", where)]
