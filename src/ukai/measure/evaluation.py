"""One evaluation: a bank asked so often, with everything that it was asked under, kept run by run.

`Answerer` is what asks; the app supplies it. This room neither knows agents nor models.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from ukai import record
from ukai.kit import shape
from ukai.kit.finding import Finding
from ukai.measure import composition
from ukai.measure.bank import Bank, Example, Question

Parts = Mapping[str, Mapping[str, str]]
"""Dimension (`model`, `prose`, `rules`, `code`, `corpus`) -> part (a file, a tool, a rule) -> what it was, hashed."""


@dataclass(frozen=True, kw_only=True)
class Header:
    """What an evaluation asks, of what."""

    __pydantic_config__ = shape.STRICT

    name: str
    at: datetime
    asked: tuple[Question, ...]
    examples: tuple[Example, ...] = ()
    parts: Mapping[str, Mapping[str, str]]
    answers_of: str = ""
    """The evaluation whose answers were judged again; empty where questions were asked."""

    def as_json(self) -> dict[str, Any]:
        """Plain, with questions as they are written in a file of cases."""
        asked = [{("as" if k == "asker" else k): v for k, v in record.as_json(q).items()} for q in self.asked]
        return record.as_json(self) | {"asked": asked}

    @property
    def bank(self) -> Bank:
        """Questions and examples."""
        return Bank(questions=self.asked, examples=self.examples)


@dataclass(frozen=True, kw_only=True)
class Kept:
    """One run of one question."""

    __pydantic_config__ = shape.STRICT

    question: str
    rep: int
    run: record.Run
    compositions: tuple[composition.Saved, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Judged:
    """What a rule said to one of its examples."""

    __pydantic_config__ = shape.STRICT

    example: str
    """Its id."""
    said: str
    """`pass`, `fired` or `failed`."""


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """An evaluation as it was kept, finished or not."""

    header: Header
    kept: tuple[Kept, ...] = ()
    judged: tuple[Judged, ...] = ()

    @property
    def missing(self) -> tuple[tuple[Question, int], ...]:
        """What was not asked yet."""
        done = {(k.question, k.rep) for k in self.kept}
        return tuple((q, rep) for q, rep in self.header.bank.runs if (q.id, rep) not in done)


@dataclass(frozen=True, kw_only=True)
class Answered:
    """What came of one question: a run, or why there is none."""

    run: record.Run | None = None
    compositions: tuple[composition.Saved, ...] = ()
    findings: tuple[Finding, ...] = ()


class Answerer(Protocol):
    """Asks one question once. What an author or operator of the bank can repair comes back as findings."""

    async def __call__(self, question: Question, rep: int, /) -> Answered: ...


@dataclass(kw_only=True)
class _Progress:
    of: int
    tell: Callable[[str], None]
    done: int = 0
    findings: list[Finding] = field(default_factory=list[Finding])


async def ask_all(
    todo: Sequence[tuple[Question, int]],
    answerer: Answerer,
    keep: Callable[[Kept], None],
    *,
    side_by_side: int,
    progress: Callable[[str], None] = lambda _: None,
) -> list[Finding]:
    """Ask everything, so many at once, and keep each run as soon as it is there; what went wrong, as findings."""
    told = _Progress(of=len(todo), tell=progress)
    waiting = iter(todo)

    async def work() -> None:
        for question, rep in waiting:  # one iterator for all: whoever is free takes the next
            answered = await answerer(question, rep)
            told.findings += answered.findings
            if answered.run is not None:
                keep(Kept(question=question.id, rep=rep, run=answered.run, compositions=answered.compositions))
            told.done += 1
            told.tell(f"asked: {told.done} of {told.of}")

    async with asyncio.TaskGroup() as group:
        for _ in range(max(1, min(side_by_side, len(todo)))):
            group.create_task(work())
    return told.findings


def gathered(by_file: Mapping[str, Sequence[Question]]) -> tuple[tuple[Question, ...], list[Finding]]:
    """The questions of several files, in the order of the files; ids are unique over all of them."""
    found: dict[str, Question] = {}
    places: dict[str, str] = {}
    findings: list[Finding] = []
    for file, questions in by_file.items():
        for question in questions:
            if question.id in found:
                findings.append(_twice(question.id, file, places[question.id]))
                continue
            found[question.id], places[question.id] = question, file
    return tuple(found.values()), findings


def _twice(id: str, file: str, first: str) -> Finding:
    return Finding(
        code="duplicate_name",
        where=f"{file}:1:1",
        message=f"a case of {first} has the id {id!r} too",
        received=id,
        hint="give every case an id of its own: runs are paired by it",
    )
