"""Entities: records that the question calls by a name, with what they own. Fires when it may name any.

A name that was found is no word of the question any more: every line about the right customer would look like an
answer. What is left may be one rare word, `renew`, that the record itself says in a field's name only: so the named
records stand first whatever they say, and no word puts what belongs to others before all that belongs to them.
"""

from __future__ import annotations

from collections.abc import Sequence

from ukai.access import OWNERS_DEPTH
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
    themselves = [row for n in ask.named if (row := ask.view.nodes.get(n.node.id)) is not None]
    ask.questions = score.asked(names.without(ask.question, ask.named))
    theirs = ask.view.standing([ask.view.entries[row].node for row in await _with_owned(ask, themselves)])
    ask.bonus |= dict.fromkeys(theirs.tolist(), OWNED)
    ask.theirs = frozenset(theirs.tolist())
    ask.first = themselves
    ask.others = ask.view.alike(theirs)
    return themselves


async def _with_owned(ask: Asked, level: Sequence[int]) -> list[int]:
    """These rows, and those of what they own, up to OWNERS_DEPTH away, the nearest first.

    The way leads along the view: of what is not seen nothing is looked at, however much there is of it.
    """
    view, found = ask.view, dict.fromkeys(level)
    for _ in range(OWNERS_DEPTH if ask.scope.owning else 0):
        near = [row for row in sorted(view.one_away(level)) if row not in found] if level else []
        if not near or len(found) > MOST_OWNED:
            break
        owners, among = ([view.entries[row].node for row in of] for of in (level, near))
        owned = await rows.owned_among(ask.tx, owners, among, ask.scope.owning)
        level = [row for row in near if view.entries[row].node in owned]
        found |= dict.fromkeys(level)
    return list(found)[: MOST_OWNED + 1]


STRATEGY = Strategy(
    fires=lambda ask: any(c.isupper() or c.isdigit() for c in ask.question),
    find=find,
    timeout_ms=lambda s: s.search_ms,
    reads=lambda _: True,
)
