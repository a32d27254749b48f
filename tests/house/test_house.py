from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from tests.house import picture

ROOT = Path(__file__).parents[2]
MODULES = sorted((ROOT / "src").rglob("*.py"))


def test_the_picture_of_the_house_shows_the_house():
    assert picture.PICTURE.read_text(encoding="utf-8") == picture.draw(), "run `make picture`"


@pytest.mark.parametrize("module", MODULES, ids=lambda p: str(p.relative_to(ROOT)))
def test_every_module_says_what_it_is_for(module: Path):
    assert ast.get_docstring(ast.parse(module.read_text(encoding="utf-8")))


def test_the_storeys_are_kept():
    lint = Path(sys.executable).parent / "lint-imports"
    result = subprocess.run([str(lint), "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False)

    assert result.returncode == 0, result.stdout


def test_an_import_that_points_up_is_found(tmp_path: Path):
    """The floor plan on a house in which kit knows app: the contract must turn red."""
    house = tmp_path / "ukai"
    for room in ("kit", "app"):
        (house / room).mkdir(parents=True)
        (house / room / "__init__.py").write_text("")
    (house / "__init__.py").write_text("")
    (house / "kit" / "wrong.py").write_text("def f():\n    from ukai import app\n    return app\n")
    plan = (ROOT / ".importlinter").read_text(encoding="utf-8")
    storeys = plan[: plan.index("[importlinter:contract:acyclic]")]
    (tmp_path / ".importlinter").write_text(storeys.replace("include_external_packages = True", ""))
    lint = Path(sys.executable).parent / "lint-imports"

    result = subprocess.run(
        [str(lint), "--no-cache"],
        cwd=tmp_path,
        env={"PYTHONPATH": str(tmp_path), "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )

    assert result.returncode == 1, result.stdout + result.stderr
    assert "ukai.kit.wrong -> ukai.app" in result.stdout


def test_no_index_address_stands_in_a_lock_file():
    for lock in (ROOT / "requirements").glob("*.txt"):
        lines = lock.read_text(encoding="utf-8").splitlines()
        assert not [line for line in lines if "://" in line or line.lstrip().startswith(("-i ", "--index", "--extra"))]
        pinned = [line for line in lines if line and not line.startswith((" ", "#"))]
        assert pinned
        assert all("==" in line for line in pinned)
