"""What Slack sends, as questions: mentions in channels, every message in a direct conversation."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, cast

from ukai.app.deliveries import Question

_MARKUP = re.compile(r"<([^<>]*)>")
_TEAM = re.compile(r"[A-Z0-9]{1,40}\Z")
LONGEST = 20_000


def question(body: Mapping[str, Any], *, me: str) -> Question | None:
    """The question of one event; None when it is none: an edit, a bot's word, our own, an empty line."""
    told = body.get("event")
    event = cast("Mapping[str, Any]", told if isinstance(told, Mapping) else {})
    if event.get("type") not in ("app_mention", "message") or event.get("bot_id") or event.get("app_id"):
        return None
    if event.get("subtype") not in (None, "file_share", "thread_broadcast"):
        return None
    is_direct = event.get("channel_type") == "im" or str(event.get("channel", "")).startswith("D")
    if event.get("type") == "message" and not is_direct:
        return None  # a channel's talk is nobody's question; a mention comes as an event of its own
    user, channel, ts = (str(event.get(name) or "") for name in ("user", "channel", "ts"))
    text = words(str(event.get("text") or "")[:LONGEST], me=me)
    team = str(body.get("team_id") or event.get("team") or "")
    if not (user and channel and ts and text) or user == me or not _TEAM.match(team):
        return None
    return Question(
        event_id=str(body.get("event_id") or ""),
        team=team,
        channel=channel,
        ts=ts,
        thread=str(event.get("thread_ts") or ts),
        user=user,
        text=text,
        is_direct=is_direct,
    )


def words(text: str, *, me: str) -> str:
    """Slack's markup as a person reads it, without our own name."""

    def said(found: re.Match[str]) -> str:
        target, _, label = found[1].partition("|")
        if target.startswith("@"):
            return "" if target[1:] == me else f"@{label or target[1:]}"
        if target.startswith("#"):
            return f"#{label or target[1:]}"
        if target.startswith("!"):
            return label or target[1:].partition("^")[0]
        return label if label and label != target.removeprefix("mailto:") else target.removeprefix("mailto:")

    plain = _MARKUP.sub(said, text)
    return plain.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&").strip()
