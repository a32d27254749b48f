from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.house import picture

ROOT = Path(__file__).parents[2]
MODULES = sorted((ROOT / "src").rglob("*.py"))
POSSESSIVE_GROUP = re.compile(r"(?<!\\)\)(?:[?*+]|\{\{?[0-9,]+\}?\})\+")


def test_the_picture_of_the_house_shows_the_house():
    assert picture.PICTURE.read_text(encoding="utf-8") == picture.draw(), "run `make picture`"


@pytest.mark.parametrize("module", MODULES, ids=lambda p: str(p.relative_to(ROOT)))
def test_every_module_says_what_it_is_for(module: Path):
    assert ast.get_docstring(ast.parse(module.read_text(encoding="utf-8")))


@pytest.mark.parametrize("module", MODULES, ids=lambda p: str(p.relative_to(ROOT)))
def test_no_pattern_repeats_a_group_possessively(module: Path):
    # Python 3.11 before 3.11.5, which Debian 12 ships, matches `(?:..)*+` wrongly (gh-106052); `(?>(?:..)*)` is right.
    wrong = POSSESSIVE_GROUP.findall(module.read_text(encoding="utf-8"))

    assert not wrong, "write (?>(?:..)*) instead of (?:..)*+"


def test_the_storeys_are_kept():
    lint = Path(sys.executable).parent / "lint-imports"
    result = subprocess.run([str(lint), "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False)

    assert result.returncode == 0, result.stdout


@pytest.mark.parametrize(
    ("module", "imported", "contract"),
    [
        ("kit/wrong.py", "app", "storeys"),
        ("surfaces/http/wrong.py", "gate", "front-door"),
        ("serve.py", "store", "front-door"),
        ("surfaces/cli/wrong.py", "surfaces.http", "surfaces"),
    ],
)
def test_an_import_that_is_not_meant_is_found(tmp_path: Path, module: str, imported: str, contract: str):
    """One contract of the floor plan over a house of empty rooms in which one import is wrong: it must turn red."""
    house = tmp_path / "ukai"
    rooms = [p.name for p in (ROOT / "src" / "ukai").iterdir() if p.is_dir() and (p / "__init__.py").exists()]
    surfaces = [f"surfaces/{p.name}" for p in (ROOT / "src/ukai/surfaces").iterdir() if (p / "__init__.py").exists()]
    for room in ("", *rooms, *surfaces):
        (house / room).mkdir(parents=True, exist_ok=True)
        (house / room / "__init__.py").write_text("")
    for top in ("__main__", "serve"):
        (house / f"{top}.py").write_text("")
    (house / module).write_text(
        f"def f():\n    from ukai import {imported.split('.')[0]}\n    import ukai.{imported}\n"
    )
    plan = (ROOT / ".importlinter").read_text(encoding="utf-8").replace("include_external_packages = True", "")
    head, *contracts = plan.split("[importlinter:contract:")
    chosen = next(c for c in contracts if c.startswith(f"{contract}]"))
    (tmp_path / ".importlinter").write_text(f"{head}[importlinter:contract:{chosen}")
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
    name = module.removesuffix(".py").replace("/", ".")
    assert f"ukai.{name} -> ukai.{imported}" in result.stdout


def test_no_index_address_stands_in_a_lock_file():
    for lock in (ROOT / "requirements").glob("*.txt"):
        lines = lock.read_text(encoding="utf-8").splitlines()
        assert not [line for line in lines if "://" in line or line.lstrip().startswith(("-i ", "--index", "--extra"))]
        pinned = [line for line in lines if line and not line.startswith((" ", "#"))]
        assert pinned
        assert all("==" in line for line in pinned)
