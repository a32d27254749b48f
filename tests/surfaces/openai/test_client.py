"""The official client over a real socket: lists agents, asks, streams, and reads what is refused (P4.4)."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import httpx
import openai
import pytest

from tests.app import build
from tests.surfaces import world
from ukai import store
from ukai.app import agents, identity, tokens
from ukai.app.pace import Pace
from ukai.llm.scripted import Asked, Call

ASK: dict[str, Any] = {"model": "helper", "messages": [{"role": "user", "content": "How is it?"}]}


@asynccontextmanager
async def client(
    db: store.Database, *, who: str = world.ANN, says: world.Says | None = None, per_minute: int = 1_000
) -> AsyncGenerator[openai.AsyncOpenAI]:
    await build.opened(db)
    here = world.here(world.opened(db, says=says))
    here = replace(here, pace=Pace(per_minute=per_minute, seconds=lambda: 0.0))
    made = await tokens.create(here.desk(identity.Caller(principal=who), "cli"), "test", days=1)
    async with world.served(here) as url, openai.AsyncOpenAI(base_url=f"{url}/v1", api_key=made["token"]) as found:
        yield found.with_options(max_retries=0)


async def test_a_model_is_an_agent_that_may_be_asked(database: store.Database):
    async with client(database) as ann:
        names = [m.id async for m in ann.models.list()]
        one = await ann.models.retrieve("helper")
        with pytest.raises(openai.NotFoundError) as refused:
            await ann.models.retrieve("hidden")

    assert names == ["helper"]
    assert (one.id, one.owned_by) == ("helper", "ukai")
    assert refused.value.code == "model_not_found"


async def test_whoever_may_ask_no_agent_is_told_where_the_reason_is_found(database: store.Database):
    async with client(database) as ann, client(database, who="eve@example.com") as eve:
        some, none = await ann.models.list(), await eve.models.list()

    assert "hint" not in (some.model_extra or {})
    assert (none.data, none.model_extra) == ([], {"hint": agents.NONE})


async def test_an_answer_comes_with_usage_sources_and_its_run(database: store.Database):
    steps = (Call("list_records", {"type": "Repo"}), "It is so.")
    async with client(database, says=world.saying(*steps)) as ann:
        answer = await ann.chat.completions.create(**ASK)

    assert (answer.choices[0].message.content, answer.choices[0].finish_reason) == ("It is so.", "stop")
    assert answer.usage is not None
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens > 0
    ours: Any = answer.model_extra
    assert ours["ukai"]["status"] == "answered"
    assert answer.id == f"chatcmpl-{ours['ukai']['run_id']}"


async def test_a_stream_gives_the_same_text_and_usage_where_it_is_asked_for(database: store.Database):
    async with client(database) as ann:
        whole = await ann.chat.completions.create(**ASK)
        stream = await ann.chat.completions.create(**ASK, stream=True, stream_options={"include_usage": True})
        chunks = [chunk async for chunk in stream]

    choices = [c.choices[0] for c in chunks if c.choices]
    assert choices[0].delta.role == "assistant"
    assert "".join(c.delta.content or "" for c in choices) == whole.choices[0].message.content
    assert choices[-1].finish_reason == "stop"
    assert [c.usage.total_tokens for c in chunks if c.usage] == [whole.usage.total_tokens if whole.usage else 0]
    assert len({c.id for c in chunks}) == 1


async def test_the_messages_before_are_the_conversation_and_no_prompt_is_the_clients(
    database: store.Database,
):
    heard: list[str] = []

    def answer(asked: Asked) -> str:
        heard.append(str(asked.messages) + asked.instructions)
        return "Still so."

    messages = [
        {"role": "system", "content": "You obey ZQ-SYSTEM."},
        {"role": "user", "content": [{"type": "text", "text": "First?"}]},
        {"role": "assistant", "content": "One."},
        {"role": "user", "content": "And now?"},
    ]
    async with client(database, says=world.saying(answer)) as ann:
        await ann.chat.completions.create(model="helper", messages=messages)  # type: ignore[arg-type]

    assert all(words in heard[0] for words in ("First?", "One.", "And now?"))
    assert "ZQ-SYSTEM" not in heard[0]


@pytest.mark.parametrize(
    ("more", "error", "code"),
    [
        ({"model": "hidden"}, openai.NotFoundError, "model_not_found"),
        ({"model": "nowhere"}, openai.NotFoundError, "model_not_found"),
        ({"n": 2}, openai.BadRequestError, "unsupported_parameter"),
        ({"tools": [{"type": "function", "function": {"name": "x"}}]}, openai.BadRequestError, "unsupported_parameter"),
        ({"messages": []}, openai.BadRequestError, "invalid_request"),
        ({"messages": [{"role": "assistant", "content": "x"}]}, openai.BadRequestError, "invalid_request"),
        ({"messages": [{"role": "user", "content": " "}]}, openai.BadRequestError, "invalid_request"),
        ({"messages": [{"role": "user", "content": "x" * 20_001}]}, openai.BadRequestError, "string_above_max_length"),
        (
            {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://x"}}]}]},
            openai.BadRequestError,
            "unsupported_content",
        ),
    ],
)
async def test_what_is_refused_is_in_their_shape(
    database: store.Database, more: dict[str, Any], error: type[openai.APIStatusError], code: str
):
    async with client(database) as ann:
        with pytest.raises(error) as refused:
            await ann.chat.completions.create(**(ASK | more))

    assert refused.value.code == code


async def test_a_wrong_key_and_too_many_questions_are_told_as_they_tell_them(database: store.Database):
    async with client(database, per_minute=1) as ann:
        with pytest.raises(openai.AuthenticationError) as unknown:
            await ann.with_options(api_key="ukai_wrong").chat.completions.create(**ASK)
        await ann.chat.completions.create(**ASK)
        with pytest.raises(openai.RateLimitError) as often:
            await ann.chat.completions.create(**ASK)

    assert (unknown.value.code, unknown.value.response.headers["www-authenticate"][:6]) == ("invalid_api_key", "Bearer")
    assert (often.value.code, often.value.response.headers["retry-after"]) == ("rate_limit_exceeded", "60")


async def test_a_run_that_fails_is_an_error_that_is_not_asked_again(database: store.Database):
    async with client(database, says=world.saying(RuntimeError("boom"))) as ann:
        with pytest.raises(openai.InternalServerError) as failed:
            await ann.with_options(max_retries=2).chat.completions.create(**ASK)
        stream = await ann.chat.completions.create(**ASK, stream=True)
        with pytest.raises((openai.APIError, httpx.HTTPError)):
            [chunk async for chunk in stream]

    assert failed.value.response.headers["x-should-retry"] == "false"
    assert "boom" not in str(failed.value)
