"""Personal tokens: `ukai token create | list | revoke`, and who one belongs to when it comes with a request.

What is handed out is 256 random bits behind a prefix that secret scanners can find. Only its SHA-256 is kept: against
so many bits nobody guesses, so a slow hash would only slow down the server.
"""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar
from uuid import UUID

from ukai import store
from ukai.app import desk as desks
from ukai.app import identity, rows
from ukai.app.desk import Desk
from ukai.kit import ids, suggest
from ukai.kit.clock import Clock
from ukai.kit.errors import PermanentError

T = TypeVar("T")
PREFIX = "ukai_"
DEFAULT_DAYS, MAX_DAYS = 90, 366
MAX_NAME = 80


class NoToken(PermanentError):
    """There is no such token of the caller's."""

    hint = "`ukai token list` shows yours"


class BadToken(PermanentError):
    """What a token was to be made from does not fit."""


async def at(path: Path, named: str | None, what: Callable[[Desk], Awaitable[T]]) -> T:
    """Do one of the below in the workspace at or above `path`. Raises what opening a desk raises."""
    async with desks.opened(path, named=named, max_size=2) as desk:
        return await what(desk)


async def create(desk: Desk, name: str, *, days: int, entropy: ids.Entropy = os.urandom) -> dict[str, Any]:
    """A new token of whoever stands at the desk: the only time that it is shown. Raises BadToken."""
    if not 0 < len(name) <= MAX_NAME or not name.isprintable():
        raise BadToken(f"{name!r} names no token", hint=f"say where it is used, in at most {MAX_NAME} characters")
    if not 0 < days <= MAX_DAYS:
        raise BadToken(f"a token cannot last {days} days", hint=f"between 1 and {MAX_DAYS} days")
    now = desk.clock.now()
    text = PREFIX + base64.urlsafe_b64encode(entropy(32)).decode().rstrip("=")
    made = rows.Token(
        id=str(ids.time_ordered(now, entropy=entropy)),
        principal=desk.standing.principal,
        name=name,
        created_at=now,
        expires_at=now + timedelta(days=days),
        used_at=None,
        revoked_at=None,
    )
    async with desk.db.transaction() as tx:
        await rows.add(tx, made, _hash(text))
    return {"token": text, **asdict(made)}


async def listed(desk: Desk) -> list[dict[str, Any]]:
    """Those of whoever stands at the desk, newest first, without the tokens themselves."""
    async with desk.db.transaction() as tx:
        found = await rows.of(tx, desk.standing.principal)
    now = desk.clock.now()
    return [asdict(t) | {"state": _state(t, now)} for t in found]


async def revoke(desk: Desk, id: str) -> dict[str, Any]:
    """End one of them: the next request with it is refused. Raises NoToken."""
    try:
        known = UUID(id)
    except ValueError:
        known = None
    async with desk.db.transaction() as tx:
        now = desk.clock.now()
        if known is None or not await rows.revoke(tx, known, desk.standing.principal, now):
            names = [t.id for t in await rows.of(tx, desk.standing.principal) if t.revoked_at is None]
            raise NoToken(f"{id!r} is no token of yours that is in force", hint=suggest.hint_for(id, names))
    return {"id": str(known), "revoked_at": now}


async def caller(db: store.Database, text: str, *, clock: Clock) -> identity.Caller:
    """Whose token it is. Raises NotKnown, with the reason only for one that was once in force."""
    async with db.transaction() as tx:
        found = await rows.find(tx, _hash(text))
        if found is None:
            raise identity.NotKnown("this personal token is not known", hint="`ukai token create` makes one")
        now = clock.now()
        state = _state(found, now)
        if state != "in force":
            raise identity.NotKnown(
                f"this personal token is {state}", hint="`ukai token create` makes another; replace it where it is used"
            )
        await rows.used(tx, found.id, now.replace(hour=0, minute=0, second=0, microsecond=0))
    return identity.named(found.principal, "token")


def _state(token: rows.Token, now: datetime) -> str:
    if token.revoked_at is not None:
        return "revoked"
    return "in force" if now < token.expires_at else "expired"


def _hash(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()
