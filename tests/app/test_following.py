"""What is written is embedded by whoever serves, once, and a broken model does not stop it (C45)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.app import test_ask
from tests.context.world import Hashed
from ukai.app import context, engine, following
from ukai.context import index
from ukai.context.rows import embedded
from ukai.llm.cache import Cache

root, company = test_ask.root, test_ask.opened


@pytest.fixture
async def opened(company: engine.Engine, monkeypatch: pytest.MonkeyPatch) -> engine.Engine:
    """More texts wait than are embedded before a question."""
    monkeypatch.setattr(engine, "EMBED_AMONG", 0)
    await company.keep_up(lambda _: None)
    return company


async def left(opened: engine.Engine) -> int:
    return await index.waiting(opened.db, opened.cache)


async def test_a_server_embeds_all_that_waits_and_the_document_says_until_then_that_it_is_incomplete(
    opened: engine.Engine,
):
    async def composed() -> str:
        made = await context.composed(opened, "desk", "How is Alder?", principal=test_ask.ANN)
        return "\n".join(context.lines(made["report"]))

    waited = await left(opened)
    before = await composed()
    looked = asyncio.Event()

    async def wait(seconds: float) -> None:
        looked.set()
        await asyncio.Event().wait()

    async with following.watched(lambda: opened, wait=wait):
        await looked.wait()

    assert waited > 0
    assert "items have texts without a vector yet" in before
    assert await left(opened) == 0
    assert "without a vector" not in await composed()


async def test_what_one_process_embeds_another_leaves_to_it(opened: engine.Engine):
    async with opened.db.statements() as line:
        assert await embedded.lock_embedding(line)
        assert not await opened.catch_up_alone()
        assert await left(opened) > 0
        await embedded.unlock_embedding(line)

    assert await opened.catch_up_alone()
    assert await left(opened) == 0


async def test_a_model_that_fails_is_told_once_and_asked_again(opened: engine.Engine, caplog: pytest.LogCaptureFixture):
    class Broken(Hashed):
        def embed(self, texts: Sequence[str]) -> Any:
            raise OSError("the model's file is gone")

    watch = following.Watch(current=lambda: replace(opened, cache=Cache(Broken())))
    with caplog.at_level(logging.ERROR):
        await watch.look()
        await watch.look()
    watch.current = lambda: opened
    await watch.look()

    assert caplog.text.count("the model's file is gone") == 1
    assert await left(opened) == 0


async def test_a_model_that_fails_costs_no_document(company: engine.Engine):
    class Broken(Hashed):
        def embed(self, texts: Sequence[str]) -> Any:
            raise OSError("the model's file is gone")

    told: list[str] = []
    broken = replace(company, cache=Cache(Broken()))
    made = await context.composed(broken, "desk", "How is Alder?", principal=test_ask.ANN, progress=told.append)

    assert "Firm#alder" in made["text"]
    assert told[-1] == "texts wait for their vectors: the model's file is gone"
    assert made["report"]["events"] == ["without_vector 1 of 1"]


async def test_a_server_leaves_many_texts_to_a_process_of_its_own(
    opened: engine.Engine, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    monkeypatch.setattr(engine, "EMBED_NOW", 0)
    started: list[Sequence[str]] = []

    async def spawn(at: Path, words: Sequence[str]) -> int:
        started.append(words)
        if len(started) == 1:
            return -9
        await opened.catch_up_alone()
        return 0

    watch = following.Watch(current=lambda: opened, spawn=spawn)
    waited = await left(opened)
    await watch.look()
    killed = await left(opened)
    for _ in range(2):
        await watch.look()

    assert killed == waited > 0
    assert "their process ended with -9" in caplog.text
    assert started == 2 * [("ingest", "--waiting", "--quiet")]
    assert await left(opened) == 0


async def test_a_server_without_schedules_embeds_few_and_says_what_embeds_many(
    opened: engine.Engine, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    watch = following.Watch(current=lambda: opened, spawn=following.left)
    with caplog.at_level(logging.WARNING), monkeypatch.context() as patch:
        patch.setattr(engine, "EMBED_NOW", 0)
        await watch.look()
        await watch.look()
        many = await left(opened)
    await watch.look()

    assert [(r.levelname, "`ukai ingest --waiting" in r.getMessage()) for r in caplog.records] == [("WARNING", True)]
    assert (many > 0, await left(opened)) == (True, 0)
