"""A provider's reranker over HTTP: POST {base_url}/rerank with a question and texts, back comes one score a text.

Cohere, Jina, Voyage, vLLM, Infinity and what imitates them speak this alike up to two words: `results` or `data`, and
`relevance_score` or `score`. How many to return is not said: all of them do it by default and name it differently.
Text Embeddings Inference says `texts`, knows one model, takes 32 at once and answers with the bare list.
No key and no text appears in an error: what a server says of one is not repeated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, cast
from urllib.parse import urlsplit

from pydantic import AliasChoices, BaseModel, Field, ValidationError, model_validator

from ukai.kit.errors import TemporaryError
from ukai.llm import config, models

if TYPE_CHECKING:
    import httpx

TIMEOUT_S = 30.0
"""Of any one request; whoever waits for it says when that is too long."""
OK = 200
IMPOSSIBLE = 1_000_000_000
"""Tokens of one request: a server that says so does not count."""
BATCHES = {"tei": 32}
"""Texts that a server takes at once where it was not told otherwise (`--max-client-batch-size`)."""
LARGEST = 4_000_000
"""Bytes of an answer: a score takes some dozens."""


class RerankerFailed(TemporaryError):
    """The server could not be reached, refused, or answered something else than scores."""

    hint = "look whether `base_url`, `use` and `key` of the reranker in models.yaml are what its server expects"


class RerankerBusy(RerankerFailed):
    """The server takes no more for now."""

    hint = "ask less often, raise the limit at its provider, or give it more machines; the scores order meanwhile"


class RerankerRefused(RerankerFailed):
    """The server does not know us."""

    hint = "look whether `key` of the reranker in models.yaml names the variable with a key that its server takes"


class RerankerUnfit(RerankerFailed):
    """The server does not take the request: too many texts, a text that is too long, another language."""

    hint = "`speaks`, `batch` and `more` of the reranker in models.yaml, by docs/reference/models.md"


KINDS: Mapping[int, type[RerankerFailed]] = {
    **dict.fromkeys((429, 503, 529), RerankerBusy),
    **dict.fromkeys((401, 403, 498), RerankerRefused),  # 498: Cohere's own for a key that is none
    **dict.fromkeys((400, 413, 422), RerankerUnfit),
}
"""By status; whatever else is not 200 is a RerankerFailed."""


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
        size = self.spec.batch or BATCHES.get(self.spec.speaks) or len(texts) or 1
        parts = [texts[i : i + size] for i in range(0, len(texts), size)]
        async with httpx.AsyncClient(timeout=TIMEOUT_S, follow_redirects=False, headers=headers) as client:
            found = [await self._asked(client, question, part) for part in parts]
        return Scored(scores=tuple(s for f in found for s in f.scores), tokens=sum(f.tokens for f in found))

    async def _asked(self, client: httpx.AsyncClient, question: str, texts: Sequence[str]) -> Scored:
        import httpx

        url = f"{self.spec.base_url.rstrip('/')}/rerank"
        try:
            async with client.stream("POST", url, json=self._request(question, texts)) as answer:
                if answer.status_code != OK:
                    failed = KINDS.get(answer.status_code, RerankerFailed)
                    raise failed(f"the reranker {self.model_id} answered with {answer.status_code}")
                body = b""
                async for piece in answer.aiter_bytes():
                    body += piece
                    if len(body) > LARGEST:
                        raise RerankerFailed(f"the reranker {self.model_id} sent more than {LARGEST} bytes")
        except httpx.HTTPError as error:
            # The library's message may hold the address; where it was tried stands in the model's id already.
            raise RerankerFailed(f"the reranker {self.model_id} was not reached ({type(error).__name__})") from None
        return _read(body, len(texts), self.model_id)

    def _request(self, question: str, texts: Sequence[str]) -> dict[str, Any]:
        query, said = _utf8(question), [_utf8(t) for t in texts]
        if self.spec.speaks == "tei":
            # What is too long would otherwise fail the whole request on a server that does not cut by itself.
            return {"query": query, "texts": said, "truncate": True, **self.spec.more}
        return {"model": self.spec.use, "query": query, "documents": said, **self.spec.more}

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

    @model_validator(mode="before")
    @classmethod
    def _bare(cls, answer: Any) -> Any:
        """Text Embeddings Inference answers with the list itself."""
        return {"results": cast("list[Any]", answer)} if isinstance(answer, list) else answer

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
