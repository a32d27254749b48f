"""The bank of a workspace: cases of its agents and of `evals/`, and the examples of its guardrails (formats §9)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fnmatch import fnmatchcase

from ukai.app import engine
from ukai.catalog import Catalog, kinds
from ukai.context import reading
from ukai.kit import handle
from ukai.kit.finding import Finding
from ukai.measure import evaluation
from ukai.measure.bank import Bank, Example, Question, Split
from ukai.measure.bank import read as cases


def of(
    catalog: Catalog,
    *,
    agent: str | None = None,
    only: str = "*",
    splits: Sequence[Split] = (),
    repeats: int | None = None,
) -> tuple[Bank, list[Finding]]:
    """What the workspace asks: of one agent or of all, cases whose id matches `only`, in some splits or in all."""
    by_file: dict[str, list[Question]] = {}
    findings: list[Finding] = []
    for path, doc in sorted(catalog.documents.items()):
        place = kinds.in_workspace(path)
        if place is None or place.kind != "case":
            continue
        found, wrong = cases(doc)
        findings += wrong
        by_file[path] = [replace(q, agent=place.owner or q.agent) for q in found]
    questions, twice = evaluation.gathered(by_file)
    wanted = tuple(q for q in questions if fnmatchcase(q.id, only) and (agent is None or q.agent in (None, agent)))
    bank = Bank(questions=wanted, examples=_examples(catalog, agent)).repeated(repeats)
    return (bank.of(splits) if splits else bank), [*findings, *twice]


def _examples(catalog: Catalog, agent: str | None) -> tuple[Example, ...]:
    """What the owners of guardrails say of texts, for the rules that reach the agent, or any."""
    reached = catalog.agents[agent].guardrails if agent and agent in catalog.agents else sorted(catalog.guardrails)
    found: list[Example] = []
    for rule in (catalog.guardrails[name] for name in reached if name in catalog.guardrails):
        for number, text in enumerate(rule.examples.passes, 1):
            found.append(Example(rule=rule.id, number=number, text=text, expects="pass"))
        for number, text in enumerate(rule.examples.fire, 1):
            found.append(Example(rule=rule.id, number=number, text=text, expects="fire"))
    return tuple(found)


async def addressed(
    opened: engine.Engine, bank: Bank, asker: str, *, agent: str | None = None
) -> tuple[Bank, list[Finding]]:
    """The same with an asker and an agent for every question, or those of `agent`; what cannot be asked is told."""
    questions: list[Question] = []
    findings: list[Finding] = []
    for question in bank.questions:
        # Raises MayNotImpersonate: asking as somebody else takes the right to.
        who = opened.principal(question.asker) if question.asker else asker
        whom = question.agent or await agent_for(opened, question, who)
        if agent not in (None, whom):
            continue
        if whom is None or whom not in opened.catalog.agents or opened.loaded.blocking(whom):
            findings.append(_unasked(question, whom))
            continue
        questions.append(replace(question, asker=who, agent=whom))
    return replace(bank, questions=tuple(questions)), findings


async def agent_for(opened: engine.Engine, question: Question, who: str) -> str | None:
    """An agent that the asker may use here and that reads what the question requires, if any agent does."""
    may = [
        name
        for name in opened.catalog.agents
        if not opened.loaded.blocking(name) and opened.rights(opened.agent(name), who, "cli").invoke.allowed
    ]
    wanted = [parsed for item in question.requires.items if (parsed := handle.parse(item)) is not None]
    for name in may:
        agent = opened.agent(name)
        reader = opened.reader(agent, opened.rights(agent, who, "cli"))
        async with opened.db.snapshot() as tx:
            found = [await reading.read(tx, opened.library, reader, name=item) for item in wanted]
        if all(found):
            return name
    # Nobody who may be asked reads it all: whoever is asked then has to say so, and that is weighed too.
    return may[0] if may else next(iter(opened.catalog.agents), None)


def _unasked(question: Question, agent: str | None) -> Finding:
    message = f"the agent {agent!r} is not served" if agent else "no agent is there to be asked"
    return Finding(
        code="not_asked",
        where=f"/cases/{question.id}",
        message=message,
        received=agent or "",
        hint="`ukai lint` shows what is wrong with an agent; `agent:` in a case names one",
    )
