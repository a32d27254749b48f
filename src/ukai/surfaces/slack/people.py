"""Slack's users as everybody else calls them, and who reads in a channel (P3.2).

One person may have several ids (one in a workspace, one in the whole organisation); the mail address, confirmed by
Slack, is what leads to the one principal. Who comes from another organisation is nobody we know.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from slack_sdk.web.async_client import AsyncWebClient

from ukai.app import identity
from ukai.app.deliveries import Question, Uncertain
from ukai.kit import principal
from ukai.kit.clock import Clock
from ukai.surfaces.slack.wire import Answer, called, cursor_of, error_of, part

KNOWN_FOR = timedelta(minutes=10)
UNKNOWN_FOR = timedelta(seconds=30)
"""Somebody who has just been given an address should not wait."""
MEMBERS = 500
"""Of a channel with more, nobody knows who reads there."""
REMEMBERED = 20_000


@dataclass(frozen=True, kw_only=True)
class Home:
    """Where the app is installed, and who it is there."""

    team: str
    enterprise: str
    user: str
    """Our own user."""


@dataclass(kw_only=True)
class People:
    """Looks people and places up, and remembers people for a while."""

    client: AsyncWebClient
    clock: Clock
    home: Home
    everybody: tuple[str, ...] | None = None
    """Who may enter a public channel, as groups of `access/groups.yaml`; None: nobody knows."""
    _known: dict[str, tuple[str | None, datetime]] = field(default_factory=dict[str, tuple[str | None, datetime]])

    async def principal(self, user: str) -> str | None:
        """Who this is; None for somebody nobody knows: a bot, a stranger, no confirmed address."""
        now = self.clock.now()
        known = self._known.get(user)
        if known is not None and known[1] > now:
            return known[0]
        try:
            answer = await called(self.client, "users.info", user=user)
            found = self._named(part(answer, "user"))
        except Uncertain as failed:
            if error_of(failed) not in ("user_not_found", "user_not_visible"):
                raise
            found = None
        if len(self._known) >= REMEMBERED:
            self._known.clear()
        self._known[user] = (found, now + (UNKNOWN_FOR if found is None else KNOWN_FOR))
        return found

    async def place(self, question: Question) -> identity.Place:
        """Who reads what is posted under the question."""
        if question.is_direct:
            return identity.Place(kind="direct")
        answer = await called(self.client, "conversations.info", channel=question.channel)
        channel = part(answer, "channel")
        if any(channel.get(k) for k in ("is_ext_shared", "is_pending_ext_shared")) or channel.get("is_shared"):
            return identity.Place(kind="shared")
        if channel.get("is_private") or channel.get("is_mpim") or channel.get("is_group"):
            return identity.Place(kind="private", members=await self._members(question.channel))
        return identity.Place(kind="public", members=self.everybody)

    async def _members(self, channel: str) -> tuple[str, ...] | None:
        users: list[str] = []
        cursor = ""
        while True:
            page = await called(self.client, "conversations.members", channel=channel, limit=200, cursor=cursor or None)
            users += [str(user) for user in page.get("members") or ()]
            cursor = cursor_of(page)
            if len(users) > MEMBERS:
                return None
            if not cursor:
                break
        others = [user for user in users if user != self.home.user]
        found = await asyncio.gather(*(self.principal(user) for user in others))
        return tuple(who or principal.PUBLIC for who in found)

    def _named(self, user: Answer) -> str | None:
        if user.get("deleted") or user.get("is_bot") or user.get("is_stranger"):
            return None
        organisation = part(user, "enterprise_user")
        is_ours = user.get("team_id") == self.home.team or (
            bool(self.home.enterprise) and organisation.get("enterprise_id") == self.home.enterprise
        )
        if not is_ours or user.get("is_email_confirmed") is not True:
            return None
        name = principal.canonical(str(part(user, "profile").get("email") or ""))
        return name if name is not None and principal.kind_of(name) == "person" else None
