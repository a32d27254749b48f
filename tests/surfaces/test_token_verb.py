"""`ukai token`: made once, listed without itself, ended at once (P3)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tests.surfaces import world
from ukai.surfaces.cli import app


@pytest.fixture
def company(tmp_path: Path, database_url: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("UKAI_DATABASE_URL", database_url)
    return world.written(tmp_path, world.FILES)


def said(company: Path, *words: str, code: int = 0) -> Any:
    done = CliRunner().invoke(app, ["token", *words, "--workspace", str(company), "--json"])
    assert done.exit_code == code, (done.output, done.exception)
    return json.loads(done.stdout) if code == 0 else done.exception


def test_a_token_is_made_listed_and_ended(company: Path):
    made = said(company, "create", "--name", "laptop", "--days", "30")
    listed = said(company, "list")["tokens"]
    said(company, "revoke", made["id"])
    again = said(company, "revoke", made["id"], code=1)
    after = said(company, "list")["tokens"]

    assert made["token"].startswith("ukai_")
    assert [(t["name"], t["state"], t["principal"]) for t in listed] == [("laptop", "in force", world.ANN)]
    assert "token" not in listed[0]
    assert "no token of yours that is in force" in str(again)
    assert [t["state"] for t in after] == ["revoked"]
