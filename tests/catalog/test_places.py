"""A glob that can cover nothing is told where it stands; one that may cover something never is (C8)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.surfaces import world
from ukai.app import lint
from ukai.catalog import places


@pytest.mark.parametrize(
    ("pattern", "place", "may"),
    [
        ("crm/**", "crm/{account}/{key}", True),
        ("crm", "crm/{key}", False),
        ("Crm/**", "crm/{key}", False),
        ("c*/a?c/**", "crm/abc/{key}", True),
        ("c*/a?c/**", "crm/abbc/{key}", False),
        ("support/*", "{team}/tickets", True),
        ("**/tickets", "crm/{key}", True),
        ("crm/notes", "crm/notes", True),
    ],
)
def test_whether_a_glob_may_cover_what_a_type_has_a_place_for(pattern: str, place: str, may: bool):
    assert places.may_cover(pattern, place) is may


def test_lint_tells_a_glob_that_can_cover_nothing(tmp_path: Path):
    scope = "scope: {globs: ['review/Repo', 'Review/**', 'review/**', 'github/**']}\n---\nAnswer."
    skill = world.FILES["agents/helper/SKILL.md"].replace("---\nAnswer.", scope)

    report = lint.lint(world.written(tmp_path, {**world.FILES, "agents/helper/SKILL.md": skill}))

    assert [(f.code, f.received, f.hint) for f in report.findings] == [
        ("scope_covers_nothing", "review/Repo", "write 'review/Repo/**' for all that stands there"),
        ("scope_covers_nothing", "Review/**", "did you mean 'review'?"),
    ]
    assert not report.failed
