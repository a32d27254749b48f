"""A small Slack on real sockets: Web API, socket mode, signed HTTP events; with the quirks that people report.

1  a stream dies after five minutes, also while it is used, and what was not flushed is lost (python-slack-sdk#1859)
2  a stream in a channel needs `recipient_user_id` (dust#22893)
3  too long: 3,000 characters a section, 50 blocks, 13,200 in all, 40,000 of text (bolt-js#2509)
4  the same event comes again, and a mention also as a plain message, each with an event id of its own (inkeep#1999)
5  a message is stored and the answer to us is lost, so that the call seems to have failed (inkeep#1999)
6  a reply to a deleted message is posted into the channel, with `ok` (astropods/messaging, June 2026)
7  `conversations.replies` of a message without replies may be empty (astropods/messaging, August 2026)
8  one person has two user ids; a stranger of a shared channel has one as well
and too many requests are answered with 429 and Retry-After.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import html
import json
import re
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl

import aiohttp
from aiohttp import web

TEAM, BOT, SECRET = "T1", "UBOT", "signing-secret"
STREAM_S = 300


def user(id: str, email: str | None, **more: Any) -> dict[str, Any]:
    return {"id": id, "team_id": TEAM, "is_email_confirmed": True, "profile": {"email": email}, **more}


@dataclass(kw_only=True)
class FakeSlack:
    """The whole company's Slack."""

    users: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    channels: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    members: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    messages: dict[str, list[dict[str, Any]]] = field(default_factory=dict[str, list[dict[str, Any]]])
    ephemeral: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    statuses: list[str] = field(default_factory=list[str])
    prompts: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    streams: dict[str, float] = field(default_factory=dict[str, float])
    calls: list[str] = field(default_factory=list[str])
    wire: bytearray = field(default_factory=bytearray)
    """Every byte of every body that came to us."""
    lose: dict[str, int] = field(default_factory=dict[str, int])
    """Method -> how many answers get lost after the call was carried out."""
    limit: dict[str, int] = field(default_factory=dict[str, int])
    """Method -> how many calls are told to come later."""
    hold: dict[str, asyncio.Event] = field(default_factory=dict[str, asyncio.Event])
    """Method -> what its answer waits for, after the call was carried out."""
    held: asyncio.Event = field(default_factory=asyncio.Event)
    gone: asyncio.Event = field(default_factory=asyncio.Event)
    """Whoever heard over the socket has left."""
    empty_replies: bool = False
    now: float = 1_700_000_000.0
    port: int = 0
    _sockets: list[web.WebSocketResponse] = field(default_factory=list[web.WebSocketResponse])
    acked: list[str] = field(default_factory=list[str])
    _connected: asyncio.Event = field(default_factory=asyncio.Event)
    _heard: asyncio.Condition = field(default_factory=asyncio.Condition)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/api/"

    # What people do ------------------------------------------------------------------------------------------------

    def channel(self, id: str, members: list[str], **more: Any) -> str:
        self.channels[id] = {"id": id, "is_im": False, "is_private": False, **more}
        self.members[id] = [*members, BOT]
        self.messages[id] = []
        return id

    def write(self, channel: str, who: str, text: str, *, thread: str | None = None) -> dict[str, Any]:
        """Somebody writes; the body of the event comes back."""
        ts = self.ts()
        message = {"ts": ts, "user": who, "text": text, **({"thread_ts": thread} if thread else {})}
        self.messages[channel].append(message)
        is_direct = bool(self.channels[channel].get("is_im"))
        return self.event({"type": "message" if is_direct else "app_mention", "channel": channel, **message})

    def twin(self, body: dict[str, Any]) -> dict[str, Any]:
        """The same mention as the plain message that it also is."""
        return self.event({**body["event"], "type": "message", "channel_type": "channel"})

    def delete(self, channel: str, ts: str) -> None:
        self.messages[channel] = [m for m in self.messages[channel] if m["ts"] != ts]

    def event(self, event: dict[str, Any]) -> dict[str, Any]:
        number = f"Ev{len(self.calls)}{self.ts()}"
        return {"type": "event_callback", "team_id": TEAM, "event_id": number, "event": event}

    def ts(self) -> str:
        self.now += 1
        return f"{self.now:.6f}"

    # What Slack sends ----------------------------------------------------------------------------------------------

    async def connected(self) -> None:
        await self._connected.wait()

    async def heard(self, count: int) -> None:
        """So many envelopes were acknowledged."""
        async with asyncio.timeout(10), self._heard:
            await self._heard.wait_for(lambda: len(self.acked) >= count)

    async def send(self, body: dict[str, Any], *, kind: str = "events_api") -> None:
        """Over the socket."""
        envelope = {"envelope_id": body.get("event_id", self.ts()), "type": kind, "payload": body}
        await self._sockets[-1].send_str(json.dumps({**envelope, "accepts_response_payload": False}))

    async def post(self, url: str, body: dict[str, Any], *, retry: int = 0, secret: str = SECRET, at: str = "") -> int:
        """Over HTTP, signed; the status of the answer."""
        is_action = body.get("type") == "block_actions"
        raw = ("payload=" + json.dumps(body)) if is_action else json.dumps(body)
        at = at or str(int(time.time()))
        signature = hmac.new(secret.encode(), f"v0:{at}:{raw}".encode(), hashlib.sha256).hexdigest()
        headers = {"X-Slack-Request-Timestamp": at, "X-Slack-Signature": f"v0={signature}"}
        headers["Content-Type"] = "application/x-www-form-urlencoded" if is_action else "application/json"
        if retry:
            headers |= {"X-Slack-Retry-Num": str(retry), "X-Slack-Retry-Reason": "http_timeout"}
        async with aiohttp.ClientSession() as session, session.post(url, data=raw, headers=headers) as answer:
            await answer.read()
            return answer.status

    # What people see -----------------------------------------------------------------------------------------------

    def replies(self, channel: str, ts: str) -> list[dict[str, Any]]:
        """Ours, under one message."""
        return [m for m in self.messages[channel] if m.get("user") == BOT and m.get("thread_ts") == ts]

    def seen(self, channel: str, ts: str) -> str:
        """The words of our replies under one message, as a reader sees them."""
        sections = [
            block["text"]["text"]
            for message in self.replies(channel, ts)
            for block in message["blocks"]
            if block["type"] == "section"
        ]
        return "\n".join(shown(text) for text in sections)

    # The Web API ---------------------------------------------------------------------------------------------------

    async def api(self, request: web.Request) -> web.StreamResponse:
        raw = await request.read()
        self.wire += raw
        method = request.match_info["method"]
        self.calls.append(method)
        if self.limit.get(method, 0) > 0:
            self.limit[method] -= 1
            return web.json_response({"ok": False, "error": "ratelimited"}, status=429, headers={"Retry-After": "7"})
        is_json = request.content_type == "application/json"
        given = json.loads(raw) if is_json else dict(parse_qsl(raw.decode()))
        answer = getattr(self, "_" + method.replace(".", "_"))(given)
        if method in self.hold:
            self.held.set()
            await self.hold[method].wait()
        if self.lose.get(method, 0) > 0:
            self.lose[method] -= 1
            assert request.transport is not None
            request.transport.close()
        return web.json_response(answer if "error" in answer else {"ok": True, **answer})

    def _auth_test(self, given: dict[str, Any]) -> dict[str, Any]:
        return {"team_id": TEAM, "user_id": BOT, "bot_id": "B1", "url": "https://x.slack.com/", "user": "ukai"}

    def _apps_connections_open(self, given: dict[str, Any]) -> dict[str, Any]:
        return {"url": f"ws://127.0.0.1:{self.port}/socket"}

    def _users_info(self, given: dict[str, Any]) -> dict[str, Any]:
        found = self.users.get(given["user"])
        return {"user": found} if found else _no("user_not_found")

    def _conversations_info(self, given: dict[str, Any]) -> dict[str, Any]:
        found = self.channels.get(given["channel"])
        return {"channel": found} if found else _no("channel_not_found")

    def _conversations_members(self, given: dict[str, Any]) -> dict[str, Any]:
        everybody = self.members[given["channel"]]
        start = int(given.get("cursor") or 0)
        end = start + int(given["limit"])
        return {
            "members": everybody[start:end],
            "response_metadata": {"next_cursor": str(end) if end < len(everybody) else ""},
        }

    def _conversations_replies(self, given: dict[str, Any]) -> dict[str, Any]:
        thread = [m for m in self.messages[given["channel"]] if given["ts"] in (m["ts"], m.get("thread_ts"))]
        if not any(m["ts"] == given["ts"] for m in thread):
            return _no("thread_not_found")
        if self.empty_replies and len(thread) == 1:
            return {"messages": []}
        since = float(given.get("oldest", 0))
        kept = [m for m in thread if m["ts"] == given["ts"] or float(m["ts"]) >= since]
        with_metadata = given.get("include_all_metadata") in ("1", "true", True)
        return {"messages": [m if with_metadata else {**m, "metadata": {}} for m in kept][: int(given["limit"])]}

    def _conversations_history(self, given: dict[str, Any]) -> dict[str, Any]:
        top = [m for m in self.messages[given["channel"]] if m.get("thread_ts") in (None, m["ts"])]
        return {"messages": [m for m in top if given["oldest"] <= m["ts"] <= given["latest"]]}

    def _chat_postMessage(self, given: dict[str, Any]) -> dict[str, Any]:
        channel = given["channel"]
        if channel not in self.channels:
            return _no("channel_not_found")
        wrong = too_long(given)
        if wrong:
            return _no(wrong)
        message = {**given, "ts": self.ts(), "user": BOT, "bot_id": "B1"}
        root = given.get("thread_ts")
        if root and not any(m["ts"] == root for m in self.messages[channel]):
            del message["thread_ts"]
        self.messages[channel].append(message)
        return {"ts": message["ts"], "channel": channel, "message": message}

    def _chat_postEphemeral(self, given: dict[str, Any]) -> dict[str, Any]:
        self.ephemeral.append(given)
        return {"message_ts": self.ts()}

    def _chat_startStream(self, given: dict[str, Any]) -> dict[str, Any]:
        if not self.channels[given["channel"]].get("is_im") and not given.get("recipient_user_id"):
            return _no("missing_recipient_user_id")
        ts = self.ts()
        self.streams[ts] = self.now
        return {"ts": ts, "channel": given["channel"]}

    def _chat_appendStream(self, given: dict[str, Any]) -> dict[str, Any]:
        alive = self.now - self.streams.get(given["ts"], -STREAM_S) < STREAM_S
        return {"ts": given["ts"]} if alive else _no("message_not_in_streaming_state")

    def _assistant_threads_setStatus(self, given: dict[str, Any]) -> dict[str, Any]:
        self.statuses.append(given["status"])
        return {}

    def _assistant_threads_setSuggestedPrompts(self, given: dict[str, Any]) -> dict[str, Any]:
        self.prompts.append(given)
        return {}

    # Socket mode ---------------------------------------------------------------------------------------------------

    async def socket(self, request: web.Request) -> web.WebSocketResponse:
        ws = web.WebSocketResponse()
        await ws.prepare(request)
        self._sockets.append(ws)
        await ws.send_str(json.dumps({"type": "hello", "num_connections": 1}))
        self._connected.set()
        async for message in ws:
            self.wire += message.data.encode()
            async with self._heard:
                self.acked.append(json.loads(message.data)["envelope_id"])
                self._heard.notify_all()
        self.gone.set()
        return ws


def too_long(given: dict[str, Any]) -> str:
    """Slack's word for it."""
    blocks = given.get("blocks", [])
    texts = [b["text"]["text"] for b in blocks if b["type"] == "section"]
    if len(blocks) > 50 or any(not 0 < len(t) <= 3_000 for t in texts):
        return "invalid_blocks"
    if sum(map(len, texts)) > 13_200:
        return "msg_blocks_too_long"
    return "msg_too_long" if len(given.get("text", "")) > 40_000 else ""


def _no(error: str) -> dict[str, Any]:
    return {"ok": False, "error": error}


_CODE = re.compile(r"```\n?(.*?)\n?```|`([^`\n]+)`", re.DOTALL)
_LINK = re.compile(r"<([^<>|]*)(?:\|([^<>]*))?>")
_MARK = re.compile(r"(?<![\w*_~\u200b])([*_~])(?=[^\s\u200b])((?:(?!\1).)+?)(?<=[^\s])\1(?![\w\u200b])")


def shown(text: str) -> str:
    """Slack's markup as a reader sees it. A mention shows as ⚠ and its target: nothing of ours ever is one."""
    pieces: list[str] = []
    at = 0
    for code in _CODE.finditer(text):
        pieces += [_marked(text[at : code.start()]), html.unescape(code[1] if code[1] is not None else code[2])]
        at = code.end()
    return "".join([*pieces, _marked(text[at:])]).replace("\u200b", "")


def _marked(text: str) -> str:
    def link(found: re.Match[str]) -> str:
        target, label = found[1], found[2]
        return f"\u26a0{target}" if target[:1] in "@#!" else (label or target)

    said = _LINK.sub(link, text)
    before = ""
    while before != said:
        before, said = said, _MARK.sub(lambda m: m[2], said)
    return html.unescape(re.sub(r"^&gt; ?", "> ", said, flags=re.MULTILINE))


@asynccontextmanager
async def running(fake: FakeSlack) -> AsyncIterator[FakeSlack]:
    """The server, until the block ends."""
    app = web.Application(client_max_size=1 << 22)
    app.router.add_post("/api/{method}", fake.api)
    app.router.add_get("/socket", fake.socket)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    fake.port = runner.addresses[0][1]
    try:
        yield fake
    finally:
        for ws in fake._sockets:
            await ws.close()
        await runner.cleanup()
