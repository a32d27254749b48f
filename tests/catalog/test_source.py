"""`tools.py` understood from its text, and loaded for serving (P1.7)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.catalog import build
from ukai.catalog import source, tools

SCHEMA = '{"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]}'


def read(text: str):
    return source.read(text.encode(), name="tools.py")


def article(
    function: str = "def find(q: str) -> str:\n    return q\n",
    name: str = "find",
    description: str = "Finds.",
    schema: str = SCHEMA,
    handlers: str = '{"find": find}',
    more: str = "",
) -> str:
    entry = f'{{"name": "{name}", "description": "{description}", "input_schema": {schema}{more}}}'
    return f"{function}\nTOOLS = [{entry}]\n\nHANDLERS = {handlers}\n"


def test_the_article_s_form_is_read():
    declared, findings = read(article(more=', "reads": True, "target_args": ["q"], "empty_when": "hits == []"'))

    assert findings == []
    spec = declared.specs["find"]
    assert (spec.description, spec.reads, spec.target_args, spec.empty_when) == ("Finds.", True, ("q",), "hits == []")
    assert declared.places == {"find": "tools.py:4:10"}


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (article(handlers='{¦"fnd": find}'), "tool_not_declared"),
        (article(handlers="{}").replace("TOOLS = [", "TOOLS = [¦"), "handler_missing"),
        (article(handlers='{"find": ¦fnd}'), "unknown_name"),
        (article().replace('"Finds."', '¦" "'), "description_missing"),
        (article(schema='{"type": ¦"array"}'), "tool_schema"),
        (article(schema='{"type": "object", "properties": ¦[]}'), "tool_schema"),
        (article(schema='{"type": "object", "properties": {"q": {"type": ¦"strin"}}}'), "tool_schema"),
        (article(schema='{"type": "object", "properties": {}, "required": [¦"q"]}'), "tool_schema"),
        (article().replace('"name": "find"', '"name": ¦"find it"'), "invalid_name"),
        (article(more=', ¦"reds": True'), "unknown_key"),
        (article(more=', "reads": ¦"yes"'), "wrong_type"),
        (article(more=', "credential": ¦"usr"'), "not_allowed"),
        (article(more=', "target_args": [¦"x"]'), "tool_parameter"),
        (article(function="¦def find(query: str) -> str:\n    return query\n"), "tool_parameter"),
        (article(function="def find(q: str, ¦limit: int) -> str:\n    return q\n"), "tool_parameter"),
        (article(function="def find(¦q: str, /) -> str:\n    return q\n"), "tool_parameter"),
        (article(function="def find(*¦q: str) -> str:\n    return ''\n"), "tool_parameter"),
        ("TOOLS = ¦make()\n", "not_static"),
        ("TOOLS = [¦make()]\n", "not_static"),
        ("TOOLS = []\n¦TOOLS.append({})\n", "not_static"),
        ("TOOLS = [{**¦base}]\n", "not_static"),
        ("TOOLS = [{'name': ¦f'{x}'}]\n", "not_static"),
        ("TOOLS = []\nHANDLERS = ¦make()\n", "not_static"),
        ("TOOLS = [¦find]\n", "unknown_name"),
        ("HANDLERS = ¦{}\n", "tool_not_declared"),
        ("def find(¦q):\n    '''Finds.'''\n", "tool_parameter"),
        ("def find(¦q: Query):\n    '''Finds.'''\n", "tool_parameter"),
        ("¦def find(q: str):\n    return q\n", "description_missing"),
        ("def find¦(:\n", "python_syntax"),
        ("¦" + "x = 1\n" * 60_000, "too_large"),
    ],
)
def test_what_is_wrong_with_tools_is_told_at_its_place(text: str, code: str):
    before, _, after = text.partition("¦")  # which marks the place

    _, findings = read(before + after)

    line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
    if code == "python_syntax":
        assert [f.code for f in findings] == [code]
    else:
        assert (code, f"tools.py:{line}:{column}") in [(f.code, f.where) for f in findings]


@pytest.mark.parametrize("text", ["\tx = 1\n  y = 2\n", "x = " + "(" * 300 + ")" * 300, "x = 'a\n", "\x0c\x00"])
def test_what_is_no_python_is_one_finding(text: str):
    _, findings = read(text)

    assert len(findings) == 1
    assert findings[0].code in ("python_syntax", "encoding")


@pytest.mark.parametrize("terms", [200, 700, 900, 2_000, 20_000])
@pytest.mark.parametrize(
    ("opening", "term", "end"),
    [
        ("def f(a: int", " | int", "):\n    'Finds.'\n"),
        ("TOOLS = ['a'", " + 'a'", "]\n"),
        ("TOOLS = f", "(1)", "\n"),
        ("x = ", "-", "1\n"),
    ],
)
def test_code_that_is_nested_deeply_keeps_nobody_from_linting(opening: str, term: str, end: str, terms: int):
    _, findings = read(opening + term * terms + end)

    assert all(f.where.startswith("tools.py:") for f in findings)


def test_plain_functions_are_tools_by_their_annotations_and_docstring():
    declared, findings = read(
        "from typing import Annotated, Literal, Optional\n\n"
        "async def find(q: str, kind: Literal['won', 'lost'] = 'won', limit: int | None = None,\n"
        "         tags: list[str] = (), more: dict[str, float] | None = None, *,\n"
        "         exact: Annotated[bool, 'Whole words'] = False, since: 'Optional[date]' = None) -> str:\n"
        "    '''Finds.\n\n    Slowly.\n    '''\n\n"
        "def _helper(x):\n    return x\n"
    )

    assert findings == []
    assert list(declared.specs) == ["find"]
    assert declared.specs["find"].description == "Finds.\n\nSlowly."
    assert declared.specs["find"].input_schema == {
        "type": "object",
        "properties": {
            "q": {"type": "string"},
            "kind": {"type": "string", "enum": ["won", "lost"], "default": "won"},
            "limit": {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None},
            "tags": {"type": "array", "items": {"type": "string"}},
            "more": {
                "anyOf": [{"type": "object", "additionalProperties": {"type": "number"}}, {"type": "null"}],
                "default": None,
            },
            "exact": {"type": "boolean", "description": "Whole words", "default": False},
            "since": {"anyOf": [{"type": "string", "format": "date"}, {"type": "null"}], "default": None},
        },
        "required": ["q"],
        "additionalProperties": False,
    }


def test_declarations_may_stand_in_names_of_their_own_and_in_several_lists():
    declared, findings = read(
        "def find(q: str) -> str:\n    '''Finds.'''\n\n"
        "DESCRIPTION = 'Finds ' + 'all.'\n"
        f"ONE = {{'name': 'one', 'description': DESCRIPTION, 'input_schema': {SCHEMA}}}\n"
        "TOOLS = [ONE]\nTOOLS += [find]\nHANDLERS = {'one': find}\n"
    )

    assert findings == []
    assert {n: s.description for n, s in declared.specs.items()} == {"one": "Finds all.", "find": "Finds."}


def test_reading_executes_nothing(tmp_path: Path):
    marker = tmp_path / "ran"

    read(f"open({str(marker)!r}, 'w')\nimport os\nos.abort()\n" + article())

    assert not marker.exists()


@given(st.text(alphabet="TOOLSHANDERS=[]{}()'\": \ndef_fxyz,*/|.0123", max_size=200) | st.binary(max_size=100))
@settings(max_examples=300, deadline=None)
def test_any_text_is_read_or_refused(text: str | bytes):
    raw = text if isinstance(text, bytes) else text.encode()

    _, findings = source.read(raw, name="tools.py")

    assert all(f.where.startswith("tools.py:") for f in findings)


# For serving ------------------------------------------------------------------------------------------------------


class Index:
    def query(self, **arguments: object) -> dict[str, object]:
        return {"matches": [{"metadata": {"summary": "s"}, "score": 0.876}]}


GIVEN = tools.Given(embed=lambda text: [float(len(text))], get_index=lambda name: Index())


def load(tmp_path: Path, text: str):
    path = tmp_path / "tools.py"
    path.write_text(text)
    return tools.load(path, name="agents/a/tools.py", given=GIVEN)


def test_loaded_tools_find_json_embed_and_get_index_without_an_import(tmp_path: Path):
    toolset, findings = load(
        tmp_path,
        'def find(q: str) -> str:\n    """Finds."""\n'
        '    return json.dumps(get_index("x").query(vector=embed(q), top_k=1)["matches"])\n',
    )

    assert findings == []
    assert toolset is not None
    assert json.loads(toolset.handlers["find"](q="hello")) == [{"metadata": {"summary": "s"}, "score": 0.876}]


@pytest.mark.parametrize(
    ("text", "where", "told"),
    [
        ("x = 1\nprint(1 / 0)\n", "2:7", "ZeroDivisionError"),
        ("def _f():\n    raise ValueError('no')\n_f()\n", "2:5", "ValueError: no"),
        ("import sys\nsys.exit(3)\n", "2:1", "SystemExit"),
        ("import nothing_of_this_name\n", "1:1", "ModuleNotFoundError"),
    ],
)
def test_what_a_file_raises_is_a_finding_at_its_line(tmp_path: Path, text: str, where: str, told: str):
    toolset, findings = load(tmp_path, text)

    assert toolset is None
    assert build.told(findings) == [("error", "tools_failed", f"agents/a/tools.py:{where}")]
    assert told in findings[0].message


def test_a_dataclass_in_a_file_of_tools_works(tmp_path: Path):
    toolset, findings = load(
        tmp_path,
        "from __future__ import annotations\nfrom dataclasses import dataclass\n@dataclass\nclass Hit:\n    name: str\n"
        'def find(q: str) -> str:\n    """Finds."""\n    return Hit(q).name\n',
    )

    assert findings == []
    assert toolset is not None
    assert toolset.handlers["find"](q="a") == "a"
