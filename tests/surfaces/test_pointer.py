"""`SKILL_NAME` serves one agent: what it names is loaded, and only its own errors keep it from being served (P2.1)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.surfaces import world
from ukai import serve
from ukai.app import agents, engine, identity
from ukai.app.engine import NotServed, UnknownAgent

BROKEN = world.SKILL.format(name="broken").replace("model: extractive", "model: nothing-of-that-name")
FILES = {**world.FILES, "agents/broken/SKILL.md": BROKEN}
ANN = identity.Caller(principal=world.ANN)


def environ(url: str, pointer: str = "") -> dict[str, str]:
    return {"UKAI_DATABASE_URL": url} | ({serve.POINTER: pointer} if pointer else {})


def begun(root: Path, monkeypatch: pytest.MonkeyPatch, given: dict[str, str]) -> None:
    """As far as an address is told; then the server is not wanted any more."""

    class Enough(Exception):
        pass

    def ready(url: str) -> None:
        raise Enough

    for name, value in given.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(Enough):
        serve.serve(root, host="127.0.0.1", port=0, ready=ready, environ=given)


async def test_the_agent_of_the_pointer_is_all_that_is_loaded(
    tmp_path: Path, database_url: str, monkeypatch: pytest.MonkeyPatch
):
    root = world.written(tmp_path, FILES)
    monkeypatch.setenv("UKAI_DATABASE_URL", database_url)
    async with engine.opened(root, environ={}, only="helper") as one, engine.opened(root, environ={}) as whole:
        assert list(one.catalog.agents) == ["helper"]
        assert [a.name for a in agents.listed(one, ANN, "rest")] == ["helper"]
        assert set(whole.catalog.agents) >= {"helper", "hidden"}
        assert [a.name for a in agents.listed(whole, ANN, "rest")] == ["helper"]


def test_errors_of_others_do_not_keep_it_from_being_served(
    tmp_path: Path, database_url: str, monkeypatch: pytest.MonkeyPatch
):
    root = world.written(tmp_path, FILES)

    begun(root, monkeypatch, environ(database_url, "helper"))


def test_without_a_pointer_the_others_are_served(tmp_path: Path, database_url: str, monkeypatch: pytest.MonkeyPatch):
    root = world.written(tmp_path, FILES)

    begun(root, monkeypatch, environ(database_url))


@pytest.mark.parametrize(
    ("pointer", "error", "told"),
    [
        ("broken", NotServed, "not served"),
        ("helpr", UnknownAgent, "did you mean 'helper'"),
        ("nope", UnknownAgent, "hidden"),
    ],
)
def test_its_own_errors_do_and_a_name_that_is_not_there(
    tmp_path: Path, database_url: str, monkeypatch: pytest.MonkeyPatch, pointer: str, error: type[Exception], told: str
):
    root = world.written(tmp_path, FILES)
    given = environ(database_url, pointer)
    for name, value in given.items():
        monkeypatch.setenv(name, value)

    with pytest.raises(error) as caught:
        serve.serve(root, host="127.0.0.1", port=0, ready=lambda _: None, environ=given)
    assert told.casefold() in str(caught.value).casefold()
