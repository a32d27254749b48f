"""Bodies by templates: off, shadow, active, and a schema that moved on (context req. 34-36)."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path

import jinja2
import pytest

from tests.context_render import build
from ukai.app import loading
from ukai.context.render import sandbox, templates
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


MANY = build.thing(
    "a", "Body. " * 20, kind="Account", schema_hash="a1b2c3d4", fields={f"f{n}": f"value {n}" for n in range(40)}
)
TWICE = "{% set t = text %}" + "{% set t = t ~ t %}" * 7
TWICE += "{% for a in fields %}{% for b in fields %}X{% endfor %}{% endfor %}"
TOO_MUCH = (
    TWICE.replace("X", "{% for c in fields %}{% for d in fields %}{% endfor %}{% endfor %}"),
    TWICE.replace("X", "a word " * 50),
    TWICE.replace("X", "{% for c in [1]|batch(999, 1) %}{% endfor %}"),
    "{% macro m() %}{% endmacro %}" + TWICE.replace("X", "{% set x = m() %}" * 8),
    *(TWICE.replace("X", f"{{% if {x} %}}{{% endif %}}") for x in ("'q' in t", "t == a", "t[1:]", "t is upper")),
    *(
        "{% set n = namespace(t=text) %}{% for f in fields %}{% set n.t = X %}{% endfor %}{{ n.t }}".replace("X", x)
        for x in ("n.t ~ n.t", "n.t + n.t", "[n.t, n.t]", "[n.t, n.t]|join", "n.t|replace(' ', n.t)")
    ),
    "{% set a %}{{ text }}{% endset %}" + "{% set a %}{{ a }}{{ a }}{% endset %}" * 20 + "{{ a }}",
    "{% macro m(n) %}{% if n %}{{ m(n - 1) }}{{ m(n - 1) }}{% endif %}{% endmacro %}{{ m(60) }}",
    "{{ ['a', 'b']|sum(start=[]) }}",
)
AT_ONCE = tuple(
    "{% set t = text %}" + "{% set t = t ~ t %}" * 8 + f"{{{{ {x} }}}}"
    for x in ("t|replace('o', t)", "t|join(t)", "t.split()|join('\n')|indent(9999)", "[t.split()]|tojson(indent=9999)")
)
LONG = (
    *("{{ '{:99999999}'.format(1) }}", "{{ '%99999999d' % 1 }}", "{{ 'x'.ljust(99999999) }}", "{{ 'x'|center(9) }}"),
    *("{{ 'x'|indent(99999) }}", "{{ 1.5|round(9999999, 'ceil') }}", "{{ (5).to_bytes(99999999) }}"),
    *("{{ text|wordwrap(1, wrapstring=text) }}", "{{ [1]|batch(9999999, 1)|list }}", "{{ fields|random }}"),
    "{% set n = namespace(n=2) %}{% for a in fields %}{% for b in fields %}{% set n.n = n.n + n.n %}{% endfor %}"
    "{% endfor %}",
)


@pytest.mark.parametrize(("sources", "problem"), [(TOO_MUCH, "it does too much"), (LONG, "cannot be rendered")])
def test_a_template_that_would_hold_the_composer_ends_and_leaves_the_plain_body(sources: tuple[str, ...], problem: str):
    plain = build.assembled([MANY]).text
    for source in sources:
        result = build.assembled([MANY], shelf=shelf("active", {"Account/a1b2c3d4": source}))

        assert result.text == plain, source
        assert problem in result.mismatches[0].problem, source


def test_nothing_large_is_made_before_it_is_known_to_be_too_much():
    given = {"fields": dict(MANY.fields), "text": MANY.text}
    tracemalloc.start()
    try:
        for source in (*AT_ONCE, *LONG):
            with pytest.raises(sandbox.TooMuch if source in AT_ONCE else jinja2.TemplateError):
                sandbox.Sandbox().rendered(source, given)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert peak < 5_000_000


USUAL = (
    "{% for k, v in fields|dictsort if k != 'f1' %}{{ loop.index }}/{{ loop.length }} {{ k }}: {{ v }}\n{% endfor %}",
    "{% macro m(k, v) %}{{ k }}: {{ v|upper }}{% endmacro %}{% for k in fields %}{{ m(k, fields[k]) }}{% endfor %}",
    "{{ text|replace('Body', 'B')|indent(2)|truncate(30) }} {{ text[:4] ~ '!' ~ 3 }} {{ 'B' in text and 1 < 2 < 3 }}",
    "{{ fields.values()|map('upper')|select('ne', 'X')|join(', ') }} {{ fields|length * 2 + 7 % 4 }}",
    "{% set parts = text.split('. ') %}{{ parts|first|lower }} {{ parts|unique|list|length }} {{ fields|tojson }}",
)


@pytest.mark.parametrize("source", USUAL)
def test_what_templates_usually_do_is_done_as_ever(source: str):
    given = {"fields": dict(MANY.fields), "text": MANY.text, "at": None}

    assert sandbox.Sandbox().rendered(source, given) == jinja2.Environment().from_string(source).render(given)


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
