"""Exactly one reply: whatever Slack sends again, whatever answer gets lost, wherever a process dies (X3)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any
from uuid import uuid4

import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.routing import Route

from tests.slack.conftest import ANN, CLOSED, DIRECT, ROOM, Agent, Install, answering
from tests.slack.fake import BOT, TEAM, FakeSlack
from tests.slack.test_delivery import told
from ukai import store
from ukai.app import identity
from ukai.app.admission import Busy
from ukai.app.deliveries import Answer, Carrier, Deliveries, Delivery, Question
from ukai.kit.clock import SystemClock
from ukai.surfaces import slack
from ukai.surfaces.slack.chat import SlackChat
from ukai.surfaces.slack.installed import calling
from ukai.surfaces.slack.people import Home, People


@asynccontextmanager
async def listening(app: slack.Slack) -> AsyncIterator[str]:
    """The app behind a real web server; the address that Slack posts to."""
    site = Starlette(routes=[Route("/slack/events", app.http, methods=["POST"])])
    server = uvicorn.Server(uvicorn.Config(site, port=0, log_level="error", lifespan="off"))
    task = asyncio.create_task(server.serve())
    while not server.started:  # noqa: ASYNC110  (uvicorn offers no event)
        await asyncio.sleep(0.005)
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}/slack/events"
    finally:
        server.should_exit = True
        await task


async def test_what_slack_sends_again_has_one_reply(world: FakeSlack, install: Install):
    agent = Agent()
    body = world.write(ROOM, "UANN", "why?")

    async with install(agent) as app, listening(app) as url:
        statuses = await asyncio.gather(*(world.post(url, body, retry=n) for n in range(5)))
        statuses.append(await world.post(url, world.twin(body)))
        await told(world, app, body, {**body, "event_id": "EvAgain"})

    assert statuses == [200] * 6
    assert len(agent.asked) == 1
    assert len(world.replies(ROOM, body["event"]["ts"])) == 1


async def test_what_slack_did_not_sign_is_refused(world: FakeSlack, install: Install):
    agent = Agent()
    body = world.write(ROOM, "UANN", "why?")

    async with install(agent) as app, listening(app) as url:
        status = await world.post(url, body, secret="somebody else's")
        odd = [await world.post(url, body, at=at) for at in ("nan", "-1", "1.5", "9" * 5_000, "1000000000")]
        challenged = await world.post(url, {"type": "url_verification", "challenge": "x"})
        await app.deliveries.settled()

    assert (status, challenged) == (401, 200)
    assert odd == [401] * 5
    assert agent.asked == []


LONG = "\n\n".join(f"Paragraph {n}. " + "word " * 400 for n in range(12))
"""More than one message."""


def carried(world: FakeSlack, db: store.Database, agent: Agent) -> Carrier:
    """A process of its own, whose pauses take no time."""
    client = calling(slack.Keys(bot="xoxb-1", api=world.url))
    people = People(client=client, clock=SystemClock(), home=Home(team=TEAM, enterprise="", user=BOT))
    chat = SlackChat(client=client, people=people)
    return Carrier(db=db, clock=SystemClock(), holder=uuid4(), chat=chat, ask=agent, pause=_at_once)


async def _at_once(_: float) -> None:
    await asyncio.sleep(0)


def asked(world: FakeSlack, channel: str = ROOM, text: str = "why?", *, thread: str | None = None) -> Question:
    event = world.write(channel, "UANN", text, thread=thread)["event"]
    return Question(
        event_id="Ev1",
        team=TEAM,
        channel=channel,
        ts=event["ts"],
        thread=thread or event["ts"],
        user="UANN",
        text=text,
        is_direct=channel == DIRECT,
    )


async def finished(deliveries: Deliveries, question: Question) -> None:
    await deliveries.receive(question)
    await deliveries.settled()


async def expire(db: store.Database) -> None:
    """Time passes: every lease ends."""
    async with db.transaction() as tx:
        await tx.execute("update delivery set held_until = now() - interval '1 minute'")


@pytest.mark.parametrize("lost", [1, 3])
async def test_a_message_whose_answer_got_lost_is_not_posted_twice(
    world: FakeSlack, database: store.Database, lost: int
):
    world.lose["chat.postMessage"] = lost
    question = asked(world)

    await finished(Deliveries(carried(world, database, Agent(says=answering(LONG))), agent="a"), question)

    assert len(world.replies(ROOM, question.ts)) == 3
    assert world.seen(ROOM, question.ts).split() == LONG.split()


async def test_too_many_requests_are_waited_for_as_long_as_slack_wishes(world: FakeSlack, database: store.Database):
    waits: list[float] = []

    async def pause(seconds: float) -> None:
        waits.append(seconds)

    world.limit["chat.postMessage"] = 2
    question = asked(world)
    carrier = replace(carried(world, database, Agent()), pause=pause)

    await finished(Deliveries(carrier, agent="a"), question)

    assert waits == [7.0, 7.0]
    assert len(world.replies(ROOM, question.ts)) == 1


class Killed(BaseException):
    """The process is gone: nothing of it runs any more."""


class Dying:
    """A chat whose process dies before one step, or after it and before that is saved."""

    def __init__(self, chat: SlackChat, step: str) -> None:
        self._chat, self._step = chat, step

    def __getattr__(self, name: str) -> Any:
        return getattr(self._chat, name)

    async def principal(self, question: Question) -> str | None:
        self._die("principal")
        return await self._chat.principal(question)

    async def place(self, question: Question) -> identity.Place:
        self._die("place")
        return await self._chat.place(question)

    async def post(self, delivery: Delivery, number: int) -> str:
        self._die(f"post {number}")
        ts = await self._chat.post(delivery, number)
        self._die(f"posted {number}")
        return ts

    async def status(self, question: Question, line: str) -> None:
        self._die("status" if not line else "")

    def _die(self, at: str) -> None:
        if at == self._step:
            raise Killed(at)


@pytest.mark.parametrize(
    "step", ["principal", "place", "ask", "post 0", "posted 0", "post 1", "posted 1", "posted 2", "status"]
)
async def test_wherever_a_process_dies_the_next_one_finishes_and_there_is_one_reply(
    world: FakeSlack, database: store.Database, step: str
):
    agent = Agent(says=answering(LONG))
    question = asked(world)
    first = carried(world, database, agent)

    async def ask(*arguments: Any) -> Answer:
        if step == "ask":
            raise Killed
        return await agent(*arguments)

    await finished(Deliveries(replace(first, chat=Dying(first.chat, step), ask=ask), agent="a"), question)  # pyright: ignore[reportArgumentType]
    await expire(database)
    second = Deliveries(carried(world, database, agent), agent="a")
    taken = await second.resume()
    await second.settled()

    async with database.transaction() as tx:
        state = await tx.value("select state from delivery")
    assert (taken, state) == (1, "done")
    assert len(agent.asked) == 1
    assert len(world.replies(ROOM, question.ts)) == 3
    assert world.seen(ROOM, question.ts).split() == LONG.split()


async def test_while_a_process_lives_no_other_takes_its_delivery(world: FakeSlack, database: store.Database):
    others: list[int] = []
    question = asked(world)
    second = Deliveries(carried(world, database, Agent()), agent="a")

    async def ask(*arguments: Any) -> Answer:
        others.append(await second.resume())
        return answering("once")(arguments[0])

    await finished(Deliveries(replace(carried(world, database, Agent()), ask=ask), agent="a"), question)

    assert others == [0]
    assert len(world.replies(ROOM, question.ts)) == 1


async def test_a_process_that_was_thought_dead_does_not_post_beside_the_one_that_took_over(
    world: FakeSlack, database: store.Database
):
    question = asked(world)
    late = asyncio.Event()

    async def second_ask(*arguments: Any) -> Answer:
        await late.wait()
        return answering("second")(arguments[0])

    second = Deliveries(replace(carried(world, database, Agent()), ask=second_ask), agent="a")

    async def first_ask(*arguments: Any) -> Answer:
        await expire(database)
        await second.resume()
        return answering("first")(arguments[0])

    await finished(Deliveries(replace(carried(world, database, Agent()), ask=first_ask), agent="a"), question)
    late.set()
    await second.settled()

    assert world.seen(ROOM, question.ts) == "second"


async def test_a_full_house_is_no_failure_the_question_waits(world: FakeSlack, database: store.Database):
    agent = Agent()
    question = asked(world)

    async def full(*_: Any) -> Answer:
        raise Busy("full")

    for _ in range(7):
        busy = Deliveries(replace(carried(world, database, agent), ask=full), agent="a")
        await busy.receive(question)
        await busy.resume()
        await busy.settled()
        await expire(database)
    last = Deliveries(carried(world, database, agent), agent="a")
    await last.resume()
    await last.settled()

    assert len(world.replies(ROOM, question.ts)) == 1
    assert world.ephemeral == []


async def test_a_question_that_fails_again_and_again_ends_with_a_word_to_the_asker(
    world: FakeSlack, database: store.Database
):
    question = asked(world)

    async def broken(*_: Any) -> Answer:
        raise ValueError("a bug")

    for _ in range(6):
        deliveries = Deliveries(replace(carried(world, database, Agent()), ask=broken), agent="a")
        await deliveries.receive(question)
        await deliveries.resume()
        await deliveries.settled()
        await expire(database)

    assert [e["user"] for e in world.ephemeral] == ["UANN"]
    assert "several times" in world.ephemeral[0]["text"]


async def test_a_reply_to_a_deleted_message_does_not_land_in_the_channel(world: FakeSlack, install: Install):
    body = world.write(ROOM, "UANN", "why?")
    agent = Agent(during=lambda: world.delete(ROOM, body["event"]["ts"]))

    async with install(agent) as app:
        await told(world, app, body)

    assert len(agent.asked) == 1
    assert not any(m.get("user") == BOT for m in world.messages[ROOM])


@pytest.mark.parametrize("channel", [ROOM, CLOSED, DIRECT])
async def test_a_message_without_replies_is_not_taken_for_a_deleted_one(
    world: FakeSlack, install: Install, channel: str
):
    world.empty_replies = True
    body = world.write(channel, "UANN", "why?")

    async with install(Agent()) as app:
        await told(world, app, body)

    assert len(world.replies(channel, body["event"]["ts"])) == 1


async def test_an_answer_that_takes_longer_than_a_stream_lives_comes_whole(world: FakeSlack, install: Install):
    def minutes_pass() -> None:
        world.now += 600

    body = world.write(ROOM, "UANN", "why?")

    async with install(Agent(says=answering("Because."), during=minutes_pass)) as app:
        await told(world, app, body)

    assert world.seen(ROOM, body["event"]["ts"]) == "Because."
    assert not any("Stream" in call for call in world.calls), "what is whole is posted whole"


async def test_a_channel_that_we_cannot_speak_in_ends_the_delivery(world: FakeSlack, database: store.Database):
    question = replace(asked(world), channel="CGONE", thread="1.0", ts="1.0")

    await finished(Deliveries(carried(world, database, Agent()), agent="a"), question)

    async with database.transaction() as tx:
        assert await tx.one("select state, outcome, principal from delivery") == ("done", "dropped", ANN)
