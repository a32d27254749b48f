"""What our own chat models share: they answer at once, whole or in pieces, and ask nobody."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    ModelResponseStreamEvent,
    TextPart,
    ToolCallPart,
)
from pydantic_ai.models import Model, ModelRequestParameters, StreamedResponse
from pydantic_ai.profiles import ModelProfile
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import RunContext
from pydantic_ai.usage import RequestUsage

from ukai.llm import tokens
from ukai.llm.protocols import TokenCounter

SYSTEM = "ukai"
"""The provider's name in records: ourselves. `usage` prices it at nothing."""


class LocalModel(Model):
    """A model in this process. `answer` gives the parts; whole and streamed requests are made from them."""

    _announces_lookalike_notes = False  # there is no provider's system field to announce anything in

    def __init__(self, *, name: str, counter: TokenCounter | None = None) -> None:
        super().__init__(profile=ModelProfile(supports_json_schema_output=False))
        self._name = name
        self._counter = counter or tokens.Estimate()

    @property
    def model_name(self) -> str:
        """As in records."""
        return self._name

    @property
    def system(self) -> str:
        """The provider: ourselves."""
        return SYSTEM

    @abstractmethod
    async def answer(
        self, messages: Sequence[ModelMessage], params: ModelRequestParameters, settings: ModelSettings | None
    ) -> list[TextPart | ToolCallPart]:
        """The parts of the response to `messages`, with the tools of `params` on offer."""

    def pieces(self, text: str) -> Iterator[str]:
        """How a text is cut when it is streamed; the pieces joined are the text."""
        yield from text.splitlines(keepends=True)

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        """The whole response at once."""
        settings, params = self.prepare_request(model_settings, model_request_parameters)
        parts = await self.answer(messages, params, settings)
        return ModelResponse(
            parts=parts,
            model_name=self._name,
            provider_name=SYSTEM,
            usage=self._usage(messages, parts),
            timestamp=_asked_at(messages),
        )

    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: RunContext[Any] | None = None,
    ) -> AsyncGenerator[StreamedResponse]:
        """The same response in pieces."""
        settings, params = self.prepare_request(model_settings, model_request_parameters)
        parts = await self.answer(messages, params, settings)
        yield _Stream(
            model_request_parameters=params,
            name=self._name,
            asked_at=_asked_at(messages),
            pieces=[
                _Piece(part, tuple(self.pieces(part.content)) if isinstance(part, TextPart) else ()) for part in parts
            ],
            counted=self._usage(messages, parts),
        )

    def _usage(self, messages: Sequence[ModelMessage], parts: Sequence[TextPart | ToolCallPart]) -> RequestUsage:
        sent = sum(self._counter.count(text) for message in messages for text in _texts(message.parts))
        return RequestUsage(input_tokens=sent, output_tokens=sum(self._counter.count(t) for t in _texts(parts)))


def _asked_at(messages: Sequence[ModelMessage]) -> datetime:
    """The instant of the last request: our answers take no time and need no clock of their own."""
    for message in reversed(messages):
        if isinstance(message, ModelRequest) and message.timestamp is not None:
            return message.timestamp
    return datetime.fromtimestamp(0, UTC)


def _texts(parts: Sequence[Any]) -> Iterator[str]:
    for part in parts:
        if isinstance(part, ToolCallPart):
            yield part.tool_name + part.args_as_json_str()
        elif part.part_kind == "tool-return":
            yield part.model_response_str()
        elif isinstance(content := getattr(part, "content", None), str):
            yield content
        elif isinstance(content, Sequence):
            yield from (item for item in content if isinstance(item, str))  # type: ignore[reportUnknownVariableType]


@dataclass(frozen=True)
class _Piece:
    part: TextPart | ToolCallPart
    texts: tuple[str, ...]


@dataclass
class _Stream(StreamedResponse):
    """A finished response, handed out in order."""

    name: str
    asked_at: datetime
    pieces: list[_Piece] = field(repr=False)
    counted: RequestUsage

    async def _get_event_iterator(self) -> AsyncIterator[ModelResponseStreamEvent]:
        self._usage = self.counted
        for index, piece in enumerate(self.pieces):
            if isinstance(piece.part, ToolCallPart):
                yield self._parts_manager.handle_tool_call_part(
                    vendor_part_id=index,
                    tool_name=piece.part.tool_name,
                    args=piece.part.args,
                    tool_call_id=piece.part.tool_call_id,
                )
                continue
            for text in piece.texts:
                for event in self._parts_manager.handle_text_delta(vendor_part_id=index, content=text):
                    yield event

    async def close_stream(self) -> None:
        """Nothing is open."""

    @property
    def model_name(self) -> str:
        """As in records."""
        return self.name

    @property
    def provider_name(self) -> str:
        """Ourselves."""
        return SYSTEM

    @property
    def provider_url(self) -> None:
        """There is no server."""
        return

    @property
    def timestamp(self) -> datetime:
        """When the request was made."""
        return self.asked_at
