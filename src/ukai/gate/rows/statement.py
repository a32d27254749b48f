"""What the statements of this package are made with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, LiteralString, cast

import psycopg
from psycopg import sql
from psycopg.rows import dict_row

from ukai import store

Fault = psycopg.Error
"""Whatever the driver says went wrong."""
Allowed = tuple[str, Sequence[Any]]
"""A condition over the columns of `node n`, made by `Rights.sql`, and its parameters."""
CHANGE = """select c.*, m.author_kind, m.author_id, m.run, m.step, m.key
             from change c join commit m on m.id = c.commit"""


@dataclass(frozen=True, kw_only=True)
class Window:
    """Which part of history is asked for."""

    since: datetime | None = None
    until: datetime | None = None
    limit: int = 100
    before: int | None = None
    """Only changes with a smaller `seq`: the next page, going back."""

    @property
    def params(self) -> tuple[Any, ...]:
        """For `_PAGE`."""
        return (self.since, self.since, self.until, self.until, self.before, self.before, self.limit)


async def dicts(tx: store.Transaction, statement: str | sql.Composed, params: Sequence[Any]) -> list[dict[str, Any]]:
    """The rows, each with the names of its columns."""
    cursor = tx.connection.cursor(row_factory=dict_row)
    await cursor.execute(cast("LiteralString", statement) if isinstance(statement, str) else statement, params)
    return await cursor.fetchall()


def put(template: str, **parts: str) -> sql.Composed:
    """`template` with pieces of SQL (ours, or made by `access.rows`) in its braces. Values are parameters."""
    return sql.SQL(cast("LiteralString", template)).format(
        **{name: sql.SQL(cast("LiteralString", text)) for name, text in parts.items()}
    )
