"""Ann, Ben and a stranger in a fake Slack, and our app installed there over a stand-in for the turn."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from uuid import uuid4

import pytest

from tests.slack.fake import BOT, SECRET, FakeSlack, running, user
from ukai import store
from ukai.app import identity
from ukai.app.deliveries import Answer, Delivery, Listener
from ukai.kit.clock import SystemClock
from ukai.runtime.events import Event
from ukai.surfaces import slack

ANN, BEN = "ann@harbor.example", "ben@harbor.example"
ROOM, CLOSED, SHARED, DIRECT = "CROOM", "CCLOSED", "CSHARED", "DANN"


@dataclass(kw_only=True)
class Agent:
    """Stands for the turn: says what the test wants it to say, and remembers who asked from where."""

    says: Callable[[Delivery], Answer] = lambda d: Answer(
        text=f"You asked: {d.question.text}", outcome="answered", run_id=str(uuid4()), is_private=False
    )
    asked: list[tuple[str, str, identity.Place]] = field(default_factory=list[tuple[str, str, identity.Place]])
    during: Callable[[], None] = lambda: None

    async def __call__(self, delivery: Delivery, principal: str, place: identity.Place, listen: Listener) -> Answer:
        self.asked.append((delivery.question.text, principal, place))
        listen(Event(kind="status", at=datetime.now(UTC), data={"text": "searching records"}))
        self.during()
        return self.says(delivery)


def answering(text: str, *, outcome: str = "answered", is_private: bool = False) -> Callable[[Delivery], Answer]:
    def says(_: Delivery) -> Answer:
        return Answer(text=text, outcome=outcome, run_id=str(uuid4()), is_private=is_private)

    return says


@pytest.fixture
async def world() -> AsyncIterator[FakeSlack]:
    """Ann has two ids; Mo is from another company; nobody confirmed Nix's address."""
    fake = FakeSlack()
    for one in (
        user("UANN", "Ann@Harbor.example"),
        user("WANN", ANN),
        user("UBEN", BEN),
        user("UNIX", "nix@harbor.example", is_email_confirmed=False),
        user("UMO", "mo@elsewhere.example", team_id="T9"),
        user("UROBOT", None, is_bot=True),
    ):
        fake.users[one["id"]] = one
    fake.channel(ROOM, ["UANN", "UBEN"])
    fake.channel(CLOSED, ["UANN", "UBEN"], is_private=True)
    fake.channel(SHARED, ["UANN", "UMO"], is_ext_shared=True)
    fake.channel(DIRECT, ["UANN"], is_im=True)
    async with running(fake) as up:
        yield up


Install = Callable[..., AbstractAsyncContextManager[slack.Slack]]


@pytest.fixture
def install(world: FakeSlack, database: store.Database) -> Install:
    """`async with install(agent) as app`: connected over socket mode."""

    @asynccontextmanager
    async def installed(agent: Agent, *, everybody: tuple[str, ...] | None = None) -> AsyncIterator[slack.Slack]:
        keys = slack.Keys(bot="xoxb-1", app="xapp-1", signing=SECRET, api=world.url)
        served = slack.Served(
            db=database,
            clock=SystemClock(),
            agent="deal-coach",
            ask=agent,
            prompts=lambda: [("Weekly review", "What changed in my accounts this week?")],
            everybody=everybody,
            drain_s=2.0,
        )
        async with slack.opened(served, keys) as app:
            await world.connected()
            yield app

    return installed


__all__ = ["ANN", "BEN", "BOT", "CLOSED", "DIRECT", "ROOM", "SHARED", "Agent", "Install", "answering"]
