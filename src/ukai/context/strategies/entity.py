"""Entities: records that the question calls by a name, with what they own. Fires when it may name any.

A name that was found is no word of the question any more: every line about the right customer would look like an
answer. What is left may be one rare word, `renew`, that the record itself says in a field's name only: so the named
records stand first whatever they say, and no word puts what belongs to others before all that belongs to them.
"""

from __future__ import annotations

from collections.abc import Sequence

from ukai.context import names, rows, score
from ukai.context.strategies.asked import Asked, Strategy

OWNED = 6.0
"""What belonging to what is named adds to a score that is made of standard deviations.

Source: every other labelled question of the sample company; with 3, and 6 for what is named itself, .57 of the evidence
of questions for fields was in 2,500 tokens, with 6 and 9 it was .93 (docs/design/composer.md)."""
MOST_OWNED = 5_000


async def find(ask: Asked) -> Sequence[int]:
    """The named records, then what they own."""
    named = await names.named(ask.tx, ask.question, reader=ask.scope, types=ask.types)
    ask.named = [n for n in named if n.node.id not in ask.things or "#" in n.said]
    if not ask.named:
        return []
    ids = [n.node.id for n in ask.named]
    owned = await rows.under(ask.tx, ask.scope.clause, ids, ask.scope.owning, MOST_OWNED)
    ask.owned = frozenset(owned)
    ask.questions = score.asked(names.without(ask.question, ask.named))
    themselves = [row for id in ids if (row := ask.view.nodes.get(id)) is not None]
    theirs = ask.view.standing(ask.owned)
    ask.bonus |= dict.fromkeys(theirs.tolist(), OWNED)
    ask.theirs = frozenset(theirs.tolist())
    ask.first = themselves
    ask.others = ask.view.alike(theirs)
    return themselves


STRATEGY = Strategy(
    fires=lambda ask: any(c.isupper() or c.isdigit() for c in ask.question),
    find=find,
    timeout_ms=lambda s: s.search_ms,
    reads=lambda _: True,
)
