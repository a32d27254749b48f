"""What Slack does for a delivery: post a part, look whether it is there, tell one person alone, show a status."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from slack_sdk.web.async_client import AsyncWebClient

from ukai.app import identity
from ukai.app.deliveries import Delivery, NotThere, Part, Question, Uncertain
from ukai.surfaces.slack import mrkdwn, split
from ukai.surfaces.slack.people import People
from ukai.surfaces.slack.wire import called, cursor_of, error_of, part

REPLY = "ukai_reply"
"""The event type of the metadata by which a part is found again."""
FEEDBACK = "ukai_feedback"
LOOK_BACK = 10
"""Pages of a thread that are searched for parts of a reply, 200 messages each."""
STATUS = 50
"""Characters of a status, which Slack shows beside our name."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class SlackChat:
    """The chat of one installed app."""

    client: AsyncWebClient
    people: People

    async def principal(self, question: Question) -> str | None:
        return await self.people.principal(question.user)

    async def place(self, question: Question) -> identity.Place:
        return await self.people.place(question)

    def parts(self, text: str) -> list[Part]:
        return split.messages(mrkdwn.blocks(text)) or [[mrkdwn.plain(text) or "\u2026"]]

    async def is_there(self, question: Question) -> bool:
        """Slack posts a reply to a deleted message into the channel, and shows no error.

        A message that nobody has answered yet may be missing among the replies, so only both together say that it is
        gone; what cannot be asked counts as there.
        """
        channel, ts = question.channel, question.thread
        try:
            page = await called(self.client, "conversations.replies", channel=channel, ts=ts, limit=1)
            if page.get("messages"):
                return True
        except (Uncertain, NotThere) as failed:
            if error_of(failed) not in ("thread_not_found", "message_not_found"):
                return True
        try:
            page = await called(
                self.client,
                "conversations.history",
                channel=channel,
                oldest=ts,
                latest=ts,
                inclusive=True,
                limit=1,
            )
        except (Uncertain, NotThere):
            return True
        return any(message.get("ts") == ts for message in page.get("messages") or ())

    async def found(self, question: Question) -> Mapping[int, str]:
        parts: dict[int, str] = {}
        cursor = ""
        for _ in range(LOOK_BACK):
            try:
                page = await called(
                    self.client,
                    "conversations.replies",
                    channel=question.channel,
                    ts=question.thread,
                    oldest=question.ts,
                    include_all_metadata=True,
                    limit=200,
                    cursor=cursor or None,
                )
            except Uncertain as failed:
                if error_of(failed) in ("thread_not_found", "message_not_found"):
                    return parts
                raise
            for message in page.get("messages") or ():
                metadata = part(message, "metadata")
                payload = part(metadata, "event_payload")
                if metadata.get("event_type") == REPLY and payload.get("delivery") == question.id:
                    parts[int(payload["part"])] = str(message["ts"])
            cursor = cursor_of(page)
            if not cursor:
                break
        return parts

    async def post(self, delivery: Delivery, number: int) -> str:
        question, sections = delivery.question, delivery.parts[number]
        blocks: list[dict[str, Any]] = [_section(text) for text in sections]
        if number == len(delivery.parts) - 1 and delivery.run_id is not None and delivery.outcome == "answered":
            blocks.append(_feedback(delivery.run_id))
        answer = await called(
            self.client,
            "chat.postMessage",
            channel=question.channel,
            thread_ts=question.thread,
            text="\n\n".join(sections),
            blocks=blocks,
            metadata={"event_type": REPLY, "event_payload": {"delivery": question.id, "part": number}},
            unfurl_links=False,  # an address that Slack fetches tells its server what stands in it
            unfurl_media=False,
        )
        return str(answer["ts"])

    async def whisper(self, question: Question, text: str) -> None:
        thread = question.thread if question.thread != question.ts else None
        await called(
            self.client,
            "chat.postEphemeral",
            channel=question.channel,
            user=question.user,
            text=mrkdwn.plain(text),
            thread_ts=thread,
        )

    async def status(self, question: Question, line: str) -> None:
        try:
            await called(
                self.client,
                "assistant.threads.setStatus",
                channel_id=question.channel,
                thread_ts=question.thread,
                status=line[:STATUS],
            )
        except (Uncertain, NotThere) as failed:
            _log.debug("no status for %s: %s", question.id, failed)


def _section(text: str) -> dict[str, Any]:
    """`verbatim`: nothing in it becomes a link or a mention that we did not write; `expand`: no fold in the middle."""
    return {"type": "section", "expand": True, "text": {"type": "mrkdwn", "text": text, "verbatim": True}}


def _feedback(run_id: str) -> dict[str, Any]:
    def button(text: str, value: str) -> dict[str, Any]:
        return {"text": {"type": "plain_text", "text": text}, "value": f"{value}:{run_id}"}

    return {
        "type": "context_actions",
        "elements": [
            {
                "type": "feedback_buttons",
                "action_id": FEEDBACK,
                "positive_button": button("Good answer", "up"),
                "negative_button": button("Bad answer", "down"),
            }
        ],
    }
