"""What a database says of itself, for `db status` and `doctor`."""

from __future__ import annotations

from dataclasses import dataclass

from ukai.store import dial, migrations
from ukai.store.archive import REPLACED, RESTORING

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
    with dial.dial(url, application="ukai status") as connection:
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
