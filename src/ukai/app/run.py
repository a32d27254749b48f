"""`ukai run show | list`: saved runs, read by whoever asked them or holds `audit`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ukai import record
from ukai.app import engine
from ukai.kit.errors import PermanentError


class NoSuchRun(PermanentError):
    """There is no such run, or none that the caller may read."""

    hint = "`ukai run list` shows those that may be read"


async def show(path: Path, run_id: str, *, principal: str | None) -> dict[str, Any]:
    """The document of one run. Raises NoSuchRun."""
    async with engine.opened(path) as opened:
        sight = _sight(opened, principal)
        async with opened.db.transaction() as tx:
            raw = await record.read(tx, run_id, sight)
    if raw is None:
        raise NoSuchRun(f"no run {run_id!r} that may be read")
    return json.loads(raw)


async def listed(path: Path, *, principal: str | None, after: str | None, limit: int) -> dict[str, Any]:
    """A page of runs, newest first."""
    async with engine.opened(path) as opened:
        sight = _sight(opened, principal)
        async with opened.db.transaction() as tx:
            page = await record.page(tx, sight, after=after, limit=limit)
    return {"runs": [record.as_json(r) for r in page.runs], "after": page.after}


def _sight(opened: engine.Engine, principal: str | None) -> record.Sight:
    who = opened.principal(principal)
    may_audit = opened.catalog.access.holds(opened.catalog.access.caller(who), "audit").allowed
    return record.Sight(principal=who, audit=may_audit)
