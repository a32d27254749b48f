"""The pages about connecting a source and the catalogue of a database are walked, block by block."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs import test_gate_pages as tour

PAGES = ("connect-a-source", "bring-in-a-catalogue")


@pytest.fixture
def somewhere(tmp_path: Path, database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("UKAI_DATABASE_URL", database_url)


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.usefixtures("somewhere")
def test_the_page_is_as_it_is_told(page: str, monkeypatch: pytest.MonkeyPatch):
    heard = ""
    for language, about, text in tour.BLOCK.findall((tour.DOCS / "howto" / f"{page}.md").read_text(encoding="utf-8")):
        if about.startswith("file="):
            Path(about.removeprefix("file=")).write_text(text, encoding="utf-8")
        elif language == "sh":
            code = int(about.removeprefix("exit=") or 0)
            said = [tour.run(command, code, monkeypatch) for command in text.splitlines()]
            heard = "".join(s for s, command in zip(said, text.splitlines(), strict=True) if "lint" not in command)
        elif language == "text":
            assert tour.said(heard, text), heard
