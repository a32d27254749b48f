"""Refusals before a run begins: an unknown person, a token that is none, too much at once. Refused runs are runs."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path

from ukai import store
from ukai.app import desk, telemetry
from ukai.app.audit import rows
from ukai.app.telemetry import names
from ukai.kit import ids


@dataclass(frozen=True, kw_only=True)
class Refusal:
    """Who was refused what, and why."""

    at: datetime
    surface: str
    who: str
    """A principal; or what the outside calls them: `slack:T1/U2`, `peer:10.0.0.7`."""
    code: str
    """`unknown_person`, `bad_token`, `busy`, `too_often`, ..."""
    about: str = ""
    """What they wanted: an agent, a path."""
    detail: str = ""
    """Never a secret, never content."""


async def refused(db: store.Database, refusal: Refusal, *, entropy: ids.Entropy = os.urandom) -> None:
    """Keep it and count it."""
    telemetry.METRICS.add(names.REFUSALS, refusal.surface, refusal.code)
    async with db.transaction() as tx:
        await rows.refuse(tx, ids.time_ordered(refusal.at, entropy=entropy), **asdict(refusal))


async def listed(path: Path, *, named: str | None, limit: int) -> list[Refusal]:
    """What the workspace's servers refused, newest first, for holders of `audit`. Raises NoRight."""
    async with desk.opened(path, named=named) as opened:
        opened.standing.need("audit", "read what was refused")
        return await latest(opened.db, limit=limit)


async def latest(db: store.Database, *, limit: int = 100) -> list[Refusal]:
    """Newest first."""
    async with db.transaction() as tx:
        found = await rows.refusals(tx, limit=limit)
    return [Refusal(at=at, surface=s, who=w, code=c, about=a, detail=d) for at, s, w, c, a, d in found]
