"""`init` and `new`: what they make lints clean, and nothing is ever overwritten (P1.10)."""

from __future__ import annotations

from pathlib import Path

import pytest

from ukai.app import info, init, lint, new


def made(tmp_path: Path) -> Path:
    init.init(tmp_path / "Our Company")
    return tmp_path / "Our Company"


def clean(root: Path) -> bool:
    return lint.lint(root).findings == ()


def test_a_new_workspace_lints_clean_and_denies_by_default(tmp_path: Path):
    root = made(tmp_path)

    assert clean(root)
    assert (root / "ukai.yaml").read_text().splitlines()[1] == "company: our-company"
    assert (root / ".gitignore").read_text() == ".ukai/\n"
    policies = (root / "access/policies.yaml").read_text()
    assert "allow: read" not in policies


def test_a_folder_that_holds_something_is_refused_and_force_changes_nothing_in_it(tmp_path: Path):
    root = made(tmp_path)
    (root / "models.yaml").unlink()
    (root / "ukai.yaml").write_text("company: mine\n")

    with pytest.raises(init.NotEmpty):
        init.init(root)
    result = init.init(root, add_missing=True)

    assert result.written == ("models.yaml",)
    assert (root / "ukai.yaml").read_text() == "company: mine\n"


def test_a_file_in_place_of_the_folder_is_refused(tmp_path: Path):
    (tmp_path / "x").write_text("")

    with pytest.raises(init.NotEmpty):
        init.init(tmp_path / "x", add_missing=True)


@pytest.mark.parametrize(
    ("kind", "agent", "path"),
    [
        ("agent", None, "agents/deal-coach/SKILL.md"),
        ("skill", None, "agents/helper/skills/deal-coach/SKILL.md"),
        ("report", "helper", "agents/helper/reports/deal-coach.md"),
        ("guardrail", None, "guardrails/deal-coach.md"),
        ("guardrail", "helper", "guardrails/deal-coach.md"),
    ],
)
def test_what_new_makes_lints_clean_and_is_not_made_twice(tmp_path: Path, kind: str, agent: str | None, path: str):
    root = made(tmp_path)

    result = new.new(root, kind, "deal-coach", agent=agent)

    assert result.written == (path,)
    assert clean(root)
    with pytest.raises(new.Exists):
        new.new(root, kind, "deal-coach", agent=agent)


@pytest.mark.parametrize("name", ["Deal Coach", "../x", "", "a--b", "a" * 65])
def test_a_name_that_cannot_be_one_makes_nothing(tmp_path: Path, name: str):
    root = made(tmp_path)

    with pytest.raises(new.BadName):
        new.new(root, "agent", name)


def test_a_skill_needs_an_agent_when_there_are_several(tmp_path: Path):
    root = made(tmp_path)
    new.new(root, "agent", "other")

    with pytest.raises(new.AgentNeeded, match="helper, other"):
        new.new(root, "skill", "map")
    with pytest.raises(info.UnknownAgent, match="Did you mean 'helper'"):
        new.new(root, "skill", "map", agent="helpr")


def test_new_works_without_the_role_names_in_models_yaml(tmp_path: Path):
    root = made(tmp_path)
    (root / "models.yaml").write_text("aliases: {}\n")
    (root / "agents/helper/SKILL.md").write_text(
        (root / "agents/helper/SKILL.md").read_text().replace("<medium-frontier-model>", "extractive")
    )

    new.new(root, "agent", "other")
    new.new(root, "guardrail", "rule")

    assert clean(root)


@pytest.mark.parametrize("name", ["", "empty.txt", "größe.bin"])
def test_lint_of_what_holds_nothing_of_ours_says_so(tmp_path: Path, name: str):
    if name:
        (tmp_path / name).write_bytes(b"\xff\0")

    (found,) = lint.lint(tmp_path / name).findings

    assert (found.code, found.where) == ("nothing_to_lint", f"{name or tmp_path.name}:1:1")
