"""One call of Slack's Web API, and what its failure means: try again, or there is nobody to speak to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import aiohttp
from slack_sdk.errors import SlackApiError, SlackClientError
from slack_sdk.web.async_client import AsyncWebClient

from ukai.app.deliveries import NotThere, Uncertain

GONE = frozenset(
    {
        "channel_not_found",
        "is_archived",
        "not_in_channel",
        "user_not_in_channel",
        "cannot_reply_to_message",
        "restricted_action",
        "msg_too_long",
        "msg_blocks_too_long",
        "invalid_blocks",
    }
)
"""Errors that another try meets again. The last three would be a fault of ours."""
MAX_WAIT_S = 300.0

Answer = Mapping[str, Any]


async def called(client: AsyncWebClient, method: str, **arguments: Any) -> Answer:
    """The answer of one call. Raises NotThere where another try cannot help, else Uncertain: it may have been done."""
    given = {name: value for name, value in arguments.items() if value is not None}
    # What only reads takes no JSON, and there `True` is no word for true.
    is_json = method.startswith(("chat.", "assistant."))
    if not is_json:
        given = {name: str(value).lower() if isinstance(value, bool) else value for name, value in given.items()}
    api: Any = client
    try:
        answer = await api.api_call(method, **{"json" if is_json else "data": given})
    except SlackApiError as refused:
        raise _meaning(refused) from refused
    except (TimeoutError, aiohttp.ClientError, ConnectionError, SlackClientError) as away:
        raise Uncertain(f"Slack did not answer: {type(away).__name__}") from away
    return part(answer.data)


def part(value: Any, key: str = "") -> Answer:
    """What is a mapping, or the one under `key` in it; an empty one for anything else."""
    mapping: Answer = cast("Answer", value) if isinstance(value, dict) else {}
    return part(mapping.get(key)) if key else mapping


def cursor_of(page: Answer) -> str:
    """Where the next page begins; empty on the last."""
    return str(part(page, "response_metadata").get("next_cursor") or "")


def error_of(failure: NotThere | Uncertain) -> str:
    """Slack's own word for it; empty when it said nothing."""
    cause = failure.__cause__
    return _word(cause) if isinstance(cause, SlackApiError) else ""


def _meaning(refused: SlackApiError) -> NotThere | Uncertain:
    word = _word(refused)
    if word in GONE:
        return NotThere(f"Slack refuses: {word}")
    response: Any = refused.response
    headers: Any = getattr(response, "headers", None) or {}
    wish = str(headers.get("Retry-After", ""))
    wait = min(float(wish), MAX_WAIT_S) if wish.isdecimal() else None
    return Uncertain(f"Slack refuses for now: {word or 'no reason'}", retry_after_s=wait)


def _word(refused: SlackApiError) -> str:
    response: Any = refused.response
    return str(part(getattr(response, "data", response)).get("error", ""))
