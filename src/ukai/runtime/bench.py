"""Who judges the rules that code does not: each its own model, or without a language model its examples (P4.3, X2)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from pydantic_ai.models import Model

from ukai.llm.known import EXTRACTIVE
from ukai.llm.protocols import Embedder
from ukai.runtime import mending, verdicts
from ukai.runtime.guardrail import Guardrail
from ukai.runtime.meter import Meter
from ukai.runtime.rules import by_example, by_model
from ukai.runtime.rules.judged import Judged, Text


@dataclass(frozen=True, kw_only=True)
class Bench:
    """Judges rules of kind `model`, paid from one turn's purse."""

    model: Callable[[str | None], Model]
    """By the name that a rule gives, None where it gives none. What it raises is a failure of that rule."""
    embedder: Callable[[], Embedder]
    verdicts: verdicts.Verdicts
    meter: Meter

    async def __call__(self, rule: Guardrail, text: Text) -> Judged:
        """The verdict, from memory if it was reached before."""
        model = self.model(rule.model)
        if is_extractive(model):
            return await asyncio.to_thread(by_example.judge, rule, text, self.embedder())
        key = verdicts.key_of(rule, f"{model.system}:{model.model_name}", text.words)
        known = await self.verdicts.get(key)
        if known is not None:
            return known
        judged = await by_model.judge(rule, text, self.meter.model(model, "guardrail"))
        await self.verdicts.put(key, judged)
        return judged


def mend_with(model: Model, meter: Meter) -> mending.Mend:
    """How marked passages are fixed: by the larger model, or where it only quotes by taking them out."""
    return mending.withhold if is_extractive(model) else mending.with_model(meter.model(model, "rewrite"))


def is_extractive(model: Model) -> bool:
    """Whether it is our own, which quotes and can neither judge nor write."""
    return model.model_name == EXTRACTIVE
