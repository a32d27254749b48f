"""The SQL of refusals (migration 0010)."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from ukai.store import Transaction

LONGEST = 500
"""Of what the outside sent: a path or a name may be anything."""


async def refuse(
    tx: Transaction, id: UUID, *, at: datetime, surface: str, who: str, code: str, about: str, detail: str
) -> None:
    """Keep one."""
    texts = (text.replace("\0", "")[:LONGEST] for text in (surface, who, code, about, detail))
    await tx.execute(
        "insert into refusal (id, at, surface, who, code, about, detail) values (%s, %s, %s, %s, %s, %s, %s)",
        (id, at, *texts),
    )


async def refusals(tx: Transaction, *, limit: int) -> list[tuple[Any, ...]]:
    """Newest first: at, surface, who, code, about, detail."""
    return await tx.fetch(
        "select at, surface, who, code, about, detail from refusal order by id desc limit %s", (limit,)
    )
