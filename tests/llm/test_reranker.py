"""A provider's reranker, spoken to over a real socket (C26)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from ukai.llm import config, models, reranker

KEY = "a-made-up-key-of-a-reranker"
TEXTS = ["one", "two", "three"]


@asynccontextmanager
async def server(body: bytes, status: str = "200 OK") -> AsyncGenerator[tuple[str, list[tuple[str, Any]]]]:
    """Answers every request with `body`; the address, and the head and JSON of what came."""
    asked: list[tuple[str, Any]] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        length = next(line for line in head.lower().split("\r\n") if line.startswith("content-length:"))
        asked.append((head, json.loads(await reader.readexactly(int(length.split(":")[1])))))
        more = "location: http://127.0.0.1:9/\r\n" if status.startswith("3") else ""
        writer.write(f"HTTP/1.1 {status}\r\n{more}content-length: {len(body)}\r\nconnection: close\r\n\r\n".encode())
        writer.write(body)
        await writer.drain()
        writer.close()

    served = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with served:
        yield f"http://127.0.0.1:{served.sockets[0].getsockname()[1]}/v1/", asked


def of(url: str, *, key: str | None = "KEY", environ: dict[str, str] | None = None) -> reranker.Reranker:
    spec = config.RerankerSpec(use="some-model", base_url=url, key=key)
    return reranker.Reranker(spec=spec, environ={"KEY": KEY} if environ is None else environ)


ROWS = [{"index": 2, "relevance_score": 0.9, "document": {"text": "three"}}, {"index": 0, "relevance_score": 0.1}]


@pytest.mark.parametrize(
    ("answer", "tokens"),
    [
        ({"results": ROWS, "usage": {"total_tokens": 41, "prompt_tokens": 41}}, 41),
        ({"results": ROWS, "meta": {"tokens": {"input_tokens": 7.0}, "billed_units": {"search_units": 1}}}, 7),
        ({"object": "list", "data": ROWS, "model": "x"}, 0),
        ({"results": [{"index": r["index"], "score": r["relevance_score"]} for r in ROWS]}, 0),
    ],
    ids=["jina", "cohere", "voyage", "plain"],
)
async def test_the_words_of_several_providers_are_understood(answer: Any, tokens: int):
    async with server(json.dumps(answer).encode()) as (url, asked):
        scored = await of(url).scored("What?", TEXTS)

    assert scored == reranker.Scored(scores=(0.1, pytest.approx(-0.9), 0.9), tokens=tokens)  # type: ignore[arg-type]
    head, sent = asked[0]
    assert head.startswith("POST /v1/rerank HTTP/1.1")
    assert f"authorization: Bearer {KEY}" in head.replace("Authorization", "authorization")
    assert sent == {"model": "some-model", "query": "What?", "documents": TEXTS}


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        (b'{"error": "no such model: three"}', "404 Not Found", "answered with 404"),
        (b"", "307 Temporary Redirect", "answered with 307"),
        (b"<html>three</html>", "200 OK", "something else than scores"),
        (b'{"results": []}', "200 OK", "something else than scores"),
        (b'{"results": [{"index": 3, "relevance_score": 1}]}', "200 OK", "something else than scores"),
        (b'{"results": [{"index": 0, "relevance_score": NaN}]}', "200 OK", "something else than scores"),
        (b'{"results": [{"index": 0}]}', "200 OK", "something else than scores"),
        (b" " * (reranker.LARGEST + 1), "200 OK", "more than"),
    ],
)
async def test_what_is_no_answer_is_a_failure_that_repeats_nothing(body: bytes, status: str, said: str):
    async with server(body, status) as (url, _):
        with pytest.raises(reranker.RerankerFailed, match=said) as caught:
            await of(url).score("What?", TEXTS)

    assert KEY not in str(caught.value)
    assert "three" not in str(caught.value)


async def test_a_server_that_is_away_is_a_failure_and_its_key_is_not_told():
    async with server(b"") as (url, _):
        pass

    with pytest.raises(reranker.RerankerFailed, match="was not reached") as caught:
        await of(url).score("What?", TEXTS)

    assert KEY not in f"{caught.value!r}{of(url)!r}"


async def test_a_key_that_is_named_and_not_set_is_missing_and_none_is_sent_where_none_is_named():
    with pytest.raises(models.MissingKey, match="KEY"):
        await of("http://127.0.0.1:9", environ={}).score("What?", TEXTS)

    async with server(json.dumps({"results": ROWS}).encode()) as (url, asked):
        await of(url, key=None).score("half a pair: \ud800", TEXTS)

    assert "authorization" not in asked[0][0].lower()
    assert asked[0][1]["query"] == "half a pair: ?"
