"""Two dialects of one manifest, and the way between them without loss (P1.10)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests import shared
from tests.catalog import build
from ukai.app import export, lint
from ukai.catalog import dialect, portable
from ukai.kit import document
from ukai.runtime.agent import CHANNELS

AGENT = "agents/coach/SKILL.md"

PORTABLE = """---
name: coach
description: Helps.
license: MIT
metadata:
  author: somebody
  ukai.model: <medium-frontier-model>
  ukai.max_iterations: "30"
  ukai.channels: slack cli
  ukai.acl_enforcement: "true"
  ukai.field_policy: commercial_only
  ukai.tools.exclude: query_usage
  ukai.budget.usd: "0.5"
  ukai.scope.globs: drive/My%20Docs/** crm/**
  ukai.output.lead: "heading: Next move"
---
Help.
"""


def test_a_portable_manifest_is_the_native_one(tmp_path: Path):
    loaded = build.load(build.workspace(tmp_path, {AGENT: PORTABLE}))

    agent = loaded.catalog.agents["coach"]
    assert loaded.findings == ()
    assert agent.max_iterations == 30
    assert agent.channels == ("slack", "cli")
    assert agent.tools == ("read_record", "search_records")
    assert agent.budget.usd == 0.5
    assert agent.scope is not None
    assert agent.scope.globs == ("drive/My Docs/**", "crm/**")
    assert agent.output.lead == "heading: Next move"
    assert agent.manifest.metadata == {"author": "somebody"}


@pytest.mark.parametrize("entry", ["a b", "a%20b", "%", "", "100 %", "\u00a0", "a\tb", "%C2%A0"])
def test_an_entry_of_a_list_may_hold_what_separates_entries(entry: str):
    flat = dialect.portable({"name": "x", "skills": [entry, "z"]})

    doc, _ = dialect.native(document.Document(name="x", data=flat))

    assert doc.data["skills"] == [entry, "z"]


@pytest.mark.parametrize(
    ("line", "code", "where"),
    [
        ('ukai.modle: "x"', "unknown_key", "5:3"),
        ('ukai.max_iterations: "many"', "wrong_type", "5:24"),
        ("ukai.max_iterations: 3", None, ""),
        ('ukai.acl_enforcement: "yes"', "wrong_type", "5:25"),
        ("ukai.channels: slak", "not_allowed", "5:18"),
        ("ukai.scope.globs: /crm", "invalid_glob", "5:21"),
    ],
)
def test_a_portable_field_is_checked_at_its_own_place(tmp_path: Path, line: str, code: str | None, where: str):
    text = f"---\nname: coach\ndescription: Helps.\nmetadata:\n  {line}\n---\nHelp.\n"

    loaded = build.load(build.workspace(tmp_path, {AGENT: text}))

    assert [(f.code, f.where) for f in loaded.findings] == ([(code, f"{AGENT}:{where}")] if code else [])


def test_a_field_in_both_dialects_is_an_error(tmp_path: Path):
    text = build.agent("coach", "model: extractive", "metadata: {ukai.model: extractive}")

    found = build.only(build.load(build.workspace(tmp_path, {AGENT: text})), "both_dialects")

    assert (found.severity, found.where) == ("error", f"{AGENT}:5:12")


# Export and back ----------------------------------------------------------------------------------------------------

# No control characters: a YAML file cannot hold them, so no manifest ever did.
WORDS = st.text(st.characters(exclude_categories=("Cs", "Cc", "Cn")), min_size=1, max_size=24)
SEGMENT = st.text(
    st.characters(codec="utf-8", exclude_characters="/*?[]{}\\\0", exclude_categories=("Cs", "Cc")),
    min_size=1,
    max_size=8,
)
GLOBS = st.lists(st.builds(lambda a, b: f"{a}/{b}", SEGMENT, SEGMENT | st.just("**") | st.just("*")), max_size=3)
AMOUNT = st.floats(min_value=1e-6, max_value=1e6, allow_nan=False) | st.integers(1, 10**6)


def optional(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.none() | values


def some(**parts: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """A mapping with any of the parts."""
    return st.fixed_dictionaries({}, optional=parts)


MANIFESTS = st.fixed_dictionaries(
    {"name": st.just("coach")},
    optional={
        "description": WORDS.filter(str.strip),
        "model": WORDS,
        "max_iterations": st.integers(1, 1000),
        "channels": st.lists(st.sampled_from(CHANNELS), unique=True),
        "acl_enforcement": st.booleans(),
        "family": WORDS,
        "scope_bound_retrieval": st.sampled_from(["strict", "off"]),
        "field_policy": WORDS,
        "tools": some(include=GLOBS, exclude=GLOBS),
        "budget": some(tokens=st.integers(1, 10**9), usd=AMOUNT, seconds=AMOUNT),
        "scope": some(globs=GLOBS, exclude=GLOBS, budget_tokens=st.integers(1, 50_000)),
        "skills": st.lists(WORDS, max_size=3, unique=True),
        "output": some(lead=st.just("first_paragraph") | WORDS.filter(str.strip).map(lambda w: f"heading: {w}")),
        "license": WORDS,
        "compatibility": WORDS,
        "metadata": st.dictionaries(WORDS.filter(lambda w: not w.startswith("ukai.")), WORDS, max_size=2),
        "allowed-tools": WORDS,
    },
)
BODIES = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0\r"), max_size=80)


@given(MANIFESTS, BODIES)
@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_was_exported_reads_back_as_the_same_agent(
    tmp_path_factory: pytest.TempPathFactory, manifest: dict[str, Any], body: str
):
    root = build.workspace(tmp_path_factory.mktemp("native"), {AGENT: f"---\n{json.dumps(manifest)}\n---\n{body}"})
    before = build.load(root).catalog.agents["coach"]

    text = export.export(root, "coach").manifest
    again = build.load(build.workspace(tmp_path_factory.mktemp("portable"), {AGENT: text})).catalog.agents["coach"]

    def resolved(agent: Any) -> dict[str, Any]:
        return {k: v for k, v in vars(agent).items() if k != "manifest"}

    assert resolved(again) == resolved(before)
    assert again.prose == body
    doc, findings = document.read_front_matter(text.encode(), name="SKILL.md")
    assert findings == []
    assert doc is not None
    rules = [f for f in portable.check(doc, folder="coach") if f.severity == "error"]
    assert [f.message for f in rules if "too long" not in f.message] == []


@given(MANIFESTS)
@settings(max_examples=200, deadline=None)
def test_every_native_field_has_one_portable_form(manifest: dict[str, Any]):
    flat = dialect.portable(manifest)

    assert set(flat) <= set(dialect.OPEN_KEYS)
    assert all(isinstance(v, str) for v in flat.get("metadata", {}).values())
    doc, findings = dialect.native(document.Document(name="x", data=flat))
    assert findings == []
    written = {k: v for k, v in manifest.items() if v != {} or k == "scope"}
    back = {k: v for k, v in doc.data.items() if v != {}}
    if manifest.get("scope") == {} or ("scope" in written and "globs" not in written["scope"]):
        written["scope"] = {**written["scope"], "globs": []}
    assert back == written


@pytest.mark.skipif(not shared.SAMPLES.exists(), reason="needs the article's samples")
def test_the_article_s_agent_exported_keeps_the_six_key_rules(tmp_path: Path):
    raw = (shared.SAMPLES / AGENT.replace("coach", "deal-coach")).read_bytes()
    tools = (shared.SAMPLES / "agents/deal-coach/tools.py").read_bytes()
    build.workspace(tmp_path, {"agents/deal-coach/SKILL.md": raw, "agents/deal-coach/tools.py": tools})

    exported = export.export(tmp_path, "deal-coach")
    written = export.write(exported, tmp_path / "out")

    assert [f for f in exported.findings if f.severity == "error"] == []
    assert exported.files["tools.py"] == tools
    assert {p.name for p in written} == {"SKILL.md", "tools.py"}
    with pytest.raises(export.NotEmpty):
        export.write(exported, tmp_path / "out")


def test_skills_of_strangers_are_exported_as_they_are_and_ours_in_the_portable_form(tmp_path: Path):
    stranger = build.skill("theirs", "argument-hint: <x>")
    ours = build.skill("ours", "scope: {globs: ['crm/**']}")
    build.workspace(
        tmp_path,
        {
            AGENT: build.agent(),
            "agents/coach/skills/theirs/SKILL.md": stranger,
            "agents/coach/skills/ours/SKILL.md": ours,
        },
    )

    files = export.export(tmp_path, "coach").files

    assert files["skills/theirs/SKILL.md"].decode() == stranger
    assert "ukai.scope.globs" in files["skills/ours/SKILL.md"].decode()


def test_an_agent_that_is_not_there_is_told_with_a_suggestion(tmp_path: Path):
    build.workspace(tmp_path, {"agents/deal-coach/SKILL.md": build.agent("deal-coach"), AGENT: "---\nname: [\n"})

    with pytest.raises(Exception, match=r"no agent named 'deal-couch'\. Did you mean 'deal-coach'\?"):
        export.export(tmp_path, "deal-couch")
    with pytest.raises(Exception, match=r"the agent 'coach' cannot be loaded: agents/coach/SKILL\.md"):
        export.export(tmp_path, "coach")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("---\nname: map\ndescription: Draws.\n---\nx\n", []),
        ("---\nname: Map\ndescription: Draws.\n---\nx\n", ["2:7"]),
        ("---\nname: other\ndescription: Draws.\n---\nx\n", ["2:7"]),
        ("---\nname: map\n---\nx\n", ["2:1"]),
        (f"---\nname: map\ndescription: {'x' * 1025}\n---\nx\n", ["3:14"]),
        (f"---\nname: map\ndescription: a\ncompatibility: {'x' * 501}\n---\nx\n", ["4:16"]),
        ("---\nname: map\ndescription: a\nallowed-tools: [a]\n---\nx\n", ["4:16"]),
        ("---\nname: map\ndescription: a\nmetadata: {a: 1, b: {c: d}}\n---\nx\n", ["4:15", "4:21"]),
        ("---\nname: map\ndescription: a\nmetadata: x\n---\nx\n", ["4:11"]),
        ("---\nname: map\ndescription: a\nargument-hint: x\n---\nx\n", ["4:1"]),
        ("---\nname: map\ndescription: a\n---\n" + "x\n" * 501, ["505:1"]),
    ],
)
def test_lint_portable_tells_what_the_open_format_forbids(tmp_path: Path, text: str, told: list[str]):
    build.tree(tmp_path, {"map/SKILL.md": text})

    report = lint.lint(tmp_path, keep_portable=True)

    assert [f.where for f in report.findings if f.code == "not_portable"] == [f"map/SKILL.md:{p}" for p in told]
