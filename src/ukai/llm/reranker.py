"""A provider's reranker over HTTP: POST {base_url}/rerank with a question and texts, back comes one score a text.

Cohere, Jina, Voyage, vLLM, Infinity and what imitates them speak this alike up to two words: `results` or `data`, and
`relevance_score` or `score`. How many to return is not said: all of them do it by default and name it differently.
No key and no text appears in an error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, cast
from urllib.parse import urlsplit

from pydantic import AliasChoices, BaseModel, Field, ValidationError

from ukai.kit.errors import TemporaryError
from ukai.llm import config, models

TIMEOUT_S = 30.0
"""Of any one request; whoever waits for it says when that is too long."""
OK = 200
IMPOSSIBLE = 1_000_000_000
"""Tokens of one request: a server that says so does not count."""
LARGEST = 4_000_000
"""Bytes of an answer: a score takes some dozens."""


class RerankerFailed(TemporaryError):
    """The server could not be reached, refused, or answered something else than scores."""

    hint = "look whether `base_url`, `use` and `key` of the reranker in models.yaml are what its server expects"


@dataclass(frozen=True, kw_only=True)
class Scored:
    """What came of one request."""

    scores: tuple[float, ...]
    """One a text, in the order of the texts."""
    tokens: int
    """As the provider counted them; 0 where it does not say."""


@dataclass(frozen=True, kw_only=True)
class Reranker:
    """One model on one server."""

    spec: config.RerankerSpec
    environ: Mapping[str, str] = field(repr=False)

    @property
    def model_id(self) -> str:
        """Where it is asked, and its name there."""
        return f"{urlsplit(self.spec.base_url).netloc}:{self.spec.use}"

    async def score(self, question: str, texts: Sequence[str]) -> Sequence[float]:
        """One number a text; larger is better. Raises MissingKey, RerankerFailed."""
        return (await self.scored(question, texts)).scores

    async def scored(self, question: str, texts: Sequence[str]) -> Scored:
        """The same with what it used."""
        import httpx  # only whoever has a reranker needs a client

        headers = {"Authorization": f"Bearer {self._key()}"} if self.spec.key else {}
        asked = {"model": self.spec.use, "query": _utf8(question), "documents": [_utf8(t) for t in texts]}
        url = f"{self.spec.base_url.rstrip('/')}/rerank"
        try:
            async with (
                httpx.AsyncClient(timeout=TIMEOUT_S, follow_redirects=False) as client,
                client.stream("POST", url, json=asked, headers=headers) as answer,
            ):
                if answer.status_code != OK:
                    raise RerankerFailed(f"the reranker {self.model_id} answered with {answer.status_code}")
                body = b""
                async for piece in answer.aiter_bytes():
                    body += piece
                    if len(body) > LARGEST:
                        raise RerankerFailed(f"the reranker {self.model_id} sent more than {LARGEST} bytes")
        except httpx.HTTPError as error:
            # The library's message may hold the address; where it was tried stands in the model's id already.
            raise RerankerFailed(f"the reranker {self.model_id} was not reached ({type(error).__name__})") from None
        return _read(body, len(texts), self.model_id)

    def _key(self) -> str:
        variable = self.spec.key or ""
        key = self.environ.get(variable, "").strip()
        if not key:
            raise models.MissingKey(variable, use=self.spec.use)
        return key


def _utf8(text: str) -> str:
    """Half a surrogate pair has no bytes to send."""
    return text.encode("utf-8", "replace").decode("utf-8")


class _Answer(BaseModel):
    """What is read of an answer; what else stands in it is the server's own."""

    class Row(BaseModel):
        index: Annotated[int, Field(ge=0)]
        score: Annotated[float, Field(allow_inf_nan=False, validation_alias=AliasChoices("relevance_score", "score"))]

    results: Annotated[list[Row], Field(min_length=1, validation_alias=AliasChoices("results", "data"))]
    usage: dict[str, Any] = {}
    meta: dict[str, Any] = {}

    @property
    def tokens(self) -> int:
        """`usage: {total_tokens}`, or as Cohere puts it `meta: {tokens: {input_tokens}}`."""
        inside = cast("dict[str, Any]", tokens) if isinstance(tokens := self.meta.get("tokens"), dict) else {}
        found = self.usage.get("total_tokens", inside.get("input_tokens"))
        return int(found) if isinstance(found, int | float) and 0 < found < IMPOSSIBLE else 0


def _read(body: bytes, size: int, model_id: str) -> Scored:
    """The scores of an answer. A text that it says nothing of is behind all others."""
    try:
        answer = _Answer.model_validate_json(body)
    except ValidationError:
        answer = None
    if answer is None or any(row.index >= size for row in answer.results):
        raise RerankerFailed(f"the reranker {model_id} answered something else than scores")
    known = {row.index: row.score for row in answer.results}
    behind = min(known.values()) - 1
    return Scored(scores=tuple(known.get(i, behind) for i in range(size)), tokens=answer.tokens)
