"""SKILL.md files of strangers as nested skills (P1.10)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.catalog import build

SKILL = "agents/coach/skills/map/SKILL.md"


def load(tmp_path: Path, text: str):
    return build.load(build.workspace(tmp_path, {"agents/coach/SKILL.md": build.agent(), SKILL: text}))


@pytest.mark.parametrize(
    ("line", "severity", "code"),
    [
        ("argument-hint: <x>", "note", "key_not_used"),
        ("user-invocable: true", "note", "key_not_used"),
        ("hooks: {PreToolUse: [{matcher: Bash}]}", "note", "key_not_used"),
        ("model: opus", "note", "key_not_used"),
        ("invented-by-them: [1, 2]", "note", "key_not_used"),
        ("metadata: {version: 1.0, nested: {a: b}}", "note", "value_not_used"),
        ("metadata: [a, b]", "note", "value_not_used"),
        ("license: {name: MIT}", "note", "value_not_used"),
        ("allowed-tools: Read, Write, Bash(git:*)", "note", "tool_not_used"),
        ("allowed-tools: [mcp__crm__find]", "note", "tool_not_used"),
    ],
)
def test_what_goes_beyond_our_keys_is_a_note_and_the_skill_loads(tmp_path: Path, line: str, severity: str, code: str):
    loaded = load(tmp_path, build.skill("map", line))

    assert {(f.severity, f.code) for f in loaded.findings} == {(severity, code)}
    assert list(loaded.catalog.agents["coach"].skills) == ["map"]


@pytest.mark.parametrize("key", ["descriptoin", "licence", "allowed_tools", "metdata", "compatability"])
def test_a_key_that_was_probably_misspelt_is_an_error(tmp_path: Path, key: str):
    loaded = load(tmp_path, build.skill("map", f"{key}: x"))

    # Beside a description that is there, a second spelling of it may be the stranger's own.
    expected = "key_not_used" if key == "descriptoin" else "unknown_key"
    assert [f.code for f in loaded.findings] == [expected]


def test_a_misspelt_description_is_an_error_with_its_fix(tmp_path: Path):
    found = build.only(load(tmp_path, "---\nname: map\ndescriptoin: Draws.\n---\nDraw.\n"), "unknown_key")

    assert (found.where, found.hint) == (f"{SKILL}:3:1", "did you mean 'description'?")


@pytest.mark.parametrize(
    ("text", "codes", "description"),
    [
        (
            "# Map\n\nDraw who decides. Then more.\n",
            ["front_matter_missing", "name_missing", "description_missing"],
            "Draw who decides.",
        ),
        ("---\nname: map\n---\n\n# Map\n\n- a\n\nDraw it\nnow! And go.\n", ["description_missing"], "Draw it now!"),
        ("---\nname: other\ndescription: x\n---\n", ["name_mismatch"], "x"),
        ("---\ndescription: x\n---\n", ["name_missing"], "x"),
    ],
)
def test_what_a_skill_leaves_out_stands_in_with_a_warning(
    tmp_path: Path, text: str, codes: list[str], description: str
):
    loaded = load(tmp_path, text)

    assert sorted(f.code for f in loaded.findings) == sorted(codes)
    assert {f.severity for f in loaded.findings} == {"warning"}
    skill = loaded.catalog.agents["coach"].skills["map"]
    assert (skill.name, skill.description) == ("map", description)


def test_a_skill_may_name_a_scope_in_either_dialect(tmp_path: Path):
    loaded = load(tmp_path, build.skill("map", 'metadata: {ukai.scope.globs: "crm/** mail/**"}'))

    scope = loaded.catalog.agents["coach"].skills["map"].scope
    assert loaded.findings == ()
    assert scope is not None
    assert scope.globs == ("crm/**", "mail/**")


def test_an_agent_takes_the_skills_it_names(tmp_path: Path):
    build.workspace(
        tmp_path,
        {
            "agents/coach/SKILL.md": build.agent("coach", "skills: [map]"),
            SKILL: build.skill(),
            "agents/coach/skills/plan/SKILL.md": build.skill("plan"),
        },
    )

    assert list(build.load(tmp_path).catalog.agents["coach"].skills) == ["map"]


def test_in_a_tree_files_are_known_by_their_place_their_name_and_their_keys(tmp_path: Path):
    build.tree(
        tmp_path,
        {
            "pack/one/SKILL.md": build.skill("one"),
            ".claude/skills/two/SKILL.md": build.skill("two"),
            "pack/three/SKILL.md": build.agent("three", "max_iterations: 3"),
            "pack/four/SKILL.md": build.agent("four", 'metadata: {ukai.family: "x"}'),
            "rules/GUARDRAIL.md": build.guardrail(),
            "rules/loose.md": build.guardrail("loose"),
            "later/brief.md": build.report(),
            "notes.md": "---\ntitle: Mine\n---\nText\n",
            "README.md": "# Read\n",
            "guardrails/README.md": "# Read\n",
            "node_modules/x/SKILL.md": "broken",
        },
    )

    loaded = build.load(tmp_path)

    assert [f for f in loaded.findings if f.severity == "error"] == []
    assert loaded.files == 7
    assert set(loaded.catalog.agents) == {"three", "four"}
    assert set(loaded.catalog.guardrails) == {"rule", "loose"}
    assert set(loaded.catalog.reports[""]) == {"brief"}
