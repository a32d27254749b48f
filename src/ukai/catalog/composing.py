"""`context` of ukai.yaml: who may put what is composed in order, and where composing changes its way (C17, C25-C26)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from ukai.context.settings import Settings
from ukai.kit import document, shape, suggest
from ukai.kit.finding import Finding
from ukai.llm.config import Models
from ukai.llm.known import EXTRACTIVE, SCORE


@dataclass(frozen=True, kw_only=True)
class Composing:
    """How this deployment composes."""

    __pydantic_config__ = shape.STRICT

    ranker: str = SCORE
    """What orders where a call names nothing: the scores, or a chat model or reranker of models.yaml."""
    rankers: tuple[str, ...] = ()
    """Others that a call may name."""
    thresholds: Settings = field(default_factory=Settings)

    @property
    def choice(self) -> tuple[str, ...]:
        """All that a call may name."""
        return tuple(dict.fromkeys((SCORE, self.ranker, *self.rankers)))


def findings(context: Composing, doc: document.Document) -> Iterator[Finding]:
    """What is wrong with it beyond its shape."""
    found = context.thresholds
    counts = [("fetch_all", found.fetch_all), ("filter", found.filter), ("exact", found.exact)]
    for (less, few), (more, many) in pairwise(counts):
        if few > many:
            yield Finding(
                code="invalid_value",
                where=doc.where("/context/thresholds"),
                message=f"{less} ({few}) is above {more} ({many}): one route would never be taken",
                expected="fetch_all <= filter <= exact",
                received=str(few),
                hint=f"lower {less}, or raise {more}",
            )


def unknown(context: Composing, models: Models, doc: document.Document) -> Iterator[Finding]:
    """Rankers that models.yaml does not know, or that cannot rank."""
    named = [
        ("/context/ranker", context.ranker),
        *((f"/context/rankers/{i}", n) for i, n in enumerate(context.rankers)),
    ]
    able = (n for n in models.names if models.resolve(n).spec.use != EXTRACTIVE)
    known = sorted({SCORE, *models.rerankers, *able})
    for at, name in named:
        if name == SCORE or name in models.rerankers:
            continue
        wrong = models.findings(name, where=doc.where(at))
        if not wrong and models.resolve(name).spec.use != EXTRACTIVE:
            continue
        yield Finding(
            code="unknown_ranker",
            where=doc.where(at),
            message=f"no chat model and no reranker is named {name!r}"
            if wrong
            else f"{name!r} stands for {EXTRACTIVE}, which quotes and ranks nothing",
            expected=", ".join(known) + " or provider:name",
            received=name,
            hint=suggest.hint_for(name, known),
        )
