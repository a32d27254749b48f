"""What an answer costs and holds: the labelled questions of the sample company, asked of the model that only quotes.

Options: accounts (40), seed, questions (a part of the ids, default all), rounds (1), embed (`all` or a number:
default all up to 200 accounts, none beyond), home (a folder to keep the loaded company in; default a temporary one).

A question's evidence is among the sources when the answer cites each item that it requires, or the record that holds
it. A question without an answer is honest when the answer does not claim to have found one.
"""

from __future__ import annotations

import asyncio
import shutil
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from ukai.app import ask, company, db, engine, identity
from ukai.app.bench import Report
from ukai.app.demo import WORKSPACE
from ukai.context import reading
from ukai.kit import document, handle
from ukai.llm.extractive import outcome_of

MANY = 200
"""Above this many accounts nothing is embedded unless it is asked for: 10,000 accounts are an hour of two cores."""
KINDS = ("word", "paraphrase", "field", "none")


@dataclass(frozen=True, kw_only=True)
class Question:
    """One labelled question."""

    id: str
    ask: str
    principal: str
    subject: str
    items: tuple[str, ...]

    @property
    def kind(self) -> str:
        return self.id.partition("-")[0]


@dataclass(frozen=True, kw_only=True)
class Told:
    """What came of one question."""

    question: Question
    agent: str
    seconds: float
    status: str
    outcome: str
    is_cited: bool
    """All its evidence is among the sources."""
    is_returned: bool
    """All its evidence was among what the tools returned."""


def questions(root: Path = WORKSPACE) -> list[Question]:
    """The labelled questions, in their order."""
    doc, findings = document.read((root / "evals" / "questions.yaml").read_bytes(), name="questions.yaml")
    assert doc is not None, findings
    return [
        Question(
            id=q["id"],
            ask=q["ask"],
            principal=q["as"],
            subject=q["subject"],
            items=tuple((q.get("requires") or {}).get("items", ())),
        )
        for q in cast("list[dict[str, Any]]", doc.data)
    ]


async def asked(opened: engine.Engine, question: Question) -> Told:
    """The question put to the first agent that its caller may use and that reads its evidence."""
    agent = await agent_for(opened, question)
    started = time.perf_counter()
    caller = identity.local(question.principal)
    run = (await ask.ask(opened, agent, question.ask, caller=caller)).run
    seconds = time.perf_counter() - started
    return Told(
        question=question,
        agent=agent,
        seconds=seconds,
        status=run.status,
        outcome=outcome_of(run.answer.markdown) if run.answer else "none",
        is_cited=is_among(question.items, [c.item_key for c in run.citations]),
        is_returned=is_among(question.items, [i.item_key for c in run.calls for i in c.items]),
    )


def is_among(items: Sequence[str], sources: Iterable[str]) -> bool:
    """Whether each item is one of the sources, or a part or the whole of one."""
    known = set(sources)
    wholes = {k.partition("/")[0] for k in known if "/" not in k}
    return all(i in known or i.partition("/")[0] in wholes or any(k.startswith(f"{i}/") for k in known) for i in items)


async def agent_for(opened: engine.Engine, question: Question) -> str:
    """An agent that the caller may invoke here, whose rights and scope cover the evidence if any agent's do."""
    names = [n for n in opened.catalog.agents if _may(opened, n, question.principal)]
    wanted = [parsed for i in question.items if (parsed := handle.parse(i)) is not None]
    for name in names:
        agent = opened.agent(name)
        reader = opened.reader(agent, opened.rights(agent, question.principal, "cli"))
        async with opened.db.snapshot() as tx:
            found = [await reading.read(tx, opened.library, reader, name=h) for h in wanted]
        if all(found):
            return name
    return names[0]


def _may(opened: engine.Engine, name: str, principal: str) -> bool:
    return opened.rights(opened.agent(name), principal, "cli").invoke.allowed


def shares(told: Sequence[Told]) -> dict[str, float]:
    """Figures by kind, and over everything that has an answer."""
    figures: dict[str, float] = {}
    for kind in KINDS:
        of = [t for t in told if t.question.kind == kind]
        if of and kind == "none":
            figures["none_honest"] = _share(t.outcome != "found" for t in of)
        elif of:
            figures[f"{kind}_cited"] = _share(t.is_cited for t in of)
            figures[f"{kind}_returned"] = _share(t.is_returned for t in of)
            figures[f"{kind}_found"] = _share(t.outcome == "found" for t in of)
    answerable = [t for t in told if t.question.items]
    if answerable:
        figures["answerable_cited"] = _share(t.is_cited for t in answerable)
    return figures


def _share(values: Iterable[bool]) -> float:
    found = list(values)
    return sum(found) / len(found)


def run(options: Mapping[str, str]) -> Report:
    """Shares by kind, and how long an answer takes."""
    home = options.get("home")
    if home is not None:
        return asyncio.run(_measured(_copied(Path(home)), options))
    with tempfile.TemporaryDirectory(prefix="ukai-bench-") as folder:
        root = _copied(Path(folder))
        try:
            return asyncio.run(_measured(root, options))
        finally:
            db.stop(root)


def _copied(to: Path) -> Path:
    target = to / "harbor-apis"
    shutil.copytree(WORKSPACE, target, ignore=shutil.ignore_patterns(".ukai", "__pycache__"), dirs_exist_ok=True)
    return target


async def _measured(root: Path, options: Mapping[str, str]) -> Report:
    accounts = int(options.get("accounts", "40"))
    embed = options.get("embed", "all" if accounts <= MANY else "0")
    wanted = [q for q in questions() if options.get("questions", "") in q.id]
    async with engine.opened(root) as opened:
        started = time.perf_counter()
        seed = int(options["seed"]) if "seed" in options else None
        records = await company.enter(opened, progress=lambda _: None, accounts=accounts, seed=seed)
        loaded = time.perf_counter()
        await opened.catch_up(embed=0)
        indexed = time.perf_counter()
        await opened.catch_up(embed=None if embed == "all" else int(embed))
        embedded = time.perf_counter()
        await asked(opened, wanted[0])  # the model and the pool are there from here on
        told = [await asked(opened, q) for _ in range(int(options.get("rounds", "1"))) for q in wanted]
    seconds = sorted(t.seconds for t in told)
    figures = {
        **shares(told),
        "questions": float(len(told)),
        "p50_ms": seconds[int(0.5 * (len(seconds) - 1))] * 1e3,
        "p95_ms": seconds[int(0.95 * (len(seconds) - 1))] * 1e3,
        "records": float(records),
        "load_s": loaded - started,
        "index_s": indexed - loaded,
        "embed_s": embedded - indexed,
    }
    notes = [f"{t.question.id} ({t.agent}): {_why(t)}" for t in told if _why(t)]
    if embed != "all":
        notes.insert(0, f"{accounts} accounts, {embed} passages embedded: the rest is found by words alone")
    return Report(figures=figures, notes=tuple(notes))


def _why(told: Told) -> str:
    if told.status != "answered":
        return told.status
    if not told.question.items:
        return "claims to have found an answer" if told.outcome == "found" else ""
    if told.is_cited:
        return ""
    return "returned by a tool and not cited" if told.is_returned else "not returned by any tool"
