"""How a delivery is asked: through the one stream of all surfaces, with what its thread said before."""

from __future__ import annotations

from ukai.app import deliveries, identity, live
from ukai.app.agents import NoAgent
from ukai.app.ask import Outcome
from ukai.app.deliveries import Answer, Ask, Delivery, Listener
from ukai.app.deploy.value import prompts
from ukai.app.reception import Reception
from ukai.surfaces.slack.installed import Served

SURFACE = "slack"
NOT_YOURS = "You may not ask this agent here. IT decides who may."


def served(reception: Reception, agent: str) -> Served:
    """The agent as an app serves it. Raises UnknownAgent, NotServed."""
    opened = reception.engine
    opened.agent(agent)
    settings = opened.catalog.settings

    return Served(
        db=opened.db,
        clock=opened.clock,
        agent=agent,
        ask=asking(reception),
        prompts=lambda: prompts(reception.engine.agent(agent)),
        everybody=settings.slack.everybody if settings.slack else None,
        drain_s=settings.serve.drain_s,
    )


def asking(reception: Reception) -> Ask:
    """The function that a carrier asks with."""

    async def ask(delivery: Delivery, principal: str, place: identity.Place, listen: Listener) -> Answer:
        question = delivery.question
        asked = live.Question(
            agent=delivery.agent,
            text=question.text,
            caller=identity.named(principal, SURFACE),
            surface=SURFACE,
            place=place,
            earlier=await deliveries.earlier(reception.engine.db, question),
            conversation=question.conversation,
        )
        try:
            outcome = await _told(reception, asked, listen)
        except NoAgent:
            return Answer(text=NOT_YOURS, outcome="refused", is_private=not question.is_direct)
        return Answer(
            text=outcome.text,
            outcome=outcome.status,
            run_id=outcome.run.run_id,
            is_private=outcome.is_for_the_asker_alone and not question.is_direct,
        )

    return ask


async def _told(reception: Reception, asked: live.Question, listen: Listener) -> Outcome:
    async with live.asked(reception, asked) as stream:
        async for told in stream:
            if isinstance(told, Outcome):
                return told
            listen(told)
    raise AssertionError("a turn ends with its outcome")
