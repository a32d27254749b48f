"""A database for the time of one call, migrated and empty: beside another one, or on a server of its own."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

from psycopg import errors, sql

from ukai.store import address, dial, embedded, migrations
from ukai.store.failures import DatabaseUnfit

_NAME = "ukai scratch"
_UNSYNCED = {"fsync": "off", "full_page_writes": "off", "synchronous_commit": "off"}
"""What is thrown away need not survive a loss of power."""


@contextmanager
def beside(url: str) -> Generator[str]:
    """A new database on the server of `url`, dropped at the end. Raises DatabaseUnfit when we may not create one."""
    name = f"ukai_scratch_{uuid4().hex[:12]}"
    with dial.dial(address.with_name(url, "postgres"), application=_NAME) as admin:
        try:
            admin.execute(sql.SQL("create database {} template template0").format(sql.Identifier(name)))
        except errors.InsufficientPrivilege:
            raise DatabaseUnfit(
                f"{address.masked(url)} does not let us create a database to work in",
                hint="give the user CREATEDB, or work outside a workspace without UKAI_DATABASE_URL",
            ) from None
        try:
            made = address.with_name(url, name)
            migrations.run(made)
            yield made
        finally:
            admin.execute(sql.SQL("drop database if exists {} with (force)").format(sql.Identifier(name)))


@contextmanager
def alone() -> Generator[str]:
    """A server of its own in a temporary folder, stopped and removed at the end."""
    root = Path(tempfile.mkdtemp(prefix="ukai-scratch-")).resolve()
    data_dir = root / "postgres"
    try:
        url = embedded.ensure(data_dir, embedded.Options(settings=_UNSYNCED, idle_minutes=5))
        migrations.run(url)
        yield url
    finally:
        embedded.stop(data_dir)
        shutil.rmtree(root, ignore_errors=True)
