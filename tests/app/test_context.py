"""The composer at the command line: a document, why something is not in it, and the same once more (C46, X4)."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from tests.app import build
from tests.context.world import Hashed
from tests.surfaces import world
from ukai.app import engine
from ukai.llm.cache import Cache
from ukai.surfaces import cli
from ukai.surfaces.cli import output

QUESTION = "Which pull request is about a retry?"


@pytest.fixture
def ukai(tmp_path: Path, database_url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """The command line in this process, in a workspace with an agent and a model that costs nothing."""
    world.written(tmp_path, world.FILES)
    monkeypatch.setenv("UKAI_DATABASE_URL", database_url)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(engine, "Cache", lambda _: Cache(Hashed()))

    def run(*words: str, given: str = "", code: int = 0) -> Any:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(given.encode())))
        found = output.guarded(lambda: cli.app([*words, "--json"]))
        said = capsys.readouterr()
        assert found == code, (words, found, said.out, said.err)
        return json.loads(said.out) if said.out else said.err

    return run


def test_a_document_is_composed_explained_and_composed_once_more(ukai: Any):
    ukai("schema", "upload")
    ukai("propose", "-", given=json.dumps(build.delta(build.pull(1), build.pull(2, "$two", title="Other"))))

    made = ukai("context", "compose", "helper", QUESTION, "--budget", "500")
    report = ukai("context", "explain", made["id"])
    why = ukai("context", "explain", made["id"], "PullRequest#api:1")
    same = ukai("context", "replay", made["id"])
    ukai("propose", "-", given=json.dumps(build.delta(build.change(1, title="Retry twice"))))
    changed = ukai("context", "replay", made["id"], code=output.REFUSED)
    nothing = ukai("context", "replay", "01a229cc-0000-7000-8000-000000000000", code=output.REFUSED)

    assert "Retry" in made["text"]
    assert report["report"]["ranking"] == made["report"]["ranking"]
    assert why["shown"]
    assert (same["same"], same["changed"], same["text"]) == (True, [], made["text"])
    assert "records in scope" in changed["changed"]
    assert "PullRequest#api:1 says something else" in changed["changed"]
    assert "Retry twice" in changed["text"]
    assert "that was made for you" in nothing
