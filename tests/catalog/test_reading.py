"""Malformed and hostile files end in a finding, never in a traceback and never in a hang (X3)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.catalog import build
from ukai.catalog import walk

AGENT = "agents/coach/SKILL.md"


def findings(root: Path):
    return build.told(build.load(root).findings)


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        (b"---\nname: coach\nmodel: [\n---\n", "yaml_syntax"),
        (b"---\nname: coach\nname: coach\n---\n", "duplicate_key"),
        (build.agent().encode("utf-16"), "encoding"),
        (b"---\nname: \xff\n---\n", "encoding"),
        (b"---\nname: coach\nfoo: *a\n---\n", "yaml_syntax"),
        (b"no front matter", "front_matter_missing"),
        (b"", "front_matter_missing"),
        (b"---\nname: coach\n", "front_matter_open"),
        (b"---\nname: coach\n---\n" + b"x" * (1 << 20), "too_large"),
        (b"---\nname: 7\n---\n", "wrong_type"),
        (b"---\ndescription: x\n---\n", "missing_key"),
        (b"---\nname: Coach!\n---\n", "invalid_name"),
    ],
)
def test_a_manifest_that_cannot_be_read_is_a_finding_and_no_agent(tmp_path: Path, raw: bytes, code: str):
    build.workspace(tmp_path, {AGENT: raw})

    loaded = build.load(tmp_path)

    assert code in [f.code for f in loaded.findings if f.severity == "error"]
    assert all(f.where.startswith(AGENT) for f in loaded.findings)
    assert "coach" not in loaded.catalog.agents
    assert loaded.blocking("coach")


def test_a_byte_order_mark_and_other_line_ends_change_nothing(tmp_path: Path):
    text = build.agent(body="One.\n\nTwo.\n")
    build.workspace(tmp_path, {AGENT: b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode()})

    loaded = build.load(tmp_path)

    assert build.told(loaded.findings) == [("note", "byte_order_mark", f"{AGENT}:1:1")]
    assert loaded.catalog.agents["coach"].prose == "\nOne.\n\nTwo.\n"


def test_an_unknown_key_is_an_error_with_its_place_and_a_suggestion(tmp_path: Path):
    build.workspace(tmp_path, {AGENT: build.agent("coach", "max_iteration: 3")})

    found = build.only(build.load(tmp_path), "unknown_key")

    assert (found.where, found.hint) == (f"{AGENT}:4:1", "did you mean 'max_iterations'?")


def test_links_out_of_the_workspace_are_not_followed(tmp_path: Path):
    outside = build.tree(tmp_path / "outside", {"SKILL.md": build.agent("spy")})
    root = build.workspace(tmp_path / "inside", {AGENT: build.agent()})
    (root / "agents" / "spy").symlink_to(outside)
    (root / "guardrails").mkdir()
    (root / "guardrails" / "x.md").symlink_to(outside / "SKILL.md")

    loaded = build.load(root)

    assert sorted(f.where for f in loaded.findings if f.code == "symlink_outside") == [
        "agents/spy:1:1",
        "guardrails/x.md:1:1",
    ]
    assert list(loaded.catalog.agents) == ["coach"]


def test_links_inside_the_workspace_are_followed(tmp_path: Path):
    build.workspace(tmp_path, {AGENT: build.agent(), "guardrails/real.md": build.guardrail("real")})
    (tmp_path / "agents" / "coach" / "skills").mkdir()
    build.tree(tmp_path, {"families/shared/skills/map/SKILL.md": build.skill()})
    (tmp_path / "agents" / "coach" / "skills" / "map").symlink_to(tmp_path / "families/shared/skills/map")

    loaded = build.load(tmp_path)

    assert list(loaded.catalog.agents["coach"].skills) == ["map"]


def test_loops_of_links_end(tmp_path: Path):
    build.workspace(tmp_path, {AGENT: build.agent()})
    for name in ("again", "and-again", "once-more"):
        (tmp_path / "agents" / "coach" / name).symlink_to(tmp_path / "agents")
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "a.py").symlink_to(tmp_path / "tools" / "b.py")
    (tmp_path / "tools" / "b.py").symlink_to(tmp_path / "tools" / "a.py")

    found = findings(tmp_path)

    loops = [where for _, code, where in found if code == "symlink_loop"]
    assert loops == [f"agents/coach/{n}:1:1" for n in ("again", "and-again", "once-more")]
    assert [code for _, code, _ in found].count("symlink_broken") == 2


def test_a_pipe_in_place_of_a_file_keeps_nobody_waiting(tmp_path: Path):
    build.workspace(tmp_path, {"agents/coach/reports/x.txt": ""})
    os.mkfifo(tmp_path / "agents" / "coach" / "SKILL.md")

    assert ("error", "not_a_file", f"{AGENT}:1:1") in findings(tmp_path)


def test_a_folder_in_place_of_a_manifest_is_told(tmp_path: Path):
    build.workspace(tmp_path, {"agents/coach/SKILL.md/x.md": "hello"})

    assert ("error", "not_a_file", f"{AGENT}:1:1") in findings(tmp_path)


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_file_without_permission_is_a_finding(tmp_path: Path):
    build.workspace(tmp_path, {AGENT: build.agent()})
    (tmp_path / AGENT).chmod(0)

    assert ("error", "unreadable", f"{AGENT}:1:1") in findings(tmp_path)


def test_what_the_disk_refuses_is_a_finding(tmp_path: Path):
    raw, found = walk.read(walk.File(path="a/SKILL.md", real=tmp_path / "gone"))

    assert raw is None
    assert build.told(found) == [("error", "unreadable", "a/SKILL.md:1:1")]


def test_an_agent_s_folder_without_a_manifest_is_told_with_the_file_that_was_meant(tmp_path: Path):
    build.workspace(tmp_path, {"agents/coach/skill.md": build.agent(), "families/calm/x.txt": ""})

    loaded = build.load(tmp_path)

    assert {f.where: f.hint for f in loaded.findings if f.code == "manifest_missing"} == {
        "agents/coach:1:1": "rename skill.md to SKILL.md",
        "families/calm:1:1": "add FAMILY.md, or remove the folder",
    }


def test_a_manifest_in_another_folder_than_its_name_is_an_error_with_the_fix(tmp_path: Path):
    build.workspace(tmp_path, {AGENT: build.agent("coch")})

    found = build.only(build.load(tmp_path), "name_mismatch")

    assert (found.where, found.expected) == (f"{AGENT}:2:7", "coach")
    assert found.hint == "write `name: coach`, or rename the folder"


def test_names_that_differ_in_case_only_are_one_file_on_some_machines(tmp_path: Path):
    build.workspace(tmp_path, {"guardrails/Rule.md": build.guardrail(), "guardrails/rule.md": build.guardrail()})

    assert ("error", "same_but_for_case", "guardrails/rule.md:1:1") in findings(tmp_path)


def test_files_with_another_ending_than_is_read_are_told(tmp_path: Path):
    build.workspace(tmp_path, {"domains/crm.yml": "domain: crm\n", "agents/coach/SKILL.md": build.agent()})

    found = build.only(build.load(tmp_path), "file_not_read")

    assert (found.severity, found.where, found.expected) == ("warning", "domains/crm.yml:1:1", "domains/crm.yaml")


def test_a_guardrail_without_front_matter_is_an_error_and_a_readme_is_not(tmp_path: Path):
    build.workspace(
        tmp_path,
        {AGENT: build.agent(), "guardrails/rule.md": "Never discount.\n", "guardrails/README.md": "# Our rules\n"},
    )

    assert findings(tmp_path) == [("error", "front_matter_missing", "guardrails/rule.md:1:1")]


def test_a_guardrail_that_cannot_be_read_keeps_every_agent_from_being_served(tmp_path: Path):
    build.workspace(
        tmp_path,
        {AGENT: build.agent(), "agents/other/SKILL.md": build.agent("other"), "guardrails/rule.md": "---\nid: x\n"},
    )

    loaded = build.load(tmp_path)

    assert loaded.blocking("coach")
    assert loaded.blocking("other")


def test_one_team_s_mistake_keeps_no_other_agent_from_being_served(tmp_path: Path):
    build.workspace(tmp_path, {AGENT: "---\nname: [\n---\n", "agents/other/SKILL.md": build.agent("other")})

    loaded = build.load(tmp_path)

    assert loaded.blocking("coach")
    assert loaded.blocking("other") == []


def test_everything_is_told_at_once_in_the_order_of_files_and_lines(tmp_path: Path):
    build.workspace(
        tmp_path,
        {
            AGENT: build.agent("coach", "chanels: [cli]", "max_iterations: many", "budget: {tokens: -1}"),
            "guardrails/rule.md": build.guardrail("rule", "stage: outptu").replace("stage: output\n", "", 1),
            "access/groups.yml": "",
        },
    )

    found = findings(tmp_path)

    assert [(code, where) for severity, code, where in found if severity == "error"] == [
        ("unknown_key", f"{AGENT}:4:1"),
        ("wrong_type", f"{AGENT}:5:17"),
        ("invalid_value", f"{AGENT}:6:18"),
        ("not_allowed", "guardrails/rule.md:5:8"),
    ]


def test_only_one_agent_s_folder_is_read_when_one_is_served(tmp_path: Path):
    build.workspace(
        tmp_path,
        {
            AGENT: build.agent(),
            "agents/other/SKILL.md": "---\nname: [\n---\n",
            "guardrails/rule.md": build.guardrail("rule", "applies_to: [other, coach]"),
        },
    )

    loaded = build.load(tmp_path, only="coach")

    assert list(loaded.catalog.agents) == ["coach"]
    assert loaded.findings == ()
    assert loaded.catalog.agents["coach"].guardrails == ("rule",)


def test_the_catalog_cannot_be_changed(tmp_path: Path):
    catalog = build.load(build.workspace(tmp_path, {AGENT: build.agent()})).catalog

    with pytest.raises(TypeError):
        catalog.agents["x"] = catalog.agents["coach"]  # type: ignore[index]


# Any bytes --------------------------------------------------------------------------------------------------------

SEEDS = [
    build.agent("coach", "tools: {exclude: [a, 'b*']}", "scope: {globs: ['x/**']}", "metadata: {ukai.skills: a}"),
    build.guardrail(),
    build.report(),
    build.skill(),
    'TOOLS = [{"name": "x", "description": "y", "input_schema": {"type": "object"}}]\nHANDLERS = {"x": print}\n',
    build.COMMERCIAL,
    "company: x\nindexes: {a: {type: T, text: [b]}}\nowners: {agents: {coach: '@a'}}\n",
]
PLACES = [
    AGENT,
    "agents/coach/tools.py",
    "agents/coach/reports/brief.md",
    "agents/coach/skills/map/SKILL.md",
    "guardrails/rule.md",
    "families/f/FAMILY.md",
    "tools/t.py",
    "access/policies.yaml",
    "access/groups.yaml",
    "access/budgets.yaml",
    "access/field_policies/p.yaml",
    "domains/d.yaml",
    "models.yaml",
    "ukai.yaml",
]


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    raw = bytearray(draw(st.sampled_from(SEEDS)).encode())
    for _ in range(draw(st.integers(0, 6))):
        at = draw(st.integers(0, max(len(raw) - 1, 0)))
        kind = draw(st.sampled_from(("replace", "delete", "insert", "double")))
        if kind == "replace" and raw:
            raw[at] = draw(st.integers(0, 255))
        elif kind == "delete":
            del raw[at : at + draw(st.integers(1, 12))]
        elif kind == "insert":
            raw[at:at] = draw(st.sampled_from([b"\n", b"---\n", b"\t", b": ", b"- ", b"[", b"{", b"\xff", b"\0", b"*"]))
        else:
            raw[at:at] = raw[at : at + 30]
    return bytes(raw)


@given(st.dictionaries(st.sampled_from(PLACES), mutated() | st.binary(max_size=200), min_size=1, max_size=4))
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_bytes_at_any_place_end_in_findings(tmp_path_factory: pytest.TempPathFactory, files: dict[str, bytes]):
    root = build.workspace(tmp_path_factory.mktemp("any"), {AGENT: build.agent(), **files})

    loaded = build.load(root)

    for finding in loaded.findings:
        path, line, column = finding.where.rsplit(":", 2)
        assert path
        assert int(line) >= 1
        assert int(column) >= 1
        assert finding.code
        assert finding.message
        "".join(finding.as_json().values()).encode()


@given(st.binary(max_size=300) | mutated())
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_bytes_in_any_tree_end_in_findings(tmp_path_factory: pytest.TempPathFactory, raw: bytes):
    root = tmp_path_factory.mktemp("tree")
    build.tree(root, {"a/SKILL.md": raw, "b/notes.md": raw, "guardrails/x.md": raw, "agents/c/SKILL.md": raw})

    build.load(root)
