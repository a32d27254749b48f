"""The rules of a workspace as a judge of answers that are there already, and of their owners' examples (P8.4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ukai import record
from ukai.app import ask, budgets, engine, rules
from ukai.app.evals import answering
from ukai.measure import firings
from ukai.measure.bank import Example
from ukai.measure.evaluation import Judged
from ukai.runtime import mending
from ukai.runtime.agent import Agent
from ukai.runtime.budget import Purse
from ukai.runtime.meter import Meter


@dataclass(frozen=True, kw_only=True)
class Rules:
    """The rules of one agent, read anew every time."""

    asking: answering.Asking
    agent: Agent

    @property
    def wording(self) -> Mapping[str, str]:
        """Rule -> `version sha256`."""
        return ask.config(self.asking.opened, self.agent, None).guardrails

    @property
    def model(self) -> str:
        """The agent's model, and those that judge."""
        catalog = self.asking.opened.catalog
        named = sorted({m for rule in self.agent.guardrails if (m := catalog.guardrails[rule].model) is not None})
        judges = ", ".join(catalog.models.resolve(name).spec.use for name in named)
        return f"{self.agent.model_use or self.agent.model} judged by {judges or 'code'}"

    async def __call__(self, run: record.Run, time: int, /) -> tuple[record.Firing, ...]:
        """Both stages: what the question and what the answer, as the agent first wrote it, make the rules say."""
        opened = self.asking.taped(answering.Tape(asking=self.asking, rep=time))
        made = rules.rules_for(opened, self.agent, exhaustive=True)
        if made is None:
            return ()
        purse = Purse(allowance=budgets.allowance(opened, self.agent, run.principal))
        # Nothing is mended by a model: the verdicts are what is asked for, and the agent is not to cost anything.
        judges = replace(made(Meter(purse=purse)), mend=mending.withhold)
        asked = await judges.question(run.question)
        text = written(run)
        if text is None:
            return asked.firings
        read = await judges.answer(text, lambda words: replace(run, answer=record.Answer(markdown=words), sha256=""))
        return (*asked.firings, *read.firings)


def written(run: record.Run) -> str | None:
    """The answer as the agent wrote it, before any rule held or mended it."""
    for firing in run.firings:
        first = firing.held if firing.held is not None else firing.rewrite_of
        if firing.stage == "output" and first is not None:
            return first
    return run.answer.markdown if run.answer else None


async def examples(asking: answering.Asking, asked: Sequence[Example]) -> list[Judged]:
    """What each rule says to its owner's examples, as questions or as answers by its stage."""
    opened = asking.opened
    found: list[Judged] = []
    for example in asked:
        rule = opened.catalog.guardrails[example.rule]
        agent = next((a for a in opened.catalog.agents.values() if rule.id in a.guardrails), None)
        if agent is None:
            continue  # a rule that reaches nobody is lint's to tell
        run = _bare(opened, agent, example.text, is_question=rule.stage == "input")
        verdicts = await Rules(asking=asking, agent=replace(agent, guardrails=(rule.id,)))(run, 1)
        said = firings.said(replace(run, firings=verdicts)).get(rule.id, "pass")
        found.append(Judged(example=example.id, said=said))
    return found


def _bare(opened: engine.Engine, agent: Agent, text: str, *, is_question: bool) -> record.Run:
    """A run that holds nothing but a question, or an answer."""
    now = opened.clock.now()
    return record.Run(
        run_id="example",
        agent=agent.name,
        principal=opened.principal(None),
        surface="eval",
        question=text if is_question else "",
        started_at=now,
        as_of=now,
        ended_at=now,
        config=record.Config(model=agent.model_use or agent.model),
        status="answered",
        answer=None if is_question else record.Answer(markdown=text),
    )
