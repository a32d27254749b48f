"""The five-minute tour is walked, block by block; the pages about HTTP and the command line say what is there."""

from __future__ import annotations

import os
import re
import shlex
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest
import typer
from typer.testing import CliRunner

from tests.app import build
from tests.surfaces import world
from ukai import store
from ukai.surfaces import cli, http

DOCS = Path(__file__).parents[2] / "docs"
TOUR = DOCS / "howto" / "write-through-the-gate.md"
BLOCK = re.compile(r"^```(\w+)(?: (.*?))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks() -> Iterator[tuple[str, str, str]]:
    """(language, what stands behind it, text)."""
    yield from BLOCK.findall(TOUR.read_text(encoding="utf-8"))


@pytest.fixture
def somewhere(tmp_path: Path, database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("UKAI_DATABASE_URL", database_url)


def said(text: str, expected: str) -> bool:
    """Line by line, where `…` stands for anything."""
    pattern = "".join(".*?" if part == "…" else re.escape(part) for part in re.split("(…)", expected.strip()))
    return re.fullmatch(pattern, text.strip(), re.DOTALL) is not None


@pytest.mark.usefixtures("somewhere")
def test_the_tour_is_as_it_is_told(monkeypatch: pytest.MonkeyPatch):
    heard, requests = "", 0
    for language, about, text in blocks():
        if about.startswith("file="):
            Path(about.removeprefix("file=")).write_text(text, encoding="utf-8")
        elif language == "sh" and about == "serve":
            requests += 1
        elif language == "sh":
            code = int(about.removeprefix("exit=") or 0)
            heard = "".join(run(command, code, monkeypatch) for command in text.splitlines())
        elif language == "text":
            assert said(heard, text), heard
    assert requests == 1


def run(command: str, code: int, monkeypatch: pytest.MonkeyPatch) -> str:
    words = shlex.split(command)
    if words[0] == "cd":
        monkeypatch.chdir(words[1])
        return ""
    if words[0] == "mkdir":
        Path(words[1]).mkdir()
        return ""
    if words[0] == "sqlite3":  # FILE ".read SCRIPT"
        with closing(sqlite3.connect(words[1])) as connection:
            connection.executescript(Path(words[2].removeprefix(".read ")).read_text(encoding="utf-8"))
        return ""
    assert words[0] == "ukai"
    done = CliRunner().invoke(cli.app, words[1:])
    assert done.exit_code == code, (command, done.output, done.exception)
    return "" if words[1] == "init" else done.stdout


async def test_what_the_tour_sends_over_http_is_taken(database: store.Database):
    await build.opened(database)
    [text] = [text for language, about, text in blocks() if (language, about) == ("sh", "serve")]
    body = re.search(r"-d '(.*?)'", text, re.DOTALL)
    assert body is not None
    transport = httpx.ASGITransport(http.made(world.here(world.opened(database))))
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as web:
        await web.post("/mutations", json=build.delta(build.pull(42)))
        headers = {"Content-Type": "application/json", "Idempotency-Key": "step-7"}
        answers = [await web.post("/mutations", content=body[1], headers=headers)]
        answers += [await web.get(path) for path in re.findall(r"localhost:8300(/(?!mutations)[^\s']+)", text)]

    assert [a.status_code for a in answers] == [200, 200, 200]


def test_the_page_about_http_names_every_request():
    page = (DOCS / "reference" / "http.md").read_text(encoding="utf-8")
    document = http.made(None).openapi()  # type: ignore[arg-type]

    for path, operations in document["paths"].items():
        for method in operations:
            assert f"`{method.upper()} {path}" in page


HEAD = """\
# The command line

Every verb with its options, written from their own help by `UKAI_WRITE_DOCS=1 pytest tests/docs/test_gate_pages.py`.
Exit codes: 0 fine, 1 an error finding or a rejection, 2 wrong usage, 3 an internal fault.
"""
CLI_PAGE = DOCS / "reference" / "cli.md"


def page() -> str:
    group: Any = typer.main.get_command(cli.app)
    parts = [HEAD]
    for verb, (_, summary) in cli.VERBS.items():
        parts.append(f"\n## ukai {verb}\n\n{summary}\n")
        command = group.get_command(None, verb)
        inner: dict[str, Any] = getattr(command, "commands", {})
        for name, one in (inner or {"": command}).items():
            parts += _verbs(f"ukai {verb} {name}".rstrip(), one)
    return "".join(parts)


def _verbs(name: str, command: Any) -> Iterator[str]:
    inner: dict[str, Any] = getattr(command, "commands", {})
    for below, one in inner.items():
        yield from _verbs(f"{name} {below}", one)
    if not inner:
        yield from _verb(name, command)


def _verb(name: str, command: Any) -> Iterator[str]:
    arguments = [p for p in command.params if p.param_type_name == "argument"]
    shown = " ".join(p.name.upper() if p.required else f"[{p.name.upper()}]" for p in arguments)
    yield f"\n### {name} {shown}\n".replace(" \n", "\n")
    told = " ".join((command.help or "").split())
    yield f"\n{told}\n" if told else ""
    rows = [(p, p.name.upper()) for p in arguments]
    rows += [(p, ", ".join(p.opts)) for p in command.params if p.param_type_name == "option" and p.name != "help"]
    if rows:
        yield "\n| | |\n|---|---|\n"
    for parameter, spelt in rows:
        about = " ".join((getattr(parameter, "help", None) or "").split())
        kind = "" if getattr(parameter, "is_flag", False) or parameter.param_type_name == "argument" else " VALUE"
        yield f"| `{spelt}{kind}` | {about.replace('|', '&#124;')} |\n"


def test_the_page_about_the_command_line_is_its_help():
    if os.environ.get("UKAI_WRITE_DOCS"):
        CLI_PAGE.write_text(page(), encoding="utf-8")

    assert CLI_PAGE.read_text(encoding="utf-8") == page(), "UKAI_WRITE_DOCS=1 pytest tests/docs/test_gate_pages.py"
