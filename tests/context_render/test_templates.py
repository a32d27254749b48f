"""Bodies by templates: off, shadow, active, and a schema that moved on (context req. 34-36)."""

from __future__ import annotations

import json
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

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
    assert [m.event for m in shadow.mismatches] == [
        "template_mismatch Account/a1b2c3d4 a: the body differs from line 1 on: "
        "1 lines with 19 characters, in place of 2 with 16"
    ]
    assert off.mismatches == ()


def test_a_new_field_makes_a_new_hash_and_the_plain_body_stands_and_is_told_once_a_template():
    moved = [build.thing(i, "Body.", kind="Account", schema_hash="ffffffff", fields={"owner": "kim"}) for i in "ab"]

    result = build.assembled(moved, shelf=shelf("active"))

    assert result.text == build.assembled(moved).text
    assert [m.event for m in result.mismatches] == [
        "template_outdated Account/a1b2c3d4: Account has the schema hash ffffffff, for which there is no template; "
        "the plain body stands"
    ]
    assert build.assembled(moved, shelf=shelf("off")).mismatches == ()


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
    *(
        f"{{{{ '{'a' * 40}'|{x} }}}}" * 200
        + TWICE.replace("X", "{% for c in fields %}{% for d in fields %}{% endfor %}{% endfor %}")
        for x in ("indent(-9999)", "tojson(indent=-9999)", "_paid(-9999)")
    ),
    TWICE.replace("X", "{% for c in text|slice(2000) %}{% endfor %}"),
    TWICE.replace("X", "{% if a is string %}{% endif %}" * 30),
    TWICE + "{% set b = t ~ 'b' ~ t %}" + "{{ t.METHOD(b)|length }}".replace("METHOD", "rpartition"),
    TWICE + "{{ t.strip(t ~ 'z')|length }}",
    TWICE + "{{ t|trim(t ~ 'z')|length }}",
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
    "{% set n = namespace(n=2) %}{% for a in fields %}{% for b in fields %}{% set n.n = n.n - (0 - n.n) %}{% endfor %}"
    "{% endfor %}",
    "{% set t = 'ffff' %}" + "{% set t = t ~ t %}" * 9 + "{{ t|int(0, 16) // 3 }}",
    "{% set t = 'ffff' %}" + "{% set t = t ~ t %}" * 9 + "{{ t|int(0, 16) is divisibleby 3 }}",
    *(
        f"{{{{ text|list|{x}|list|length }}}}".replace("P", ".".join("0" * 99))
        for x in ("map(attribute='P')", "sort(attribute='P')", "unique(false, 'P')", "groupby('P')", "selectattr('P')")
    ),
    *("{{ {(1,): 2} }}", "{{ fields[(1, 2)] }}", "{{ fields[1, 2] }}", "{{ {'a': 1}[text|list] }}"),
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


LEVELS = 20
"""Pairs of pairs: whoever reads them takes two to this many steps. That is a moment; at twice as many it is a year."""
PAIRS = "{% set n = namespace(x=(1,)) %}{% for e in elements %}{% set n.x = X %}{% endfor %}"
NESTED = (
    *("(n.x, n.x)", "[n.x, n.x]", "{'a': n.x, 'b': n.x}", "{'a': n.x, 'b': n.x}.items()", "dict(a=n.x, b=n.x)"),
    *("{}.fromkeys('ab', n.x)", "(n.x,)|batch(2, n.x)|list", "[n.x, n.x]|map('list')|list", "(1, n.x, n.x)[1:]"),
)


@pytest.mark.parametrize("nested", NESTED)
def test_what_holds_itself_many_times_over_ends_where_it_grows(nested: str):
    with pytest.raises(sandbox.TooMuch):
        sandbox.Sandbox().rendered(PAIRS.replace("X", nested), {"elements": list(range(LEVELS))})


def test_what_is_seen_through_a_view_is_weighed_each_time_it_is_written():
    source = "{% set v = {'a': text}.values() %}{{ v }}"
    given = {"text": "x" * (sandbox.UNITS // 4)}

    assert sandbox.Sandbox().rendered(source, given).startswith("dict_values(['xx")
    with pytest.raises(sandbox.TooMuch):
        sandbox.Sandbox().rendered(source + "{{ v }}" * 9, given)


def test_what_a_template_keeps_by_name_is_no_text():
    source = "{% set n = namespace(a=1) %}" + "{% set n = namespace(a=n, b=n) %}" * 10 + "{{ n }}{{ n ~ '' }}"

    assert sandbox.Sandbox().rendered(source, {}) == "<Namespace>" * 2


def test_a_list_that_grows_by_one_costs_what_it_grows_by():
    source = "{% set n = namespace(x=[]) %}{% for e in elements %}{% set n.x = n.x + [e] %}{% endfor %}{{ n.x|length }}"
    elements = [{"name": str(n), "fields": {"a": n}} for n in range(300)]

    assert sandbox.Sandbox().rendered(source, {"elements": elements}) == "300"


def test_a_template_is_read_once_whatever_asks_for_it(monkeypatch: pytest.MonkeyPatch):
    read: list[str] = []
    parse = sandbox.Sandbox._parse

    def counted(self: sandbox.Sandbox, source: str, *place: str | None) -> jinja2.nodes.Template:
        read.append(source)
        return parse(self, source, *place)

    monkeypatch.setattr(sandbox.Sandbox, "_parse", counted)
    once, wrong = "Read once. {{ text }}", "Read once, and wrong. {{ text"
    for source in (once, wrong) * 3:
        build.assembled([ITEM, MANY], shelf=shelf("active", {"Account/a1b2c3d4": source}))

    assert read == [once, wrong]


def test_reading_a_template_works_nothing_out():
    source = "{{ 'a'|indent(9999) }}" * 15 + "{{ ('a', 'b') }}"
    box = sandbox.Sandbox()

    first = box.rendered(source, {})
    left = box._here.left

    assert box.rendered(source, {}) == first
    assert box._here.left == left < sandbox.UNITS - 15 * 9999


def test_a_template_that_is_too_long_is_never_read_and_lint_can_say_so():
    fits = "x" * sandbox.LONGEST
    sources = {"Account/a1b2c3d4": fits + "x", "Account/ffffffff": fits}

    result = build.assembled([ITEM], shelf=shelf("active", sources))
    found = templates.too_long(sources)

    assert result.text == build.assembled([ITEM]).text
    assert f"more than {sandbox.LONGEST} characters" in result.mismatches[0].problem
    assert [(f.code, f.severity, f.where) for f in found] == [
        ("too_long", "warning", "templates/Account/a1b2c3d4.md.j2:1:1")
    ]


def test_each_thread_has_units_of_its_own():
    box, together = sandbox.Sandbox(), Barrier(2, timeout=30)
    text = "x" * (sandbox.UNITS * 4 // 5)
    given = {"text": text, "wait": together.wait}
    wait = "{% set w = wait() %}"

    with ThreadPoolExecutor(2) as pool:
        made = list(pool.map(lambda end: box.rendered(wait + "{{ text }}" + wait + end, given), ("a", "b")))
        double = pool.submit(box.rendered, "{{ text }}" + wait * 2 + "{{ text }}", given)
        together.wait()
        box.rendered("another begins", {})
        together.wait()

    assert made == [text + "a", text + "b"]
    assert isinstance(double.exception(), sandbox.TooMuch)


USUAL = (
    "{% for k, v in fields|dictsort if k != 'f1' %}{{ loop.index }}/{{ loop.length }} {{ k }}: {{ v }}\n{% endfor %}",
    "{% macro m(k, v) %}{{ k }}: {{ v|upper }}{% endmacro %}{% for k in fields %}{{ m(k, fields[k]) }}{% endfor %}",
    "{{ text|replace('Body', 'B')|indent(2)|truncate(30) }} {{ text[:4] ~ '!' ~ 3 }} {{ 'B' in text and 1 < 2 < 3 }}",
    "{{ fields.values()|map('upper')|select('ne', 'X')|join(', ') }} {{ fields|length * 2 + 7 % 4 }}",
    "{{ [fields]|map(attribute='f1')|list }} {{ [fields]|selectattr('f1')|list|length }}",
    "{{ [fields]|join('.', 'f2') }} {% set a, b = 1, 2 %}{{ b - a }} {{ 1700000000000 // 1000 }}",
    "{{ {'a': 1, 2: 'b', none: 3}[none] }} {{ (1, 'a', [2]) }}",
    "{{ text.rpartition('.')[0] }} {{ text.strip(' .')|trim('B') }} {{ fields['f' ~ 1] }} {{ 'f3' in fields.keys() }}",
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


def test_lint_tells_which_templates_are_too_long(tmp_path: Path):
    (tmp_path / "ukai.yaml").write_text("company: x\nlocal_principal: ann@example.com\n")
    (tmp_path / "templates" / "Account").mkdir(parents=True)
    (tmp_path / "templates" / "Account" / "a1b2c3d4.md.j2").write_text("x" * (sandbox.LONGEST + 1))
    (tmp_path / "templates.yaml").write_text("Account: {a1b2c3d4: active}\n")

    found = [f for f in loading.load(tmp_path).findings if f.where.startswith("templates/")]

    assert [(f.code, f.severity) for f in found] == [("too_long", "warning")]


TYPES = {"Account": "ffffffff", "Deal": "0a0a0a0a"}


def unused(sources: list[str], modes: str, types: dict[str, str] = TYPES) -> list[tuple[str, str, str]]:
    doc, _ = document.read(modes.encode(), name="templates.yaml")
    assert doc is not None
    made = templates.unused(templates.shelf(dict.fromkeys(sources, ""), doc.data), doc, types)
    assert {f.severity for f in made} <= {"warning"}
    return [(f.code, f.where, f.expected or f.hint) for f in made]


def test_templates_that_never_make_a_body_are_told_with_what_would():
    shadow = "Account: {ffffffff: shadow}"

    assert unused(["Account/ffffffff"], shadow) == []
    assert unused(["Acount/ffffffff"], "{}")[0] == (
        *("unknown_type", "templates/Acount/ffffffff.md.j2:1:1"),
        "did you mean 'Account'?",
    )
    assert unused([], "Daal: {0a0a0a0a: off}")[0][:2] == ("unknown_type", "templates.yaml:1:8")
    assert unused(["Account/a1b2c3d4"], "Account: {a1b2c3d4: active}") == [
        ("template_outdated", "templates/Account/a1b2c3d4.md.j2:1:1", "ffffffff")
    ]
    assert [found[:2] for found in unused([], shadow)] == [("template_missing", "templates.yaml:1:11")]
    assert unused(["Account/ffffffff"], "Deal: {}")[0][::2] == (
        *("template_off", "write Account: {ffffffff: shadow} in templates.yaml"),
    )
    assert unused(["Acount/ffffffff"], "Acount: {ffffffff: off}", {}) == []


def test_the_templates_of_a_workspace_come_with_their_modes(tmp_path: Path):
    (tmp_path / "ukai.yaml").write_text("company: x\nlocal_principal: ann@example.com\n")
    (tmp_path / "templates.yaml").write_text("Account: {a1b2c3d4: active}\n")
    (tmp_path / "templates" / "Account").mkdir(parents=True)
    (tmp_path / "templates" / "Account" / "a1b2c3d4.md.j2").write_text("Owned by {{ fields.owner }}.")

    found = loading.shelf(loading.load(tmp_path).catalog)

    assert "Owned by kim." in build.assembled([ITEM], shelf=found).text
