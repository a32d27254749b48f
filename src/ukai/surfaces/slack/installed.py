"""One installed app: its keys, its listeners, its life."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from slack_bolt.adapter.socket_mode.aiohttp import AsyncSocketModeHandler
from slack_bolt.adapter.starlette.async_handler import AsyncSlackRequestHandler
from slack_bolt.async_app import AsyncApp
from slack_sdk.web.async_client import AsyncWebClient
from starlette.requests import Request
from starlette.responses import Response

from ukai.app.deliveries import Ask, Carrier, Database, Deliveries, NotThere, Uncertain
from ukai.kit.clock import Clock
from ukai.kit.errors import PermanentError, TemporaryError
from ukai.surfaces.slack import hearing
from ukai.surfaces.slack.chat import FEEDBACK, SlackChat
from ukai.surfaces.slack.people import Home, People
from ukai.surfaces.slack.wire import called, part

API = "https://slack.com/api/"
CALL_S = 20
"""Seconds that one call of Slack may take."""

_SECONDS = re.compile(r"[0-9]{1,12}\Z")
_log = logging.getLogger(__name__)


class NoKeys(PermanentError):
    """The keys of the Slack app are not all there."""

    hint = "docs/howto/slack.md says where Slack shows them"


class NoSlack(TemporaryError):
    """Slack did not say who we are there."""


@dataclass(frozen=True, kw_only=True)
class Keys:
    """What Slack gives to an app that is installed."""

    bot: str
    app: str = ""
    """For socket mode."""
    signing: str = ""
    """For HTTP."""
    api: str = API


def keys(environ: Mapping[str, str]) -> Keys:
    """From the environment. Raises NoKeys."""
    found = Keys(
        bot=environ.get("SLACK_BOT_TOKEN", ""),
        app=environ.get("SLACK_APP_TOKEN", ""),
        signing=environ.get("SLACK_SIGNING_SECRET", ""),
        api=environ.get("UKAI_SLACK_API", API),
    )
    if not found.bot:
        raise NoKeys("SLACK_BOT_TOKEN is not set")
    if not (found.app or found.signing):
        raise NoKeys("neither SLACK_APP_TOKEN (socket mode) nor SLACK_SIGNING_SECRET (HTTP) is set")
    return found


@dataclass(frozen=True, kw_only=True)
class Served:
    """The agent behind the app."""

    db: Database
    clock: Clock
    agent: str
    ask: Ask
    prompts: Callable[[], Sequence[tuple[str, str]]]
    """Title and text of what may be asked, for whoever opens our messages."""
    everybody: tuple[str, ...] | None = None
    """Who may enter a public channel, as principals; None: nobody knows."""
    drain_s: float = 60.0


@dataclass(frozen=True, kw_only=True)
class Slack:
    """The app while it is open."""

    bolt: AsyncApp
    deliveries: Deliveries
    keys: Keys

    async def http(self, request: Request) -> Response:
        """Answer one request of Slack; what it did not sign is refused."""
        if not self.keys.signing:
            return Response("this app hears over socket mode", status_code=404)
        # What judges the signature takes whatever stands there for a number.
        if not _SECONDS.match(request.headers.get("x-slack-request-timestamp", "")):
            return Response("Slack did not send this", status_code=401)
        return await AsyncSlackRequestHandler(self.bolt).handle(request)


@asynccontextmanager
async def opened(served: Served, given: Keys) -> AsyncGenerator[Slack]:
    """The app, connected. At the end what is under way is finished. Raises NoSlack."""
    client = calling(given)
    home = await _home(client)
    people = People(client=client, clock=served.clock, home=home, everybody=served.everybody)
    chat = SlackChat(client=client, people=people)
    carrier = Carrier(db=served.db, clock=served.clock, holder=uuid4(), chat=chat, ask=served.ask)
    deliveries = Deliveries(carrier, agent=served.agent)
    bolt = _listening(client, given, served, deliveries, people)
    socket = AsyncSocketModeHandler(bolt, given.app) if given.app else None
    watching = asyncio.create_task(deliveries.watch())
    try:
        if socket is not None:
            await socket.connect_async()
        yield Slack(bolt=bolt, deliveries=deliveries, keys=given)
    finally:
        if socket is not None:
            await socket.close_async()
        watching.cancel()
        with suppress(asyncio.CancelledError):
            await watching
        await deliveries.close(within_s=served.drain_s)


def calling(given: Keys) -> AsyncWebClient:
    """What calls Slack. Its own retries would post a message twice whose answer got lost."""
    return AsyncWebClient(token=given.bot, base_url=given.api, timeout=CALL_S, retry_handlers=[])


async def _home(client: AsyncWebClient) -> Home:
    try:
        me = await called(client, "auth.test")
    except (Uncertain, NotThere) as failed:
        raise NoSlack(f"Slack does not accept us: {failed}", hint="check SLACK_BOT_TOKEN") from failed
    return Home(team=str(me["team_id"]), enterprise=str(me.get("enterprise_id") or ""), user=str(me["user_id"]))


def _listening(
    client: AsyncWebClient,
    given: Keys,
    served: Served,
    deliveries: Deliveries,
    people: People,
) -> AsyncApp:
    """What we hear. A listener that fails is not acknowledged, and Slack sends the event again."""
    bolt = AsyncApp(client=client, signing_secret=given.signing, process_before_response=True, name="ukai")
    hear: Any = bolt

    async def asked(body: dict[str, Any]) -> None:
        question = hearing.question(body, me=people.home.user)
        if question is not None:
            await deliveries.receive(question)

    async def entered(event: dict[str, Any]) -> None:
        await _suggest(client, served, event)

    async def rated(ack: Any, body: dict[str, Any]) -> None:
        await ack()
        await _rate(deliveries, people, body)

    hear.event("app_mention")(asked)
    hear.event("message")(asked)
    hear.event("app_home_opened")(entered)
    hear.event("assistant_thread_started")(entered)
    hear.event("assistant_thread_context_changed")(_nothing)
    hear.action(FEEDBACK)(rated)
    return bolt


async def _nothing() -> None:
    """Heard, and of no use to us."""


async def _suggest(client: AsyncWebClient, served: Served, event: Mapping[str, Any]) -> None:
    """Prompts for whoever opens our messages: what the agent's skills say of themselves."""
    if event.get("tab", "messages") != "messages":
        return
    thread = part(event, "assistant_thread")
    channel = str(thread.get("channel_id") or event.get("channel") or "")
    prompts = [{"title": title, "message": message} for title, message in served.prompts()]
    if not channel or not prompts:
        return
    try:
        await called(
            client,
            "assistant.threads.setSuggestedPrompts",
            channel_id=channel,
            thread_ts=thread.get("thread_ts"),
            prompts=prompts,
        )
    except (Uncertain, NotThere) as failed:
        _log.debug("no prompts in %s: %s", channel, failed)


async def _rate(deliveries: Deliveries, people: People, body: Mapping[str, Any]) -> None:
    """Keep what somebody thinks of an answer, if we know them."""
    action = part((body.get("actions") or [None])[0])
    value, _, run_id = str(action.get("value") or "").partition(":")
    who = await people.principal(str(part(body, "user").get("id") or ""))
    if who is not None and value in ("up", "down"):
        at = datetime.fromtimestamp(float(action["action_ts"]), UTC)
        await deliveries.rate(run_id, who, value, at=at)
