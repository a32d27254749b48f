"""The command line: quick to answer, light to lint, one JSON document, four exit codes (design §4)."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer

from ukai.app import init
from ukai.surfaces import cli
from ukai.surfaces.cli import VERBS


def ukai(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "ukai", *arguments], capture_output=True, text=True, check=False, cwd=cwd
    )


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cli") / "company"
    init.init(folder)
    return folder


def test_help_takes_less_than_three_tenths_of_a_second_of_cpu():
    before = resource.getrusage(resource.RUSAGE_CHILDREN)

    done = ukai("--help")

    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.returncode == 0
    assert all(verb in done.stdout for verb in VERBS)
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 0.3


HEAVY = ("fastapi", "mcp", "psycopg", "onnxruntime", "pydantic_ai", "numpy", "tokenizers", "uvicorn", "dbos", "alembic")


def test_lint_imports_nothing_that_it_does_not_need(root: Path):
    code = (
        "import sys\nfrom ukai.surfaces import cli\n"
        f"sys.argv = ['ukai', 'lint', {str(root)!r}]\n"
        "try:\n    cli.main()\nexcept SystemExit as stop:\n    assert stop.code == 0, stop.code\n"
        f"print('loaded:', [m for m in {HEAVY!r} if m in sys.modules])\n"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert done.stdout.splitlines()[-1] == "loaded: []", done.stdout + done.stderr


def test_every_verb_of_the_table_is_there():
    group: Any = typer.main.get_command(cli.app)

    for verb in VERBS:
        command = group.get_command(None, verb)
        assert command is not None, verb
        assert command.short_help, verb


@pytest.mark.parametrize(
    "arguments",
    [
        ("lint", "--json"),
        ("info", "--json"),
        ("info", "helper", "--json"),
        ("info", "helper", "--explain", "--json"),
        ("export", "helper", "--json"),
        ("codeowners", "--json"),
    ],
)
def test_json_is_one_document_and_nothing_else(root: Path, arguments: tuple[str, ...]):
    done = ukai(*arguments, "--workspace", str(root))

    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    json.loads(done.stdout)


def test_exit_codes_say_who_has_to_act(root: Path, tmp_path: Path):
    (tmp_path / "SKILL.md").write_text("---\nname: [\n---\n")

    assert ukai("lint", str(root)).returncode == 0
    assert ukai("lint", str(tmp_path)).returncode == 1
    assert ukai("info", "helpr", "--workspace", str(root)).returncode == 1
    assert ukai("lint", str(tmp_path / "nowhere")).returncode == 2
    assert ukai("lint", "--nonsense").returncode == 2
    assert ukai("new", "thing", "x", "--workspace", str(root)).returncode == 2
    assert ukai("codeowners", "--check", "--workspace", str(root)).returncode == 1


def test_lint_inside_a_workspace_tells_what_lies_under_the_path(root: Path, tmp_path: Path):
    folder = tmp_path / "company"
    init.init(folder)
    (folder / "agents/helper/SKILL.md").write_text("---\nname: helper\nmodel: nothing\n---\nx\n")
    (folder / "access/groups.yaml").write_text("groups: [\n")

    whole = json.loads(ukai("lint", "--json", cwd=folder).stdout)
    part = json.loads(ukai("lint", "agents/helper", "--json", cwd=folder).stdout)
    file = json.loads(ukai("lint", "access/groups.yaml", "--json", cwd=folder).stdout)

    assert {f["where"].split("/")[0] for f in whole["findings"]} == {"agents", "access"}
    assert {f["where"].split("/")[0] for f in part["findings"]} == {"agents"}
    assert {f["where"].rsplit(":", 2)[0] for f in file["findings"]} == {"access/groups.yaml"}


def test_output_that_nobody_reads_ends_quietly(root: Path):
    reader, writer = os.pipe()
    os.close(reader)

    done = subprocess.run(
        [sys.executable, "-m", "ukai", "info", "--workspace", str(root)],
        stdout=writer,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(writer)

    assert b"Traceback" not in done.stderr


def test_a_folder_that_cannot_be_made_is_told_as_such_and_is_no_internal_error():
    done = ukai("init", "/proc/company")

    assert done.returncode == 1
    assert done.stdout == ""
    assert "internal" not in done.stderr
    assert "'/proc/company'" in done.stderr


def test_the_next_step_can_be_pasted_whatever_the_folder_is_called(tmp_path: Path):
    done = ukai("init", "-- a b's", "--json", cwd=tmp_path)
    assert done.returncode == 2  # an option, to the shell's user and to us

    done = ukai("init", "--json", "--", "- a b's", cwd=tmp_path)

    step = json.loads(done.stdout)["next"][0]
    assert subprocess.run(["sh", "-c", f"{step} && test -f ukai.yaml"], cwd=tmp_path, check=False).returncode == 0


def test_a_file_name_that_is_no_utf8_still_makes_one_json_document(tmp_path: Path):
    folder = tmp_path / "company"
    init.init(folder)
    agent = Path(os.fsdecode(os.fsencode(folder) + b"/agents/b\xff"))
    agent.mkdir()
    (agent / "SKILL.md").write_text("---\nname: b\n---\n", encoding="utf-8")

    done = subprocess.run(
        [sys.executable, "-m", "ukai", "codeowners", "--json", "-w", str(folder)], capture_output=True, check=False
    )

    assert done.returncode == 0, done.stderr
    assert "b?" in json.loads(done.stdout.decode("utf-8"))["without_owner"]


def test_a_delta_without_an_end_is_refused_and_not_read_for_ever(root: Path):
    done = ukai("propose", "/dev/zero", "--dry-run", "--json", "-w", str(root))

    assert done.returncode == 1
    assert [f["code"] for f in json.loads(done.stdout)["findings"]] == ["too_large"]


def test_other_peoples_text_does_not_steer_the_terminal(tmp_path: Path):
    agent = tmp_path / "agents" / "x"
    agent.mkdir(parents=True)
    (agent / "SKILL.md").write_text('---\nname: "\\e[2J\\u202e\\u009bx"\n---\n', encoding="utf-8")

    done = ukai("lint", str(tmp_path))

    assert not {"\x1b", "\u202e", "\x9b"} & set(done.stdout)
    assert "\\x1b[2J\\u202e\\x9bx" in done.stdout
