"""Usage and cost equal the provider's own figures (P4.6), spoken in two wire formats over an in-process transport."""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import httpx2
import pydantic_ai.models
import pytest
from pydantic_ai import Agent
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.messages import ModelResponse
from pydantic_ai.usage import RequestUsage

from ukai.llm import config, models, scripted, usage
from ukai.llm.extractive import Extractive

KEY = "sk-made-up-0123456789abcdef"

OPENAI_CHAT: dict[str, Any] = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 1_780_000_000,
    "model": "gpt-4o",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "Hello."}, "finish_reason": "stop"}],
    "usage": {
        "prompt_tokens": 1200,
        "completion_tokens": 300,
        "total_tokens": 1500,
        "prompt_tokens_details": {"cached_tokens": 1000},
    },
}
ANTHROPIC: dict[str, Any] = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude-sonnet-4-6",
    "content": [{"type": "text", "text": "Hello."}],
    "stop_reason": "end_turn",
    "stop_sequence": None,
    "usage": {
        "input_tokens": 200,
        "output_tokens": 300,
        "cache_read_input_tokens": 1000,
        "cache_creation_input_tokens": 400,
    },
}


class Server:
    """A provider in this process: answers with one body and keeps the requests."""

    def __init__(self, body: dict[str, Any], status: int = 200) -> None:
        self.body, self.status = body, status
        self.requests: list[httpx2.Request] = []

    def client(self) -> httpx2.AsyncClient:
        def answer(request: httpx2.Request) -> httpx2.Response:
            self.requests.append(request)
            if json.loads(request.content).get("stream"):
                return httpx2.Response(self.status, text=sse(self.body), headers={"content-type": "text/event-stream"})
            return httpx2.Response(self.status, json=self.body)

        return httpx2.AsyncClient(transport=httpx2.MockTransport(answer))


def sse(message: dict[str, Any]) -> str:
    """An Anthropic message as the events that stream it."""
    if message["type"] == "error":
        return f"event: error\ndata: {json.dumps(message)}\n\n"
    before = message["usage"] | {"output_tokens": 1}
    text = message["content"][0]["text"]
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": message | {"content": [], "stop_reason": None, "usage": before}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}},
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta",
            "delta": {"stop_reason": message["stop_reason"], "stop_sequence": None},
            "usage": message["usage"],
        },
        {"type": "message_stop"},
    ]
    return "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)


async def ask(
    spec: config.ModelSpec, server: Server, environ: dict[str, str] | None = None, *, most: int | None = None
) -> ModelResponse:
    environ = environ or {"OPENAI_API_KEY": KEY, "ANTHROPIC_API_KEY": KEY}
    async with server.client() as client:
        model = models.build(spec, environ=environ, http_client=client, max_output_tokens=most)
        with pydantic_ai.models.override_allow_model_requests(True):
            result = await Agent(model).run("Hello?")
    return result.response


async def test_openai_chat_tokens_and_cost_are_those_of_the_wire():
    used = usage.of(await ask(config.ModelSpec(use="openai-chat:gpt-4o"), Server(OPENAI_CHAT)))

    assert (used.model, used.input, used.output, used.cached) == ("openai:gpt-4o", 1200, 300, 1000)
    # 200 new at 2.50, 1000 cached at 1.25 and 300 written at 10.00 USD a million: the provider's price list.
    assert used.usd == Decimal("0.0005") + Decimal("0.00125") + Decimal("0.003")
    assert used.note == ""


@pytest.mark.parametrize(("most", "streams"), [(500, False), (None, True)])
async def test_anthropic_tokens_and_cost_are_those_of_the_wire(most: int | None, streams: bool):
    server = Server(ANTHROPIC)

    used = usage.of(await ask(config.ModelSpec(use="anthropic:claude-sonnet-4-6"), server, most=most))

    assert bool(json.loads(server.requests[0].content).get("stream")) is streams

    # The wire counts new, read and written input apart; `input` is all of it.
    assert (used.input, used.output, used.cached, used.cache_written) == (1600, 300, 1000, 400)
    # 200 new at 3.00, 1000 read at 0.30, 400 written at 3.75 and 300 out at 15.00 USD a million.
    assert used.usd == Decimal("0.0006") + Decimal("0.0003") + Decimal("0.0015") + Decimal("0.0045")


async def test_a_server_of_ones_own_has_tokens_and_no_price():
    spec = config.ModelSpec(use="openai-chat:gpt-4o", base_url="http://127.0.0.1:8000/v1")

    used = usage.of(await ask(spec, Server(OPENAI_CHAT)))

    assert (used.input, used.output, used.usd) == (1200, 300, None)
    assert used.note == "no price is known for 'gpt-4o' of 'openai'"


async def test_a_server_of_ones_own_is_never_sent_the_key_of_a_provider(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    server = Server(OPENAI_CHAT)

    await ask(config.ModelSpec(use="openai-chat:local", base_url="http://127.0.0.1:8000/v1"), server)

    assert str(server.requests[0].url) == "http://127.0.0.1:8000/v1/chat/completions"
    assert server.requests[0].headers["authorization"] == "Bearer not-needed"


async def test_a_server_of_ones_own_gets_the_key_that_is_named_for_it():
    server = Server(OPENAI_CHAT)
    spec = config.ModelSpec(use="openai-chat:local", key="LOCAL_KEY", base_url="http://127.0.0.1:8000/v1")

    await ask(spec, server, {"LOCAL_KEY": "mine", "OPENAI_API_KEY": KEY})

    assert server.requests[0].headers["authorization"] == "Bearer mine"


@pytest.mark.parametrize(
    ("use", "body"),
    [
        ("openai-chat:gpt-4o", {"error": {"message": "bad key", "type": "invalid_request_error"}}),
        ("anthropic:claude-sonnet-4-6", {"type": "error", "error": {"type": "authentication_error", "message": "no"}}),
    ],
)
async def test_a_refused_key_shows_in_no_error_and_no_log(
    use: str, body: dict[str, Any], caplog: pytest.LogCaptureFixture
):
    caplog.set_level(logging.DEBUG)

    with pytest.raises(ModelHTTPError) as caught:
        await ask(config.ModelSpec(use=use), Server(body, status=401))

    assert KEY not in str(caught.value) + repr(caught.value) + caplog.text


async def test_our_own_models_cost_nothing_and_say_so():
    for model in (scripted.Scripted(["Hello."]), Extractive()):
        used = usage.of((await Agent(model).run("Hello?")).response)

        assert used.usd == Decimal(0)
        assert used.note == "no provider was asked"
        assert used.model == model.model_name


def response(name: str, provider: str = "openai", **tokens: int) -> ModelResponse:
    return ModelResponse(
        parts=[],
        model_name=name,
        provider_name=provider,
        timestamp=datetime(2026, 11, 1, tzinfo=UTC),
        usage=RequestUsage(**tokens),
    )


def test_an_unknown_model_has_tokens_a_note_and_no_price():
    used = usage.of(response("no-such-model-9", input_tokens=10, output_tokens=2))

    assert (used.input, used.output, used.usd) == (10, 2, None)
    assert used.as_json()["usd"] is None
    assert "no-such-model-9" in used.note


def test_a_response_without_usage_has_no_price_rather_than_none_to_pay():
    used = usage.of(response("gpt-4o", unmeasured_requests=1))

    assert (used.usd, used.note) == (None, "the provider reported no usage")


def test_a_sum_has_a_line_a_model_and_no_price_where_one_is_missing():
    known = usage.of(response("gpt-4o", input_tokens=1_000_000))
    unknown = usage.of(response("no-such-model-9", input_tokens=5))

    lines = usage.total([known, unknown, known, unknown])

    assert [(u.model, u.requests, u.input, u.usd) for u in lines] == [
        ("openai:gpt-4o", 2, 2_000_000, Decimal("5.0")),
        ("openai:no-such-model-9", 2, 10, None),
    ]


def test_the_saved_form_keeps_the_price_as_text():
    assert json.loads(json.dumps(usage.of(response("gpt-4o", input_tokens=1)).as_json()))["usd"] == "0.0000025"
