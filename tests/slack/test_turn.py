"""Slack over the real turn: rules hold back, the place narrows what is read, a thread goes on (P3.2, P4.4, P4.5)."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from tests.app import build
from tests.slack.conftest import DIRECT, ROOM
from tests.slack.fake import BOT, SECRET, FakeSlack, user
from tests.slack.test_delivery import told
from tests.surfaces import streams
from tests.surfaces import world as served
from ukai import store
from ukai.app import propose
from ukai.app.pace import Pace
from ukai.llm.scripted import Asked, Call, Step
from ukai.surfaces import slack

ANSWERS = int(os.environ.get("UKAI_ANSWERS", "12"))
"""Of the test of hold-back; 1,000 take about a minute."""

Turns = Callable[..., AbstractAsyncContextManager[slack.Slack]]


@pytest.fixture
def turns(world: FakeSlack, database: store.Database) -> Turns:
    """The company's helper in Slack, whose model says what the test wants."""
    for id, email in (("UANN", build.ANN), ("UBEN", build.BEN), ("UCY", "cy@example.com")):
        world.users[id] = user(id, email)
    world.channel("CTWO", ["UANN", "UBEN"], is_private=True)

    @asynccontextmanager
    async def opened(*steps: Step) -> AsyncIterator[slack.Slack]:
        desk = await build.opened(database)
        await propose.submit(desk, propose.Given(value=json.dumps(build.delta(build.pull(1, cost="5.50"))).encode()))
        here = served.here(served.opened(database, streams.loaded(), says=served.saying(*steps)))
        here = replace(here, pace=Pace(per_minute=100_000, seconds=lambda: 0.0))
        keys = slack.Keys(bot="xoxb-1", app="xapp-1", signing=SECRET, api=world.url)
        async with slack.opened(slack.served(here, "helper"), keys) as app:
            await world.connected()
            yield app

    return opened


async def runs(db: store.Database) -> list[dict[str, Any]]:
    async with db.transaction() as tx:
        return [json.loads(row[0]) for row in await tx.fetch("select record::text from run order by run_id")]


async def test_no_byte_of_a_blocked_answer_is_sent_to_slack(world: FakeSlack, turns: Turns):
    step, markers = streams.marked()

    async with turns(step) as app:
        for _ in range(ANSWERS):
            await told(world, app, world.write(ROOM, "UANN", "say the marker"))

    assert len(markers) == len(world.ephemeral) == ANSWERS
    assert not any(m.get("user") == BOT for m in world.messages[ROOM])
    assert streams.leaked(bytes(world.wire), markers) == []


READ = Call("read_record", {"handle": "PullRequest#api:1"})


def quoting(asked: Asked) -> Step:
    """Says back what the tool gave."""
    return f"It says: {asked.messages[-1].parts[-1].content}"


async def test_the_place_narrows_what_is_read_to_what_everybody_there_may_read(
    world: FakeSlack, turns: Turns, database: store.Database
):
    """Ben does not read what it costs; who only writes in the public channel reads nothing."""
    places = [DIRECT, "CTWO", ROOM]
    async with turns(READ, quoting) as app:
        for place in places:
            await told(world, app, world.write(place, "UANN", "what does it cost?"))

    seen = [
        "".join(json.dumps(i.get("value"), default=str) for c in run["calls"] for i in c.get("items", ()))
        for run in await runs(database)
    ]
    assert ["cost" in text for text in seen] == [True, False, False]
    assert ["Retry" in text for text in seen] == [True, True, False]
    assert [run["audience"] for run in await runs(database)] == [
        [build.ANN],
        [build.ANN, build.BEN],
        [build.ANN, "public"],
    ]
    assert not any("5.5" in json.dumps(m) for p in places[1:] for m in world.messages[p] if m.get("user") == BOT)


async def test_a_thread_goes_on_with_what_was_said_in_it_whoever_asked(
    world: FakeSlack, turns: Turns, database: store.Database
):
    heard: list[str] = []

    def listening(asked: Asked) -> Step:
        heard.append(repr(asked.messages))
        return f"Answer {len(heard)}."

    first = world.write("CTWO", "UANN", f"<@{BOT}> first question")
    root = first["event"]["ts"]
    async with turns(listening) as app:
        await told(world, app, first)
        await told(world, app, world.write("CTWO", "UBEN", f"<@{BOT}> second question", thread=root))
        await told(world, app, world.write("CTWO", "UBEN", f"<@{BOT}> elsewhere"))

    assert "first question" in heard[1]
    assert "Answer 1." in heard[1]
    assert "first question" not in heard[2]
    assert world.seen("CTWO", root) == "Answer 1.\nAnswer 2."
    assert [r["question"] for r in await runs(database)] == ["first question", "second question", "elsewhere"]


async def test_whoever_may_not_ask_is_told_so_alone(world: FakeSlack, turns: Turns):
    body = world.write(ROOM, "UCY", f"<@{BOT}> tell me")

    async with turns("never said") as app:
        await told(world, app, body)

    assert [(e["user"], "may not ask" in e["text"]) for e in world.ephemeral] == [("UCY", True)]
    assert world.replies(ROOM, body["event"]["ts"]) == []


async def test_an_answer_calls_nobody_and_fetches_nothing(world: FakeSlack, turns: Turns):
    body = world.write(ROOM, "UANN", f"<@{BOT}> tell me")

    async with turns("Hey <!channel> <@UBEN> & **done**") as app:
        await told(world, app, body)

    sent = world.replies(ROOM, body["event"]["ts"])[0]
    assert world.seen(ROOM, body["event"]["ts"]) == "Hey <!channel> <@UBEN> & done"
    assert (sent["unfurl_links"], sent["unfurl_media"]) == (False, False)
