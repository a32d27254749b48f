"""The marked passages of an answer fixed and the rest left alone, by one call to the larger model (P4.3).

What comes back is weighed before it counts (P8.5): none of the marked words may survive, and no other sentence may be
missing, reworded or new.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from pydantic_ai import direct
from pydantic_ai.messages import ModelRequest, UserPromptPart
from pydantic_ai.models import Model

from ukai import record
from ukai.measure.checks import rewrite
from ukai.runtime.rules import by_model
from ukai.runtime.rules.judged import Span

WITHHELD = "[withheld]"


Mend = Callable[[str, Sequence[Span]], Awaitable[str]]
"""The whole answer, and the places to fix; the whole answer comes back."""

INSTRUCTION = """\
You get an answer and a list of passages in it. Fix the marked passages, leave everything else alone: every other
sentence stays word for word and in its place, citations in brackets included. None of the marked words, figures and
dates may come back in the passage that takes their place. Give back the whole answer and nothing else."""


def with_model(model: Model) -> Mend:
    """Rewriting by `model`, the larger one."""

    async def mend(text: str, spans: Sequence[Span]) -> str:
        marked = "\n".join(f"{n}. {text[start:end]}" for n, (start, end) in enumerate(spans, 1))
        asked = f"Passages to fix:\n{marked}\n\nThe answer:\n{text}"
        response = await direct.model_request(
            model, [ModelRequest(parts=[UserPromptPart(asked)], instructions=INSTRUCTION)]
        )
        return by_model.text_of(response).strip()

    return mend


async def withhold(text: str, spans: Sequence[Span]) -> str:
    """Without a model that writes: the passages are taken out, and it is said that they were (X2)."""
    for start, end in sorted(spans, reverse=True):
        text = text[:start] + WITHHELD + text[end:]
    return text


def is_clean(original: str, spans: Sequence[Span], text: str) -> bool:
    """Whether nothing marked is left and nothing else was touched."""
    marks = tuple(record.Mark(text=original[start:end], start=start, end=end) for start, end in spans)
    return not any(flag.gates for flag in rewrite.weighed(rewrite.Rewritten(original=original, marks=marks, text=text)))
