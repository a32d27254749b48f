"""The change feed: every change of every finished transaction once, in an order in which a cursor can be kept (W11).

A cursor passes finished transactions only. The order is that of transaction numbers and, inside one, of changes; an
order by change number alone would let a reader pass a number whose transaction had not committed yet.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ukai import store
from ukai.gate import history, rows, sealing
from ukai.gate.rights import Rights
from ukai.kit import ids

BEGINNING = ""
"""The cursor before the first change that is kept."""
MAX_LIMIT = 1_000
MOST = 4_000
"""Changes of which it is asked at once whether they may be read."""
_PLAIN = re.compile(r"([0-9]{1,18})\.([0-9]{1,18})\Z")
"""As cursors were before they were sealed. What the database counts with has 19 digits."""


@dataclass(frozen=True, kw_only=True)
class Page:
    """Some changes, and where to go on."""

    changes: tuple[history.Change, ...]
    cursor: str
    """Opaque, and another one each time. For the next call, also when nothing came."""
    more: bool
    """Whether there was more at the time of the call."""


class Gone(history.Gone):
    """The changes after the cursor are no longer all there: the reader must read the current state and begin anew."""

    def __init__(self, why: str, *, cursor: str) -> None:
        super().__init__(f"the changes after the cursor {cursor!r} are gone: {why}")
        self.cursor = cursor


async def read(
    db: store.Database, cursor: str, *, rights: Rights | None, limit: int = 100, entropy: ids.Entropy = os.urandom
) -> Page:
    """The changes after `cursor`, oldest first, those of records that `rights` may read now, of these the fields.

    Raises Gone when the cursor is too old, or comes from before the database was restored.
    """
    limit = max(1, min(limit, MAX_LIMIT))
    async with db.transaction() as tx:
        state = await rows.feed_state(tx)
        after = _position(cursor, state)
        if rights is None:
            return Page(changes=(), cursor=cursor, more=False)
        # Read before the changes: what finishes in between is not passed.
        settled = await rows.feed_end(tx)
        found = await _visible(tx, after, limit + 1, rights)
        page = found[:limit]
        changes = await history.seen(tx, [history.change(r) for r in page], rights=rights)
    last = (int(page[-1]["xid"]), page[-1]["seq"]) if page else (int(after[0]), after[1])
    if len(found) <= limit:
        last = max(last, (int(settled[0]), settled[1]))  # hidden changes are not looked at again
    return Page(
        changes=tuple(changes),
        cursor=_cursor(state, last, entropy),
        more=len(found) > limit,
    )


async def _visible(tx: store.Transaction, after: tuple[str, int], limit: int, rights: Rights) -> list[rows.Answer]:
    """The first changes after the position that may be read. The parts grow, for readers of a few among many."""
    found: list[rows.Answer] = []
    size = limit
    while True:
        part = await rows.feed(tx, after, limit=size)
        found += await rows.visible(tx, part, rights)
        if len(part) < size or len(found) >= limit:
            return found[:limit]
        after = (str(part[-1]["xid"]), part[-1]["seq"])
        size = min(2 * size, MOST)


async def end(db: store.Database, *, entropy: ids.Entropy = os.urandom) -> str:
    """The cursor behind the last finished change: for a reader that wants only what comes."""
    async with db.transaction() as tx:
        state = await rows.feed_state(tx)
        xid, seq = await rows.feed_end(tx)
        return _cursor(state, (int(xid), seq), entropy)


async def forget(db: store.Database, before: datetime) -> int:
    """Retention: let go of finished changes made before `before`. Older cursors, and older looks back, are Gone."""
    async with db.transaction() as tx:
        return await rows.forget_changes(tx, before)


def _cursor(state: Mapping[str, Any], position: sealing.Position, entropy: ids.Entropy) -> str:
    return f"{state['timeline']}.{sealing.sealed(position, secret=state['secret'], entropy=entropy)}"


def _position(cursor: str, state: Mapping[str, Any]) -> tuple[str, int]:
    floor = int(state["floor_xid"]), int(state["floor_seq"])
    if cursor == BEGINNING:
        return str(floor[0]), floor[1]
    timeline, _, place = cursor.partition(".")
    numbers = _PLAIN.match(place)
    found = (int(numbers[1]), int(numbers[2])) if numbers else sealing.opened(place, secret=state["secret"])
    if found is None:
        raise Gone("it is no cursor of this feed", cursor=cursor)
    if timeline != state["timeline"]:
        raise Gone("the database was restored since", cursor=cursor)
    if found < floor:
        raise Gone("they are older than what is kept", cursor=cursor)
    return str(found[0]), found[1]
