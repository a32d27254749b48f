"""Told to end, a server finishes what is under way, says so meanwhile, and takes nothing new (P2.1)."""

from __future__ import annotations

import asyncio

import httpx
import uvicorn

from tests.surfaces import world
from ukai import serve, store
from ukai.llm.scripted import Wait
from ukai.surfaces import http

QUESTION = {"question": "How is it?"}


async def test_what_is_under_way_is_answered_and_the_next_question_is_told_to_come_again(database: store.Database):
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def waits() -> None:
        begun.set()
        await go_on.wait()

    here = world.here(world.opened(database, says=world.saying(Wait(waits, then="At last."))))
    config = uvicorn.Config(http.made(here), log_level="error", lifespan="off", timeout_graceful_shutdown=5)
    server = serve._Server(config, here)  # pyright: ignore[reportPrivateUsage]
    with serve._bound("127.0.0.1", 0) as listening:  # pyright: ignore[reportPrivateUsage]
        serving = asyncio.create_task(server._serve([listening]))  # pyright: ignore[reportPrivateUsage]
        url = serve._url(listening)  # pyright: ignore[reportPrivateUsage]
        async with httpx.AsyncClient(base_url=url, timeout=20) as web:
            asking = asyncio.create_task(web.post("/agents/helper/ask", json=QUESTION))
            await begun.wait()
            server.should_exit = True
            while (ready := await web.get("/readyz")).status_code == 200:
                pass
            refused = await web.post("/agents/helper/ask", json=QUESTION)
            go_on.set()
            answer = await asking
        await serving

    assert (ready.status_code, ready.json()["detail"]) == (503, "the server is ending")
    assert (refused.status_code, refused.headers["retry-after"]) == (429, "5")
    assert (answer.json()["status"], answer.json()["text"]) == ("answered", "At last.")
