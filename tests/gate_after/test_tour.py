"""`docs/howto/after-the-commit.md` is walked, block by block."""

from __future__ import annotations

import ast
import asyncio
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.docs.test_gate_pages import BLOCK, DOCS, said
from tests.gate import world
from ukai import store
from ukai.surfaces import cli

PAGE = DOCS / "howto" / "after-the-commit.md"
ID = r"[0-9a-f-]{36}"


def blocks() -> Iterator[tuple[str, str, str]]:
    yield from BLOCK.findall(PAGE.read_text(encoding="utf-8"))


def test_the_page_is_as_it_is_told(tmp_path: Path, database_url: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("UKAI_DATABASE_URL", database_url)
    heard, commit, item = "", "", ""
    for language, about, text in blocks():
        if about.startswith("file="):
            Path(about.removeprefix("file=")).write_text(text, encoding="utf-8")
        elif language == "python":
            item = asyncio.run(_held(text, database_url))
        elif language == "sh":
            code, heard = int(about.removeprefix("exit=") or 0) if about != "keep" else 0, ""
            for command in text.splitlines():
                words = [{"COMMIT": commit, "ITEM": item}.get(w, w) for w in shlex.split(command)]
                heard += _run(words, code, monkeypatch)
                made = re.search(rf"^committed: ({ID})", heard, re.MULTILINE)
                commit = made[1] if made and about != "keep" else commit
        elif language == "text":
            assert said(heard, text), heard


def _run(words: list[str], code: int, monkeypatch: pytest.MonkeyPatch) -> str:
    if words[0] == "cd":
        monkeypatch.chdir(words[1])
        return ""
    if words[0] == "mkdir":
        Path(words[1]).mkdir()
        return ""
    done = CliRunner().invoke(cli.app, words[1:])
    assert done.exit_code == code, (words, done.output, done.exception)
    return "" if words[1] == "init" else done.stdout


async def _held(text: str, url: str) -> str:
    scope: dict[str, object] = {"author": world.BOT, "clock": world.CLOCK}
    async with store.connect(url) as db:
        code = compile(text, str(PAGE), "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        scope["db"] = db
        await eval(code, scope)
    return str(scope["item"])
