"""A model that asks the purse before every request and tells it afterwards; every request's usage is kept in order."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.settings import ModelSettings

from ukai import record
from ukai.llm import usage
from ukai.runtime.budget import CHARACTERS_PER_TOKEN, Cost, Purse

ANSWER_TOKENS = 500
"""Set aside for an answer whose length nobody knows yet."""


class Metered(WrapperModel):
    """See the module."""

    def __init__(self, wrapped: Model, purse: Purse, used: list[record.Usage], purpose: str) -> None:
        super().__init__(wrapped)
        self._purse, self._used, self._purpose = purse, used, purpose

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        """Raises Spent before anything is sent that the purse does not hold."""
        tokens = expected(messages, model_request_parameters)
        price = usage.price(self.wrapped.system, self.wrapped.model_name, self.wrapped.base_url, tokens, ANSWER_TOKENS)
        purse = self._purse
        hold = await purse.reserve(Cost(tokens=tokens, usd=price), counts=self._purpose == "agent")
        cost = Cost()
        try:
            response = await self.wrapped.request(messages, model_settings, model_request_parameters)
            used = usage.of(response)
            cost = Cost(tokens=used.input + used.output, usd=used.usd)
            self._used.append(
                record.Usage(
                    model=used.model,
                    input=used.input,
                    output=used.output,
                    cached=used.cached,
                    usd=used.usd,
                    purpose=self._purpose,
                )
            )
            return response
        finally:
            await purse.settle(hold, cost)


def expected(messages: Sequence[ModelMessage], parameters: ModelRequestParameters) -> int:
    """Tokens that a request is likely to send: what the last one was counted at, and what came since by its length."""
    known, start = 0, 0
    for index, message in enumerate(messages):
        if isinstance(message, ModelResponse) and message.usage.input_tokens:
            known, start = message.usage.input_tokens + message.usage.output_tokens, index + 1
    characters = sum(_length(message) for message in messages[start:])
    if not start:
        tools = (*parameters.function_tools, *parameters.output_tools)
        characters += sum(len(t.description or "") + len(str(t.parameters_json_schema)) for t in tools)
    return known + characters // CHARACTERS_PER_TOKEN


def _length(message: ModelMessage) -> int:
    own = len(message.instructions or "") if isinstance(message, ModelRequest) else 0
    return own + sum(
        len(str(getattr(part, "content", "") or getattr(part, "args", "") or "")) for part in message.parts
    )
