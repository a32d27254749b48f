"""`ukai dev`: a turn keeps the files it began with, the next one has those that were saved (P2.1)."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from tests.surfaces import world
from ukai import store
from ukai.app import ask, identity
from ukai.app.reload import Current, Stale, versions, watch
from ukai.llm.scripted import Asked, Step, Wait

SKILL = "agents/helper/SKILL.md"


def current(db: store.Database, root: Path, *steps: Step) -> Current:
    loaded = world.read(world.written(root, world.FILES))
    return Current(engine=world.opened(db, loaded, says=world.saying(*steps), root=root))


def rewrite(root: Path, old: str, new: str) -> None:
    (root / SKILL).write_text((root / SKILL).read_text().replace(old, new))


async def test_a_turn_keeps_the_files_it_began_with_and_the_next_has_the_new_ones(
    database: store.Database, tmp_path: Path
):
    heard: list[str] = []
    saved, began = asyncio.Event(), asyncio.Event()

    async def halfway() -> None:
        began.set()
        await saved.wait()

    def say(asked: Asked) -> Step:
        heard.append(asked.instructions)
        return "It is so."

    served = current(database, tmp_path, Wait(halfway, say))
    ann = identity.Caller(principal=world.ANN)

    first = asyncio.create_task(ask.ask(served(), "helper", "How is it?", caller=ann))
    await began.wait()
    rewrite(tmp_path, "\nAnswer.", "\nAnswer in verse.")
    said = served.reload()
    saved.set()
    await first
    await ask.ask(served(), "helper", "How is it?", caller=ann)

    assert said == "2 agents"
    assert ["verse" in text for text in heard] == [False, True]


async def test_a_file_with_an_error_takes_its_agent_away_and_no_other(database: store.Database, tmp_path: Path):
    served = current(database, tmp_path)

    rewrite(tmp_path, "model: extractive", "modell: extractive")
    said = served.reload()

    assert said.startswith("1 errors, the first: agents/helper/SKILL.md:4")
    assert [bool(served().loaded.blocking(name)) for name in ("helper", "hidden")] == [True, False]


async def test_the_pointer_still_picks_one_agent_after_a_change(database: store.Database, tmp_path: Path):
    served = replace(current(database, tmp_path), only="helper")

    served.reload()

    assert list(served().catalog.agents) == ["helper"]


async def test_a_saved_file_is_noticed(database: store.Database, tmp_path: Path):
    served = current(database, tmp_path)
    told: asyncio.Queue[str] = asyncio.Queue()
    stop = asyncio.Event()
    watching = asyncio.create_task(watch(served, tell=told.put_nowait, stop=stop))

    async with asyncio.timeout(10):
        while told.empty():  # the watcher begins at its own time
            rewrite(tmp_path, "Answer.", "Answer..")
            await asyncio.sleep(0.1)
    stop.set()
    await watching

    assert SKILL in told.get_nowait()


async def test_a_server_says_once_which_files_are_others_than_it_read(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    world.written(tmp_path, {**world.FILES, "notes.txt": "x", ".ukai/url": "x"})
    stale = Stale(root=tmp_path, read=versions(tmp_path))

    await stale.look()
    for path in ("notes.txt", ".ukai/url"):
        (tmp_path / path).write_text("something else")
    await stale.look()
    quiet = caplog.text
    (tmp_path / "access/policies.yaml").write_text("policies: []\n")
    (tmp_path / SKILL).unlink()
    await stale.look()
    await stale.look()

    assert quiet == ""
    assert [r.getMessage() for r in caplog.records] == [
        "changed, while what was read before is in force: access/policies.yaml, agents/helper/SKILL.md; "
        "restart the server"
    ]
