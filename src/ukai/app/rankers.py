"""Who puts in order what is composed: the scores, or a model that the deployment configured (C25, C26).

    name, ranker = rankers.named(opened, "quick", meter)

What a model uses for it is paid by the turn's purse, and by nobody else's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ukai.app.engine import Engine
from ukai.context import ranking
from ukai.kit import suggest
from ukai.kit.errors import PermanentError
from ukai.llm.asking import Asking
from ukai.llm.known import SCORE
from ukai.llm.reranker import Reranker
from ukai.runtime.meter import Meter
from ukai.runtime.tools import Bound, ToolSpec

PURPOSE = "ranking"
"""In the record's usage."""


class UnknownRanker(PermanentError):
    """The deployment has not configured it."""


def named(opened: Engine, name: str | None, meter: Meter) -> tuple[str, ranking.Ranker | None]:
    """The ranker of this name, or the deployment's own choice; None where the scores order.

    Only what ukai.yaml lists may be named. Nothing is built, and no key is looked for, before a model is asked.
    Raises UnknownRanker.
    """
    configured = opened.catalog.settings.context
    wanted = name or configured.ranker
    if wanted not in configured.choice:
        hint = suggest.hint_for(wanted, configured.choice).capitalize()
        raise UnknownRanker(f"this deployment has no ranker named {wanted!r}", hint=hint)
    if wanted == SCORE:
        return SCORE, None
    reranker = opened.catalog.models.rerankers.get(wanted)
    if reranker is not None:
        paid = meter.reranker(Reranker(spec=reranker, environ=opened.environ), PURPOSE)
        return wanted, _taped(opened, paid.model_id, paid.score) or paid
    use = opened.catalog.models.resolve(wanted).spec.use
    return wanted, Asking(use, lambda: meter.model(opened.model(wanted), PURPOSE))


@dataclass(frozen=True)
class _Taped:
    """A reranker behind the tape of an evaluation."""

    model_id: str
    bound: Bound

    async def score(self, question: str, texts: Sequence[str]) -> Sequence[float]:
        """As it was recorded."""
        return await self.bound.call(question=question, texts=list(texts))


def _taped(opened: Engine, model_id: str, score: Callable[..., Any]) -> _Taped | None:
    if opened.tape is None:
        return None
    spec = ToolSpec(name=f"rerank {model_id}", description="Scores texts.", input_schema={}, reads=True)
    return _Taped(model_id, opened.tape.tool("", "", Bound(spec=spec, call=score)))
