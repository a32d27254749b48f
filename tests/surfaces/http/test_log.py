"""One line in the log for each request: the route, never what stands in its place."""

from __future__ import annotations

import logging
import re

import httpx
import pytest

from tests.app import build
from tests.surfaces import world
from ukai import store

SECRET = "quarrystone"
ASKED = {"question": f"Where is {SECRET}?"}


async def test_a_line_says_what_was_asked_for_by_its_route_and_what_was_made(
    database: store.Database, caplog: pytest.LogCaptureFixture
):
    await build.opened(database)
    caplog.set_level(logging.INFO, "ukai.requests")
    async with world.served(world.here(world.opened(database))) as url, httpx.AsyncClient(base_url=url) as web:
        run = (await web.post("/agents/helper/ask", json=ASKED)).json()["run_id"]
        composed = (await web.post("/context/compose", json={"agent": "helper", **ASKED})).json()["id"]
        for path in (f"/nodes/PullRequest%23{SECRET}/history", f"/page/runs/{SECRET}", f"/{SECRET}?key={SECRET}"):
            await web.get(path, headers={"X-Key": SECRET})
        await web.post(f"/a2a/{SECRET}", json={})
        await web.get("/agents", headers={"Host": f"{SECRET}.example"})
        await web.get("/healthz")
        await web.get("/")

    lines = [re.sub(r"\b\d+ ms", "N ms", r.getMessage()) for r in caplog.records if r.name == "ukai.requests"]
    assert lines == [
        f"POST /agents/{{name}}/ask 200 N ms run={run}",
        f"POST /context/compose 200 N ms composition={composed}",
        "GET /nodes/{handle:path}/history 404 N ms",
        "GET /page/runs/{run_id} 404 N ms",
        "GET (no route) 404 N ms",
        "POST /a2a/{agent} 200 N ms",
        "GET (no route) 421 N ms",
        "GET / 303 N ms",
    ]
    assert not any(SECRET in line or build.ANN in line for line in lines)
