"""Records that wait, by their state."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from ukai import store
from ukai.gate.rows.statement import Allowed, dicts, put


async def in_state(
    tx: store.Transaction, type: str, state: str | None, *, allowed: Allowed, limit: int
) -> list[dict[str, Any]]:
    """The living nodes of a type in a state (in any, for None), newest first."""
    text, params = allowed
    return await dicts(
        tx,
        put(
            """select n.* from node n where n.type = %s and n.gone = 0 and (%s::text is null or n.state = %s)
               and {allowed} order by n.created_at desc, n.id desc limit %s""",
            allowed=text,
        ),
        [type, state, state, *params, limit],
    )


async def expired(tx: store.Transaction, type: str, now: datetime) -> list[UUID]:
    """The open nodes of a type whose `expires_at` is over."""
    found = await tx.fetch(
        """select id from node where type = %s and gone = 0 and state = 'open'
           and (props->>'expires_at')::timestamptz <= %s order by id""",
        (type, now),
    )
    return [id for (id,) in found]
