"""The article's four files (P1.8) and skills that strangers wrote (P1.10), read where they lie."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests import shared
from tests.catalog import build
from ukai.app import lint

needs_samples = pytest.mark.skipif(not shared.SAMPLES.exists(), reason="needs the article's samples")


@needs_samples
def test_the_article_s_files_load_as_written_with_three_remarks_at_most_for_the_manifest():
    loaded = build.load(shared.SAMPLES)

    assert [f for f in loaded.findings if f.severity == "error"] == []
    assert loaded.files == 4
    of_manifest = [f for f in loaded.findings if f.where.startswith("agents/deal-coach/SKILL.md:")]
    assert len(of_manifest) <= 3
    assert all(f.hint and f.where.count(":") == 2 for f in loaded.findings)


@needs_samples
def test_the_article_s_agent_is_what_its_files_say():
    agent = build.load(shared.SAMPLES).catalog.agents["deal-coach"]

    assert agent.model == "<medium-frontier-model>"
    assert agent.max_iterations == 30
    assert agent.channels == ("slack", "cli")
    assert agent.scope_bound_retrieval == "strict"
    assert agent.field_policies == ("commercial_only",)
    assert list(agent.own_tools) == ["search_similar_deals"]
    assert agent.guardrails == ("no-discounting-recommendations",)
    assert agent.description == "You coach the seller who invoked you, on accounts in their own book."
    assert agent.prose.startswith("\n## Audience and scope\n")


@needs_samples
def test_names_that_need_a_workspace_are_one_note_a_file_outside_one():
    loaded = build.load(shared.SAMPLES)

    notes = [f for f in loaded.findings if f.code == "needs_workspace" and "SKILL.md" in f.where]
    assert [f.severity for f in notes] == ["note"]
    for name in ("coach", "<medium-frontier-model>", "commercial_only", "search_github_repos"):
        assert name in notes[0].message


@needs_samples
def test_a_report_without_an_identity_loads_with_a_warning_and_never_fires():
    loaded = build.load(shared.SAMPLES)

    assert build.only(loaded, "report_without_run_as").severity == "warning"
    assert loaded.catalog.reports["deal-coach"]["morning-brief"].fires is False


@needs_samples
def test_inside_a_workspace_the_same_names_are_errors_and_the_agent_still_loads(tmp_path: Path):
    shutil.copytree(shared.SAMPLES / "agents", tmp_path / "agents")
    build.tree(tmp_path, {"ukai.yaml": "company: x\n"})

    loaded = build.load(tmp_path)

    codes = {f.code for f in loaded.findings if f.severity == "error"}
    assert codes == {"unknown_family", "unknown_model", "unknown_field_policy", "unknown_tool", "unknown_index"}
    agent = loaded.catalog.agents["deal-coach"]
    assert set(agent.unresolved) == {
        "family:coach",
        "field_policy:commercial_only",
        "model:<medium-frontier-model>",
    }
    assert loaded.blocking("deal-coach")


@shared.needs("agent_files")
def test_skills_of_strangers_load_with_notes_only():
    report = lint.lint(shared.DATA / "agent_files")

    assert report.files == 9
    assert {f.severity for f in report.findings} <= {"note"}
    assert {f.received for f in report.findings} == {"argument-hint"}


@shared.needs("agent_files")
def test_skills_of_strangers_load_under_an_agent(tmp_path: Path):
    build.workspace(tmp_path, {"agents/coach/SKILL.md": build.agent()})
    shutil.copytree(shared.DATA / "agent_files" / "sales" / "skills", tmp_path / "agents" / "coach" / "skills")

    loaded = build.load(tmp_path)

    assert len(loaded.catalog.agents["coach"].skills) == 9
    assert [f for f in loaded.findings if f.severity != "note"] == []


@needs_samples
def test_lint_of_a_tree_is_a_document_with_findings_and_a_number_of_files():
    document = lint.lint(shared.SAMPLES).as_json()

    assert set(document) == {"findings", "files"}
    assert set(document["findings"][0]) == {"code", "severity", "where", "message", "expected", "received", "hint"}
    json.dumps(document)
