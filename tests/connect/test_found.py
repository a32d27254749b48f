"""Which files a pattern of a connector names (W3, X3)."""

from __future__ import annotations

from pathlib import Path

import pytest

from ukai.connect import files
from ukai.connect.source import Site


@pytest.fixture
def site(tmp_path: Path) -> Site:
    for name in ("crm/a.csv", "crm/b.csv", "crm/deep/c.csv", ".hidden/d.csv", ".ukai/secret.csv"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x\n1\n")
    return Site(root=tmp_path)


def test_a_pattern_names_files_in_order(site: Site):
    assert files.found(site, "crm/*.csv") == ["crm/a.csv", "crm/b.csv"]
    assert files.found(site, "**/*.csv") == ["crm/a.csv", "crm/b.csv", "crm/deep/c.csv"]
    assert files.found(site, str(site.root / "crm" / "a*.csv")) == ["crm/a.csv"]


def test_folders_that_lead_in_circles_are_not_walked(site: Site):
    for name in ("one", "two"):
        (site.root / "crm" / name).symlink_to(site.root, target_is_directory=True)

    assert files.found(site, "**/*.csv") == ["crm/a.csv", "crm/b.csv", "crm/deep/c.csv"]


def test_what_is_hidden_is_found_by_its_name_and_the_own_keys_never(site: Site):
    assert files.found(site, ".hidden/*.csv") == [".hidden/d.csv"]
    assert files.found(site, ".ukai/*.csv") == []


@pytest.mark.parametrize("pattern", ["", "**x/y", "no/such", "crm"])
def test_a_pattern_that_names_no_file_finds_none(site: Site, pattern: str):
    assert files.found(site, pattern) == []
