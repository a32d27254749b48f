"""One turn's purse with what its requests used so far; models and rerankers are paid from it.

Here without the library of models, which takes half a second to load: most verbs only hand a meter on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ukai import record
from ukai.llm.reranker import Reranker
from ukai.runtime.budget import CHARACTERS_PER_TOKEN, Cost, Purse

if TYPE_CHECKING:
    from pydantic_ai.models import Model


@dataclass(kw_only=True)
class Meter:
    """One turn's purse, and what its requests used so far."""

    purse: Purse
    used: list[record.Usage] = field(default_factory=list[record.Usage])

    def model(self, model: Model, purpose: str = "agent") -> Model:
        """`model`, paid from this purse. Requests of the purpose `agent` are the turn's iterations."""
        from ukai.runtime.metered import Metered

        return Metered(model, self.purse, self.used, purpose)

    def reranker(self, reranker: Reranker, purpose: str) -> MeteredReranker:
        """`reranker`, paid from this purse."""
        return MeteredReranker(wrapped=reranker, meter=self, purpose=purpose)


@dataclass(frozen=True, kw_only=True)
class MeteredReranker:
    """A reranker that asks the purse before every request."""

    wrapped: Reranker
    meter: Meter
    purpose: str

    @property
    def model_id(self) -> str:
        """The reranker's."""
        return self.wrapped.model_id

    async def score(self, question: str, texts: Sequence[str]) -> Sequence[float]:
        """One number a text. Raises Spent before anything is sent that the purse does not hold."""
        purse, cost = self.meter.purse, Cost()
        tokens = sum(len(question) + len(text) for text in texts) // CHARACTERS_PER_TOKEN
        hold = await purse.reserve(Cost(tokens=tokens), counts=False)
        try:
            scored = await self.wrapped.scored(question, texts)
            cost = Cost(tokens=scored.tokens)
            used = record.Usage(model=self.model_id, input=scored.tokens, purpose=self.purpose)
            self.meter.used.append(used)
            return scored.scores
        finally:
            await purse.settle(hold, cost)
