"""Two providers' wire formats over a real socket: figures as they report them, and every way to die (P4.1, P4.6)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from decimal import Decimal
from typing import Any

import pytest

from tests.runtime.turns import ITEMS, calls, ran, returning
from ukai import record, store
from ukai.llm import config, models

KEY = "sk-not-a-real-key-of-anybody"


class Stream(bytes):
    """A body of server-sent events."""


Reply = bytes | Callable[[asyncio.StreamWriter], Any]


def openai(message: dict[str, Any], **usage: Any) -> bytes:
    reply = {
        "id": "chatcmpl-1", "object": "chat.completion", "created": 1_790_000_000, "model": "gpt-4o",
        "choices": [{"index": 0, "message": {"role": "assistant", **message},
                     "finish_reason": "tool_calls" if "tool_calls" in message else "stop"}],
        "usage": usage,
    }  # fmt: skip
    return json.dumps(reply).encode()


def anthropic(block: dict[str, Any], delta: dict[str, Any], stop: str, output: int, **usage: int) -> Stream:
    """As it is streamed: the input is counted at the beginning, the output at the end."""
    message = {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-haiku-5-5", "content": [],
        "stop_reason": None, "stop_sequence": None, "usage": {**usage, "output_tokens": 1},
    }  # fmt: skip
    events = [
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta",
            "delta": {"stop_reason": stop, "stop_sequence": None},
            "usage": {"output_tokens": output},
        },
        {"type": "message_stop"},
    ]
    return Stream("".join(f"event: {e['type']}\ndata: {json.dumps(e)}\n\n" for e in events).encode())


OPENAI = [
    openai(
        {"content": None, "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "search", "arguments": '{"query": "gate"}'}}]},
        prompt_tokens=1_200, completion_tokens=30, total_tokens=1_230, prompt_tokens_details={"cached_tokens": 1_000},
    ),
    openai(
        {"content": "The gate waits. [Memo#1/body]"},
        prompt_tokens=1_500, completion_tokens=20, total_tokens=1_520, prompt_tokens_details={"cached_tokens": 0},
    ),
]  # fmt: skip
ANTHROPIC = [
    anthropic(
        {"type": "tool_use", "id": "t1", "name": "search", "input": {}},
        {"type": "input_json_delta", "partial_json": '{"query": "gate"}'},
        "tool_use", 30, input_tokens=200, cache_read_input_tokens=1_000, cache_creation_input_tokens=0,
    ),
    anthropic(
        {"type": "text", "text": ""}, {"type": "text_delta", "text": "The gate waits. [Memo#1/body]"},
        "end_turn", 20, input_tokens=1_500, cache_read_input_tokens=0, cache_creation_input_tokens=0,
    ),
]  # fmt: skip


@asynccontextmanager
async def provider(replies: Sequence[Reply]) -> AsyncGenerator[str]:
    """A server that gives one reply a request, then nothing any more."""
    left = list(replies)
    open_: set[asyncio.Task[Any]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        open_.add(task)
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                sizes = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
                await reader.readexactly(int(sizes[0].split(b":")[1]) if sizes else 0)
                reply = left.pop(0) if left else b""
                if callable(reply):
                    await reply(writer)
                    return
                writer.write(http(reply))
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            return
        finally:
            writer.close()
            open_.discard(task)

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        for task in open_:
            task.cancel()
        await asyncio.gather(*open_, return_exceptions=True)


def http(body: bytes, status: str = "200 OK") -> bytes:
    kind = "text/event-stream" if isinstance(body, Stream) else "application/json"
    head = f"HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {len(body)}\r\n\r\n"
    return head.encode() + body


async def asked(db: store.Database, kind: str, replies: Sequence[Reply], **more: Any) -> record.Run:
    from pydantic_ai.models import override_allow_model_requests

    async with provider(replies) as url:
        use = {"openai": "openai-chat:gpt-4o", "anthropic": "anthropic:claude-haiku-5-5"}[kind]
        address = f"{url}/v1" if kind == "openai" else url
        spec = config.ModelSpec(use=use, base_url=address, key="KEY")
        model = models.build(spec, environ={"KEY": KEY})
        with override_allow_model_requests(True):
            run = await ran(db, model, returning(ITEMS), **more)
        await _closed(model)
        return run


async def _closed(model: Any) -> None:
    client = getattr(model, "client", None)
    if client is not None:
        await client.close()


@pytest.mark.parametrize("kind", ["openai", "anthropic"])
async def test_tokens_in_the_record_are_the_providers_own_figures(database: store.Database, kind: str):
    run = await asked(database, kind, OPENAI if kind == "openai" else ANTHROPIC)

    assert run.status == "answered", run.reason
    assert calls(run) == [("search", "data", None)]
    assert [(u.input, u.output, u.cached) for u in run.usage] == [(1_200, 30, 1_000), (1_500, 20, 0)]
    assert {u.purpose for u in run.usage} == {"agent"}
    assert KEY not in record.dumps(run)


async def test_a_price_that_is_not_known_is_none_and_never_zero(database: store.Database):
    run = await asked(database, "openai", OPENAI, allowance={"usd": Decimal(1)})

    assert [u.usd for u in run.usage] == [None, None], "a server of one's own has not the price of whose name it uses"
    assert run.status == "answered"


async def hangs_up(writer: asyncio.StreamWriter) -> None:
    """In the middle of the body."""
    whole = http(OPENAI[1])
    writer.write(whole[: len(whole) // 2])
    await writer.drain()


async def hangs(_: asyncio.StreamWriter) -> None:
    await asyncio.Event().wait()


async def refuses(writer: asyncio.StreamWriter) -> None:
    writer.write(http(b'{"error": {"message": "bad request"}}', "400 Bad Request"))
    await writer.drain()


@pytest.mark.parametrize(
    ("second", "status"),
    [
        (hangs_up, "error"),
        (refuses, "error"),
        (b"<html>bad gateway</html>", "error"),
        (b'{"choices": []}', "error"),
        (b"{}", "error"),
        (openai({"content": ""}, prompt_tokens=1, completion_tokens=0, total_tokens=1), "error"),
        (hangs, "budget"),
    ],
    ids=["dies mid-stream", "refuses", "html", "no choice", "empty object", "says nothing", "stalls"],
)
async def test_however_a_provider_dies_the_turn_ends_clearly_and_keeps_what_it_did(
    database: store.Database, second: Reply, status: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("openai._constants.INITIAL_RETRY_DELAY", 0.0)
    monkeypatch.setattr("openai._base_client.INITIAL_RETRY_DELAY", 0.0)
    monkeypatch.setattr("openai._base_client.MAX_RETRY_DELAY", 0.0)

    run = await asked(database, "openai", [OPENAI[0], *[second] * 4], allowance={"seconds": 1.5})

    assert run.status == status, run.reason
    assert run.reason
    assert run.answer is None
    assert calls(run) == [("search", "data", None)]
    assert run.calls[0].items
    assert run.usage[0].input == 1_200
    assert record.verify(run) == []
    assert "gateway" not in run.reason
    assert "bad request" not in run.reason
