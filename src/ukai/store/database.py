"""A pool of connections, and transactions that callers open and hand down."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg import IsolationLevel, errors, sql
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from ukai.store import address
from ukai.store.binaries import OLDEST_MAJOR, OLDEST_VECTOR, numbers
from ukai.store.dial import CONNECT_S, NO_CONNECTION, refusal
from ukai.store.failures import DatabaseAway, DatabaseBusy, DatabaseUnfit

Connection = psycopg.AsyncConnection[tuple[Any, ...]]
Params = Sequence[Any] | Mapping[str, Any]
Statement = str | sql.SQL | sql.Composed
Address = str | Callable[[], Awaitable[str]]
"""A URL, or what gives one for each new connection: an embedded server that was killed is started again that way."""

PREPARE_AFTER = 2
"""A statement is prepared by the server when it comes for the third time."""

_SESSION: Mapping[str, str] = {
    "timezone": "UTC",
    "statement_timeout": "60s",
    "lock_timeout": "10s",
    # A worker that hangs between two statements must not hold its locks for ever.
    "idle_in_transaction_session_timeout": "120s",
}

_TRY_AGAIN = (
    errors.SerializationFailure,
    errors.DeadlockDetected,
    errors.LockNotAvailable,
    errors.QueryCanceled,
    errors.TooManyConnections,
)


@dataclass(frozen=True, kw_only=True)
class Transaction:
    """One transaction that is open. It ends where it was opened: never here."""

    connection: Connection
    """For what the four short methods do not do (COPY, pipelines); only `rows.py` modules use it."""

    async def fetch(self, statement: Statement, params: Params = ()) -> list[tuple[Any, ...]]:
        """All rows."""
        return await (await self._run(statement, params)).fetchall()

    async def one(self, statement: Statement, params: Params = ()) -> tuple[Any, ...] | None:
        """The first row."""
        return await (await self._run(statement, params)).fetchone()

    async def value(self, statement: Statement, params: Params = ()) -> Any:
        """The first column of the first row; None when there is no row."""
        row = await self.one(statement, params)
        return row[0] if row else None

    async def execute(self, statement: Statement, params: Params = ()) -> int:
        """How many rows were affected."""
        return (await self._run(statement, params)).rowcount

    @asynccontextmanager
    async def savepoint(self) -> AsyncGenerator[None]:
        """What fails inside is undone; what came before it stays."""
        async with self.connection.transaction():
            yield

    async def _run(self, statement: Statement, params: Params) -> psycopg.AsyncCursor[tuple[Any, ...]]:
        # As bytes: a room may put its statement together; the values in it travel as parameters all the same.
        query = statement.encode() if isinstance(statement, str) else statement
        return await self.connection.execute(query, params or None)


class Database:
    """A pool that is open; `connect` makes one."""

    def __init__(self, pool: AsyncConnectionPool[Connection], *, shown_as: str) -> None:
        self._pool = pool
        self.shown_as = shown_as
        """Its address without the password."""

    @asynccontextmanager
    async def transaction(self) -> AsyncGenerator[Transaction]:
        """READ COMMITTED. Commits at the end, rolls back when something is raised.

        Raises DatabaseAway when the server is lost (a commit under way may then have happened or not) and
        DatabaseBusy when it asks to try again; other errors of the driver pass, for `rows.py` to read.
        """
        async with self._connection() as connection, connection.transaction():
            yield Transaction(connection=connection)

    @asynccontextmanager
    async def snapshot(self) -> AsyncGenerator[Transaction]:
        """REPEATABLE READ, READ ONLY: every statement inside sees the same moment."""
        async with self._connection() as connection:
            await connection.set_isolation_level(IsolationLevel.REPEATABLE_READ)
            await connection.set_read_only(True)
            async with connection.transaction():
                yield Transaction(connection=connection)

    @asynccontextmanager
    async def statements(self) -> AsyncGenerator[Transaction]:
        """No transaction: each statement commits by itself. For the one call that is a whole transaction."""
        async with self._connection() as connection:
            yield Transaction(connection=connection)

    @asynccontextmanager
    async def _connection(self) -> AsyncGenerator[Connection]:
        try:
            async with self._pool.connection() as connection:
                yield connection
        except PoolTimeout as error:
            raise DatabaseAway(f"no connection to {self.shown_as} within {CONNECT_S} s") from error
        except (psycopg.OperationalError, errors.IdleInTransactionSessionTimeout) as error:
            failure = translated(error, self.shown_as)
            if isinstance(failure, DatabaseAway):
                await self._pool.check()  # the others that the same restart cut are thrown away now, not one by one
            raise failure from error


@asynccontextmanager
async def connect(url: Address, *, max_size: int = 8, min_size: int = 1) -> AsyncGenerator[Database]:
    """Open a pool and close it at the end. The first connection proves that the server is fit.

    Raises DatabaseUnfit (too old, no pgvector), DatabaseAway (not reachable).
    """
    now = url if isinstance(url, str) else await url()
    shown_as = address.masked(now)
    await _prove(now, shown_as)
    pool: AsyncConnectionPool[Connection] = AsyncConnectionPool(
        url,
        kwargs={
            "autocommit": True,  # so that a transaction begins where it is opened and nowhere else
            "prepare_threshold": PREPARE_AFTER,
            "application_name": "ukai",
            "connect_timeout": CONNECT_S,
        },
        min_size=min(min_size, max_size),
        max_size=max_size,
        timeout=CONNECT_S,
        configure=_configure,
        reset=_reset,
        open=False,
    )
    await pool.open()
    try:
        yield Database(pool, shown_as=shown_as)
    finally:
        await pool.close()


def translated(error: psycopg.Error, shown_as: str) -> DatabaseAway | DatabaseBusy:
    """The driver's words for "not now" as ours."""
    said = address.masked(str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__)
    if isinstance(error, _TRY_AGAIN):
        return DatabaseBusy(f"{shown_as}: {said}")
    if isinstance(error, errors.DiskFull):
        return DatabaseAway(f"{shown_as}: {said}", hint="free some space on the server's disk")
    return DatabaseAway(f"the connection to {shown_as} is lost or refused: {said}")


async def _prove(url: str, shown_as: str) -> None:
    try:
        connection = await psycopg.AsyncConnection.connect(url, autocommit=True, connect_timeout=CONNECT_S)
    except NO_CONNECTION as error:
        raise refusal(url, error) from None
    async with connection:
        major = connection.info.server_version // 10000
        cursor = await connection.execute(
            "select coalesce(installed_version, default_version) from pg_available_extensions where name = 'vector'"
        )
        row = await cursor.fetchone()
    if major < OLDEST_MAJOR:
        raise DatabaseUnfit(f"{shown_as} runs PostgreSQL {major}; Ukai needs {OLDEST_MAJOR} or newer")
    vector = str(row[0]) if row else ""
    if numbers(vector)[:2] < OLDEST_VECTOR:
        have = f"has pgvector {vector}" if vector else "does not have pgvector"
        raise DatabaseUnfit(f"{shown_as} {have}; Ukai needs 0.8 or newer")


async def _configure(connection: Connection) -> None:
    for name, value in _SESSION.items():
        await connection.execute("select set_config(%s, %s, false)", (name, value))


async def _reset(connection: Connection) -> None:
    if connection.isolation_level is not None:
        await connection.set_isolation_level(None)
    if connection.read_only is not None:
        await connection.set_read_only(None)
