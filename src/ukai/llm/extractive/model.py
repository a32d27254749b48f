"""`extractive` as a model like any other: the same loop, tools, rules, budget and record as with a provider."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from pydantic_ai.messages import ModelMessage, TextPart, ToolCallPart
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.settings import ModelSettings

from ukai.kit.errors import PermanentError
from ukai.llm.extractive import answer, evidence, plan
from ukai.llm.known import EXTRACTIVE
from ukai.llm.local import LocalModel
from ukai.llm.protocols import Embedder, TokenCounter
from ukai.llm.remembered import Remembered


class TextOnly(PermanentError):
    """`extractive` was asked for a verdict or another structured value, which would be an invention."""

    def __init__(self, wanted: Sequence[str]) -> None:
        super().__init__(
            "the model 'extractive' quotes text and cannot fill in " + (", ".join(wanted) or "a structured output"),
            hint="Name a provider's model for this in models.yaml",
        )
        self.wanted = tuple(wanted)


class Extractive(LocalModel):
    """Plans by rules, answers in quotes. What it does depends on the conversation alone."""

    def __init__(
        self, *, embedder: Callable[[], Embedder | None] = lambda: None, counter: TokenCounter | None = None
    ) -> None:
        """`embedder` is called when evidence is first ranked; when it gives None, words alone decide."""
        super().__init__(name=EXTRACTIVE, counter=counter)
        self._embedder = embedder
        self._remembered: Remembered | None = None

    async def answer(
        self, messages: Sequence[ModelMessage], params: ModelRequestParameters, settings: ModelSettings | None
    ) -> list[TextPart | ToolCallPart]:
        """Tool calls while they may help, then the answer. Ranking runs in a thread."""
        if not params.allow_text_output:
            raise TextOnly([tool.name for tool in params.output_tools])
        turn = evidence.of(messages)
        reached = await asyncio.to_thread(self._reached, turn)
        enough = reached.outcome == "found"
        calls = plan.next_calls(turn, params.function_tools, enough=enough, best_items=reached.best_items)
        if calls:
            made = len(turn.calls)
            return [
                ToolCallPart(call.tool, dict(call.arguments), tool_call_id=f"extractive-{made + i}")
                for i, call in enumerate(calls, 1)
            ]
        return [TextPart(reached.text(failed=turn.failed))]

    def _reached(self, turn: evidence.Turn) -> answer.Answer:
        if self._remembered is None and turn.items and (found := self._embedder()) is not None:
            self._remembered = Remembered(found)  # each round ranks what the rounds before it returned once more
        return answer.answer(turn.question, turn.items, embedder=self._remembered, searched=searched(turn))


def searched(turn: evidence.Turn) -> list[answer.Searched]:
    """What each search returned, in its order; those that followed a record say which."""
    followed = dict(plan.trails(turn))
    found: list[answer.Searched] = []
    for call in turn.calls:
        query = next((str(call.arguments[q]) for q in plan.QUERIES if q in call.arguments), None)
        results = turn.results.get(call.ordinal, ())
        if query is not None and results:
            found.append(answer.Searched(items=results, after=followed.get(query)))
    return found
