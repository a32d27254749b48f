"""The SQL of this room: personal tokens, as hashes."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from ukai.store import Transaction


@dataclass(frozen=True, kw_only=True)
class Token:
    """A personal token as its owner sees it in a list; what was handed out cannot be shown again."""

    id: str
    principal: str
    name: str
    created_at: datetime
    expires_at: datetime
    used_at: datetime | None
    """The day of the last use."""
    revoked_at: datetime | None


async def add(tx: Transaction, token: Token, sha256: bytes) -> None:
    """Keep a new token."""
    await tx.execute(
        "insert into personal_token (id, sha256, principal, name, created_at, expires_at) "
        "values (%s, %s, %s, %s, %s, %s)",
        (UUID(token.id), sha256, token.principal, token.name, token.created_at, token.expires_at),
    )


async def find(tx: Transaction, sha256: bytes) -> Token | None:
    """The token with this hash, whatever its state."""
    row = await tx.one(
        "select id, principal, name, created_at, expires_at, used_at, revoked_at from personal_token where sha256 = %s",
        (sha256,),
    )
    return None if row is None else _token(row)


async def used(tx: Transaction, id: str, day: datetime) -> None:
    """Note the day of use; once a day."""
    await tx.execute(
        "update personal_token set used_at = %s where id = %s and used_at is distinct from %s", (day, UUID(id), day)
    )


async def of(tx: Transaction, principal: str) -> list[Token]:
    """Those of one principal, newest first."""
    rows = await tx.fetch(
        "select id, principal, name, created_at, expires_at, used_at, revoked_at from personal_token "
        "where principal = %s order by id desc",
        (principal,),
    )
    return [_token(row) for row in rows]


async def revoke(tx: Transaction, id: UUID, principal: str, at: datetime) -> bool:
    """End a token of this principal; False when there is no such token of theirs that is not ended."""
    return (
        await tx.execute(
            "update personal_token set revoked_at = %s where id = %s and principal = %s and revoked_at is null",
            (at, id, principal),
        )
        == 1
    )


def _token(row: tuple[Any, ...]) -> Token:
    id, principal, name, created_at, expires_at, used_at, revoked_at = row
    return Token(
        id=str(id),
        principal=principal,
        name=name,
        created_at=created_at,
        expires_at=expires_at,
        used_at=used_at,
        revoked_at=revoked_at,
    )
