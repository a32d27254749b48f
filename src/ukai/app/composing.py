"""What is composed for a turn: the document about its question, and the tool that composes more (P4.1, C1)."""

from __future__ import annotations

from ukai import context, record
from ukai.app import rankers, telemetry
from ukai.app.engine import Engine
from ukai.context import ranking, reading
from ukai.context.given import Given, together
from ukai.context.reader import WHEREVER_RIGHTS_REACH, Reader
from ukai.runtime.agent import Skill
from ukai.runtime.meter import Meter
from ukai.runtime.tools import Document


async def composed(
    opened: Engine,
    question: str,
    reader: Reader,
    *,
    meter: Meter,
    skill: Skill | None,
    given: dict[str, tuple[str, str]],
    budget_tokens: int | None = None,
) -> Document:
    """The document about `question`: inside the agent's scope and the skill's, under the reader's rights.

    A model that ranks is paid from `meter`. `given` is what the turn has been given: it is not given again, and what
    this document shows is added to it.
    """
    name, ranker = rankers.named(opened, None, meter)
    scope = (skill.scope if skill else None) or (reader.scopes[0] if reader.scopes else WHEREVER_RIGHTS_REACH)
    request = context.Request(
        question=question,
        scope=scope,
        skill=skill.name if skill else "",
        budget_tokens=budget_tokens,
        ranker=name,
    )
    made = await compose(opened, request, reader, ranker, given=given)
    given |= together(given, made.report.shown)
    return Document(id=str(made.id), shown=made.text, items=[_item(i) for i in made.items])


async def compose(
    opened: Engine,
    request: context.Request,
    reader: Reader,
    ranker: ranking.Ranker | None,
    *,
    given: Given | None = None,
) -> context.Composition:
    """The one way to the composer from here: by this deployment's thresholds, and counted."""
    made = await context.compose(
        opened.db,
        request,
        library=opened.library,
        reader=reader,
        clock=opened.clock,
        settings=opened.catalog.settings.context.thresholds,
        given=given,
        ranker=ranker,
    )
    telemetry.composed(made.report)
    telemetry.made("composition", made.id)
    return made


def _item(item: reading.Item) -> record.Item:
    fields = dict(item.fields or {})
    value = {"title": item.title} | ({"fields": fields} if fields else {})
    lines = [item.text, *(f"{key}: {said}" for key, said in fields.items())]
    text = "\n".join(line for line in lines if line)
    return record.Item(item_key=item.handle, text=text or item.title, value=value, as_of=item.at)
