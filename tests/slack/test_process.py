"""`ukai serve --slack` as a process of its own: killed in the middle, and told to end in the middle (P2.1, X3)."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from tests.app import build
from tests.slack.conftest import ROOM
from tests.slack.fake import BOT, FakeSlack
from tests.slack.test_once import expire
from tests.surfaces import world as served
from ukai import store

ENVIRONMENT = {k: v for k, v in os.environ.items() if k != "UKAI_DEBUG"}
FILES = {
    **served.FILES,
    "access/policies.yaml": served.FILES["access/policies.yaml"].replace("ann@example.com", "ann@harbor.example"),
}


@asynccontextmanager
async def process(world: FakeSlack, root: Path, url: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """The server, connected to Slack."""
    keys = {"SLACK_BOT_TOKEN": "xoxb-1", "SLACK_APP_TOKEN": "xapp-1", "UKAI_SLACK_API": world.url}
    world._connected.clear()
    server = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "ukai", "serve", "--slack", "--port", "0", "--workspace", str(root)),
        env={**ENVIRONMENT, **keys, "SKILL_NAME": "helper", "UKAI_DATABASE_URL": url},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(60):
            await world.connected()
        yield server
    finally:
        if server.returncode is None:
            server.kill()
        await server.communicate()


async def test_a_kill_loses_no_finished_run_and_an_end_finishes_what_is_under_way(
    world: FakeSlack, database: store.Database, database_url: str, tmp_path: Path
):
    await build.opened(database)
    root = served.written(tmp_path, FILES)
    world.hold["chat.postMessage"] = asyncio.Event()

    async with process(world, root, database_url) as server:
        killed = world.write(ROOM, "UANN", f"<@{BOT}> what is the title of PullRequest#api:1?")["event"]
        await world.send(world.event({**killed}))
        async with asyncio.timeout(60):
            await world.held.wait()
        server.kill()
        await server.wait()
    world.hold.pop("chat.postMessage").set()
    runs = await _runs(database)
    await expire(database)

    async with process(world, root, database_url) as server:
        await _until_done(database, 1)
        world.hold["chat.postMessage"] = asyncio.Event()
        world.held.clear()
        ended = world.write(ROOM, "UANN", f"<@{BOT}> and of PullRequest#api:2?")["event"]
        await world.send(world.event({**ended}))
        async with asyncio.timeout(60):
            await world.held.wait()
            world.gone.clear()
            server.terminate()
            await world.gone.wait()  # it hears nothing more, and still has something to say
            world.hold.pop("chat.postMessage").set()
            code = await server.wait()

    after = await _runs(database)
    assert [status for _, status in runs] == ["answered"], "the run was sealed before the kill"
    assert after[0] == runs[0], "and was not made again"
    assert [len(world.replies(ROOM, e["ts"])) for e in (killed, ended)] == [1, 1]
    assert code == 0
    await _until_done(database, 2)


async def _runs(db: store.Database) -> list[tuple[str, str]]:
    async with db.transaction() as tx:
        return await tx.fetch("select run_id::text, status from run order by run_id")


async def _until_done(db: store.Database, count: int) -> None:
    async with asyncio.timeout(60):
        done = 0
        while done < count:
            async with db.transaction() as tx:
                done = await tx.value("select count(*) from delivery where state = 'done'")
            await asyncio.sleep(0.02)
