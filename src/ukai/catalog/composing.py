"""`context` of ukai.yaml: who ranks what is composed, where composing changes its way, when it is measured.

Context req. 17, 25-26, 45.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import PurePosixPath
from typing import Annotated

from pydantic import Field

from ukai.context.settings import Settings
from ukai.kit import document, principal, shape, suggest
from ukai.kit.finding import Finding
from ukai.llm.config import Models
from ukai.llm.known import EXTRACTIVE, SCORE
from ukai.study import report

RISING: Mapping[tuple[str, ...], str] = {
    ("fetch_all", "filter", "exact", "in_memory"): "one route would never be taken",
    ("near", "strategy_cap", "composition_cap"): "what the one brings the other cuts off",
    ("fetch_all", "composition_cap"): "not all that are in scope would be candidates",
}
"""Thresholds none of which may be above the next, and what would come of it."""


@dataclass(frozen=True, kw_only=True)
class Recall:
    """When what is composed is measured over the workspace's own cases, and against what."""

    __pydantic_config__ = shape.STRICT

    nightly: Annotated[str, Field(pattern=r"^([01][0-9]|2[0-3]):[0-5][0-9]$")]
    """The time of the day."""
    baseline: str
    """A file of the workspace with pinned figures, as `ukai context recall --pin` writes it."""
    name: Annotated[str, Field(alias="set")] = "recall"
    """The set of the baseline."""
    timezone: str = "UTC"
    """An IANA zone."""
    run_as: str | None = None
    """Who runs it (P3.4); None is the local principal. Cases are asked under the rights of whoever they name, so on a
    database that is not this machine's own it must hold `impersonate`."""

    @property
    def cron(self) -> str:
        """As a schedule reads it."""
        hour, _, minute = self.nightly.partition(":")
        return f"{int(minute)} {int(hour)} * * *"


@dataclass(frozen=True, kw_only=True)
class Composing:
    """How this deployment composes."""

    __pydantic_config__ = shape.STRICT

    ranker: str = SCORE
    """What orders where a call names nothing: the scores, or a chat model or reranker of models.yaml."""
    rankers: tuple[str, ...] = ()
    """Others that a call may name."""
    thresholds: Settings = field(default_factory=Settings)
    recall: Recall | None = None

    @property
    def choice(self) -> tuple[str, ...]:
        """All that a call may name."""
        return tuple(dict.fromkeys((SCORE, self.ranker, *self.rankers)))


def findings(context: Composing, doc: document.Document, *, local: str | None) -> Iterator[Finding]:
    """What is wrong with it beyond its shape. `local` is the local principal."""
    found = context.thresholds
    for names, why in RISING.items():
        for less, more in pairwise(names):
            few, many = getattr(found, less), getattr(found, more)
            if few > many:
                yield Finding(
                    code="invalid_value",
                    where=doc.where("/context/thresholds"),
                    message=f"{less} ({few}) is above {more} ({many}): {why}",
                    expected=" <= ".join(names),
                    received=str(few),
                    hint=f"lower {less}, or raise {more}",
                )
    if context.recall is not None:
        yield from _nightly(context.recall, doc, local)


def _nightly(recall: Recall, doc: document.Document, local: str | None) -> Iterator[Finding]:
    path = PurePosixPath(recall.baseline)
    if not recall.baseline or path.is_absolute() or ".." in path.parts:
        yield Finding(
            code="invalid_value",
            where=doc.where("/context/recall/baseline"),
            message=f"{recall.baseline!r} is no file of the workspace",
            expected="recall-baseline.json",
            received=recall.baseline,
            hint="keep it in the workspace, so that an image holds it too",
        )
    yield from report.zone_findings(recall.timezone, where=doc.where("/context/recall/timezone"))
    who = principal.canonical(recall.run_as) if recall.run_as is not None else None
    if recall.run_as is not None and (who is None or principal.kind_of(who) not in ("person", "service")):
        yield Finding(
            code="invalid_principal",
            where=doc.where("/context/recall/run_as"),
            message=f"{recall.run_as!r} is nobody who could act",
            expected="service:nightly | ann@example.com",
            received=recall.run_as,
            hint="name a service or a person",
        )
    if recall.run_as is None and local is None:
        yield Finding(
            code="missing_key",
            where=doc.where("/context/recall"),
            message="nobody runs the nightly recall: neither run_as nor local_principal is there",
            expected="run_as: service:nightly",
            hint="add run_as",
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
