"""One plain connection, for questions outside a pool; what goes wrong while connecting is said without the password."""

from __future__ import annotations

from typing import Any

import psycopg

from ukai.store import address
from ukai.store.failures import DatabaseAway, DatabaseUnfit

CONNECT_S = 10

NO_CONNECTION = (psycopg.OperationalError, psycopg.ProgrammingError, UnicodeError)
"""What the driver raises while it connects: nobody there, not an address, not a host's name."""


def dial(url: str, *, application: str) -> psycopg.Connection[tuple[Any, ...]]:
    """Connect, outside any transaction. Raises DatabaseAway, or DatabaseUnfit when `url` is not an address."""
    try:
        return psycopg.connect(url, autocommit=True, connect_timeout=CONNECT_S, application_name=application)
    except NO_CONNECTION as error:
        raise refusal(url, error) from None


def refusal(url: str, error: Exception) -> DatabaseAway | DatabaseUnfit:
    """Why there is no connection. Not chained to its cause by callers: a traceback would print what this leaves out."""
    said = address.scrubbed(str(error).strip(), url)
    if isinstance(error, psycopg.OperationalError):
        return DatabaseAway(f"cannot connect to {address.masked(url)}: {said}")
    return DatabaseUnfit(
        f"not an address of PostgreSQL: {said}", hint="write postgresql://user:password@host:5432/name"
    )
