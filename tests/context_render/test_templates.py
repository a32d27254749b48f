"""Bodies by templates: off, shadow, active, and a schema that moved on (context req. 34-36)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.context_render import build
from ukai.app import loading
from ukai.context.render import templates
from ukai.kit import document

ITEM = build.thing("a", "Body.", kind="Account", schema_hash="a1b2c3d4", fields={"owner": "kim"})
SOURCE = {"Account/a1b2c3d4": "Owned by {{ fields.owner }}. {{ text }}"}


def shelf(mode: str, sources: dict[str, str] = SOURCE) -> templates.Shelf:
    return templates.shelf(sources, {"Account": {"a1b2c3d4": mode}})


def test_an_active_template_makes_the_body():
    assert "### a\nOwned by kim. Body.\n" in build.assembled([ITEM], shelf=shelf("active")).text


def test_a_template_that_is_off_or_in_shadow_changes_no_byte_and_shadow_tells_what_differs():
    plain = build.assembled([ITEM])
    off, shadow = (build.assembled([ITEM], shelf=shelf(mode)) for mode in ("off", "shadow"))

    assert plain.text == off.text == shadow.text
    assert [m.template for m in shadow.mismatches] == ["Account/a1b2c3d4"]
    assert off.mismatches == ()


def test_a_new_field_makes_a_new_hash_and_the_plain_body_stands():
    moved = build.thing("a", "Body.", kind="Account", schema_hash="ffffffff", fields={"owner": "kim"})

    assert build.assembled([moved], shelf=shelf("active")).text == build.assembled([moved]).text


FAILING = (
    *("{{ fields.nothing }}", "{{ text", "{{ 1 / 0 }}", "{{ ''.__class__.__mro__ }}", "{{ text|truncate(2) }}"),
    *('{{ text.encode("nope") }}', '{{ "{5}".format(1) }}', '{{ ("x" * (10**15))|length }}', "{{ 9 ** 9 }}"),
    *("{% macro a() %}{{ a() }}{% endmacro %}{{ a() }}", "{% for i in range(99999) %}{% endfor %}", "{{ lipsum() }}"),
)


@pytest.mark.parametrize("mode", ["active", "shadow"])
def test_a_template_that_fails_leaves_the_plain_body_and_is_told(mode: str):
    for source in FAILING:
        result = build.assembled([ITEM], shelf=shelf(mode, {"Account/a1b2c3d4": source}))

        assert result.text == build.assembled([ITEM]).text, source
        assert "cannot be rendered" in result.mismatches[0].problem


def test_templates_yaml_is_held_against_its_form():
    raw = {"Account": {"a1b2c3d4": "shadwo", "short": "active"}, "Deal": "active"}
    doc, _ = document.read(json.dumps(raw).encode(), name="templates.yaml")
    assert doc is not None

    found = templates.findings(doc)

    assert [f.code for f in found] == ["not_allowed", "wrong_type", "wrong_type"]
    assert "shadow" in found[0].hint


def test_lint_tells_what_is_wrong_with_templates_yaml(tmp_path: Path):
    (tmp_path / "ukai.yaml").write_text("company: x\nlocal_principal: ann@example.com\n")
    (tmp_path / "templates.yaml").write_text("Account: {a1b2c3d4: shadwo}\n")

    found = [f for f in loading.load(tmp_path).findings if f.where.startswith("templates.yaml")]

    assert [(f.code, f.where) for f in found] == [("not_allowed", "templates.yaml:1:21")]


def test_the_templates_of_a_workspace_come_with_their_modes(tmp_path: Path):
    (tmp_path / "ukai.yaml").write_text("company: x\nlocal_principal: ann@example.com\n")
    (tmp_path / "templates.yaml").write_text("Account: {a1b2c3d4: active}\n")
    (tmp_path / "templates" / "Account").mkdir(parents=True)
    (tmp_path / "templates" / "Account" / "a1b2c3d4.md.j2").write_text("Owned by {{ fields.owner }}.")

    found = loading.shelf(loading.load(tmp_path).catalog)

    assert "Owned by kim." in build.assembled([ITEM], shelf=found).text
