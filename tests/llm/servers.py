"""Servers that take and answer exactly what their makers document, errors and limits included; nothing else is taken.

Forms as of November 2026: Cohere (cohere-openapi.yaml, `/v2/rerank`), Jina (api.jina.ai/openapi.json, `/v1/rerank`),
Text Embeddings Inference 1.8 (router/src/http), vLLM (entrypoints/pooling/scoring), OpenAI's and Anthropic's chat.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

KEY = "a-made-up-key-of-a-server"
Answer = tuple[int, Any]


class _Exact(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


@dataclass(kw_only=True)
class Served:
    """One server, and what it was asked."""

    path: str
    form: type[BaseModel]
    answer: Callable[[Any], Answer]
    wrong: Callable[[int, str], Any]
    """Its body for a status and a reason."""
    limited: int = 0
    """So many requests are refused first, as too many."""
    asked: list[Mapping[str, Any]] = field(default_factory=list[Mapping[str, Any]])

    def takes(self, path: str, heads: Mapping[str, str], body: bytes) -> Answer:
        if heads.get("authorization") != f"Bearer {KEY}":
            return 401, self.wrong(401, "invalid api token")
        if path != self.path:
            return 404, self.wrong(404, "Not Found")
        if self.limited:
            self.limited -= 1
            return 429, self.wrong(429, "too many requests")
        self.asked.append(json.loads(body))
        try:
            given = self.form.model_validate_json(body)
        except ValidationError as error:
            return 400, self.wrong(400, f"{error.errors()[0]['loc']}: {error.errors()[0]['msg']}")
        return self.answer(given)


@asynccontextmanager
async def running(served: Served) -> AsyncGenerator[str]:
    """Its address."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while head := await reader.readuntil(b"\r\n\r\n") if not reader.at_eof() else b"":
            first, *lines = head.decode().strip().split("\r\n")
            heads = {k.lower(): v for k, _, v in (line.partition(": ") for line in lines)}
            body = await reader.readexactly(int(heads["content-length"]))
            status, said = served.takes(first.split(" ")[1], heads, body)
            text = json.dumps(said).encode()
            writer.write(
                f"HTTP/1.1 {status} .\r\ncontent-type: application/json\r\ncontent-length: {len(text)}\r\n"
                "connection: close\r\n\r\n".encode()
                + text
            )
            await writer.drain()
            break
        writer.close()

    listening = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with listening:
        yield f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"


def scores(texts: Sequence[str]) -> list[tuple[int, float]]:
    """The longest text is the most relevant, and stands first, as with all of them."""
    return sorted(((i, len(t) / 1_000) for i, t in enumerate(texts)), key=lambda s: -s[1])


# Cohere: 200 {id, results, meta}; every error {id, message}.


class _CohereAsked(_Exact):
    model: Literal["rerank-v3.5"]
    query: Annotated[str, Field(min_length=1)]
    documents: Annotated[list[str], Field(min_length=1)]
    top_n: Annotated[int, Field(ge=1)] | None = None
    max_tokens_per_doc: int | None = None
    priority: int | None = None


def cohere() -> Served:
    def answer(given: _CohereAsked) -> Answer:
        rows = [{"index": i, "relevance_score": s} for i, s in scores(given.documents)]
        meta = {"api_version": {"version": "2", "is_experimental": False}, "billed_units": {"search_units": 1}}
        return 200, {"id": "07734bd2", "results": rows, "meta": meta}

    return Served(
        path="/v2/rerank", form=_CohereAsked, answer=answer, wrong=lambda _, said: {"id": "07734bd2", "message": said}
    )


# Jina: 200 {model, object, usage, results with their texts}; every error {detail}.


class _JinaAsked(_Exact):
    model: Literal["jina-reranker-v2-base-multilingual"]
    query: str
    documents: list[str]
    top_n: int | None = None
    return_documents: bool = True


def jina() -> Served:
    def answer(given: _JinaAsked) -> Answer:
        rows = [
            {"index": i, "relevance_score": s, "document": {"text": given.documents[i]}}
            for i, s in scores(given.documents)
        ]
        return 200, {"model": given.model, "object": "list", "usage": {"total_tokens": 815}, "results": rows}

    return Served(
        path="/v1/rerank", form=_JinaAsked, answer=answer, wrong=lambda _, said: {"detail": f"[RID: 06b5f7bd] {said}"}
    )


# Text Embeddings Inference: 200 the bare list; every error {error, error_type}; 32 texts at once, 512 tokens each.


class _TeiAsked(_Exact):
    query: str
    texts: list[str]
    truncate: bool | None = None
    truncation_direction: Literal["left", "right"] = "right"
    raw_scores: bool = False
    return_text: bool = False


def tei(*, at_once: int = 32) -> Served:
    kinds = {400: "empty", 413: "validation", 422: "tokenizer", 429: "overloaded"}

    def wrong(status: int, said: str) -> Any:
        return {"error": said, "error_type": kinds.get(status, "backend")}

    def answer(given: _TeiAsked) -> Answer:
        if not given.texts:
            return 400, wrong(400, "`texts` cannot be empty")
        if len(given.texts) > at_once:
            return 413, wrong(413, f"batch size {len(given.texts)} > maximum allowed batch size {at_once}")
        if not given.truncate and any(len(t) > 2_000 for t in given.texts):
            return 413, wrong(413, "`inputs` must have less than 512 tokens. Given: 534")
        return 200, [{"index": i, "score": s} for i, s in scores(given.texts)]

    return Served(path="/rerank", form=_TeiAsked, answer=answer, wrong=wrong)


# vLLM: 200 {id, model, usage, results with their texts}; every error {error: {message, type, param, code}}.


class _VllmAsked(_Exact):
    model: Literal["BAAI/bge-reranker-v2-m3"]
    query: str
    documents: list[str]
    top_n: int = 0
    truncate_prompt_tokens: Annotated[int, Field(ge=-1)] | None = None


def vllm() -> Served:
    def wrong(status: int, said: str) -> Any:
        kind = {400: "BadRequestError", 404: "NotFoundError"}.get(status, "Error")
        return {"error": {"message": said, "type": kind, "param": None, "code": status}}

    def answer(given: _VllmAsked) -> Answer:
        if given.truncate_prompt_tokens is None and any(len(t) > 2_000 for t in given.documents):
            return 400, wrong(400, "This model's maximum context length is 512 tokens.")
        rows = [
            {"index": i, "document": {"text": given.documents[i], "multi_modal": None}, "relevance_score": s}
            for i, s in scores(given.documents)
        ]
        used = {"prompt_tokens": 56, "total_tokens": 56}
        return 200, {"id": "rerank-1", "model": given.model, "usage": used, "results": rows}

    return Served(path="/v1/rerank", form=_VllmAsked, answer=answer, wrong=wrong)


# Chat models, as a ranker asks them: one message, no tools, no stream.


class _Lenient(BaseModel):
    model_config = ConfigDict(extra="allow", strict=True)


class _OpenAIAsked(_Lenient):
    model: str
    messages: Annotated[list[dict[str, Any]], Field(min_length=1)]
    seed: int
    stream: Literal[False] = False


def openai(text: str) -> Served:
    def answer(given: _OpenAIAsked) -> Answer:
        message = {"role": "assistant", "content": text, "refusal": None}
        return 200, {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1_790_000_000,
            "model": given.model,
            "choices": [{"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}],
            "usage": {"prompt_tokens": 9, "completion_tokens": 3, "total_tokens": 12},
        }

    def wrong(status: int, said: str) -> Any:
        return {"error": {"message": said, "type": "requests", "param": None, "code": "rate_limit_exceeded"}}

    return Served(path="/v1/chat/completions", form=_OpenAIAsked, answer=answer, wrong=wrong)


class _AnthropicAsked(_Exact):
    model: str
    messages: Annotated[list[dict[str, Any]], Field(min_length=1)]
    max_tokens: Annotated[int, Field(ge=1)]
    stream: Literal[False] = False


def anthropic(text: str) -> Served:
    def answer(given: _AnthropicAsked) -> Answer:
        return 200, {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": given.model,
            "content": [{"type": "text", "text": text}],
            "stop_reason": "end_turn",
            "stop_sequence": None,
            "usage": {"input_tokens": 9, "output_tokens": 3},
        }

    def wrong(status: int, said: str) -> Any:
        kind = {401: "authentication_error", 429: "rate_limit_error"}.get(status, "invalid_request_error")
        return {"type": "error", "error": {"type": kind, "message": said}}

    return Served(path="/v1/messages", form=_AnthropicAsked, answer=answer, wrong=wrong)
