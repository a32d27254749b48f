"""What a database says of itself, for `db status` and `doctor`."""

from __future__ import annotations

from dataclasses import dataclass

import psycopg

from ukai.store import address, migrations
from ukai.store.archive import REPLACED, RESTORING
from ukai.store.failures import DatabaseAway, DatabaseUnfit

_QUESTION = """
select current_setting('server_version'),
       (select coalesce(installed_version, default_version) from pg_available_extensions where name = 'vector'),
       (select count(*) from pg_stat_activity
        where datname = current_database() and backend_type = 'client backend' and pid <> pg_backend_pid()),
       pg_database_size(current_database()),
       array(select datname from pg_database
             where datname in (current_database() || %s, current_database() || %s) order by 1)
"""


@dataclass(frozen=True, kw_only=True)
class Vitals:
    """One look at a live database."""

    server: str
    vector: str
    """Empty: pgvector is not there."""
    clients: int
    size_bytes: int
    migration: str | None
    """The newest step that ran."""
    leftovers: tuple[str, ...]
    """Databases that a killed restore left behind."""


def look(url: str) -> Vitals:
    """Ask the database. Raises DatabaseAway, or DatabaseUnfit when `url` is not an address."""
    try:
        with psycopg.connect(url, autocommit=True, connect_timeout=10, application_name="ukai status") as connection:
            row = connection.execute(_QUESTION, (RESTORING, REPLACED)).fetchone()
            assert row is not None
            return Vitals(
                server=str(row[0]),
                vector=str(row[1] or ""),
                clients=int(row[2]),
                size_bytes=int(row[3]),
                migration=migrations.at(connection),
                leftovers=tuple(row[4]),
            )
    except psycopg.OperationalError as error:
        raise DatabaseAway(
            f"cannot connect to {address.masked(url)}: {address.scrubbed(str(error).strip(), url)}"
        ) from None
    except psycopg.ProgrammingError as error:
        raise not_an_address(url, error) from None


def not_an_address(url: str, error: psycopg.Error) -> DatabaseUnfit:
    """A text that libpq does not take for an address."""
    return DatabaseUnfit(
        f"not an address of PostgreSQL: {address.scrubbed(str(error).strip(), url)}",
        hint="write postgresql://user:password@host:5432/name",
    )
