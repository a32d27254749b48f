"""A whole database into one file and back, with the programs that came with the server.

A restore is made beside the database and takes its place by two renames in one transaction: whatever kills it, the
database is the old one or the new one.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

import psycopg
from psycopg import conninfo, errors, sql

from ukai.kit.errors import PermanentError
from ukai.store import account, address, binaries, dial, folder, migrations
from ukai.store.failures import DatabaseBusy, DatabaseUnfit

RESTORING, REPLACED = "_restoring", "_replaced"
"""Endings of the databases that a killed restore leaves behind; the next one drops them."""

_NAME = "ukai archive"
_LOCK = 0x756B6172
_SWAP_S = 30.0
_ENOUGH = 10_000
_OWN_BOOKS = ("alembic_version", "dbos_migrations")


class ArchiveRefused(PermanentError):
    """A dump or a restore that would lose something, or that failed. The database is as it was."""


def dump(url: str, target: Path, found: Sequence[binaries.Binaries], *, forced: bool = False) -> int:
    """Write the database into `target` and give its size in bytes. The file appears when it is complete, or not at all.

    An existing file is replaced only when `forced`. It can be read by its owner only.
    """
    if target.exists() and not forced:
        raise ArchiveRefused(f"{target} exists", hint="name another file, or --force")
    half = target.with_name(target.name + ".part")
    try:
        os.close(os.open(half, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600))
        _run(found, "pg_dump", url, "--format=custom", f"--file={half}")
        half.replace(target)
    except OSError as error:
        raise ArchiveRefused(
            f"cannot write {target}: {error.strerror}", hint="name a file in a writable folder"
        ) from error
    finally:
        half.unlink(missing_ok=True)
    return target.stat().st_size


def restore(url: str, source: Path, found: Sequence[binaries.Binaries], *, forced: bool = False) -> None:
    """Put the database that `source` holds in the place of the one at `url`, brought to the newest migration.

    Refused when that one holds rows, unless `forced`. Its clients are cut off when the new one takes its place.
    """
    if not source.is_file():
        raise ArchiveRefused(f"there is no file {source}", hint="name a file that `ukai db dump` wrote")
    name = str(conninfo.conninfo_to_dict(url)["dbname"])
    beside, old = name + RESTORING, name + REPLACED
    new = address.with_name(url, beside)
    with _administrator(url) as admin:
        for leftover in (beside, old):
            _drop(admin, leftover)
        try:
            if not forced:
                _refuse_rows(admin, url, beside)
            _create(admin, beside)
            _run(found, "pg_restore", new, "--exit-on-error", str(source))
            migrations.run(new)
            _swap(admin, name, beside, old)
        except BaseException:
            _drop(admin, beside)
            raise
        _drop(admin, old)


def _administrator(url: str) -> psycopg.Connection[tuple[object, ...]]:
    """A connection beside the database, with nobody else restoring on this server."""
    admin = dial.dial(address.with_name(url, "postgres"), application=_NAME)
    row = admin.execute(
        "select pg_try_advisory_lock(%s), rolcreatedb or rolsuper from pg_roles where rolname = current_user", (_LOCK,)
    ).fetchone()
    if row is None or not row[0]:
        admin.close()
        raise DatabaseBusy("another restore is under way")
    if not row[1]:
        admin.close()
        raise DatabaseUnfit(
            f"{address.masked(url)} does not let us create the database that a restore is made in",
            hint="give the user CREATEDB for the time of the restore, or let an administrator run pg_restore",
        )
    return admin


def _swap(admin: psycopg.Connection[tuple[object, ...]], name: str, beside: str, old: str) -> None:
    end = time.monotonic() + _SWAP_S
    while True:
        admin.execute(
            "select pg_terminate_backend(pid) from pg_stat_activity "
            "where datname = any(%s) and pid <> pg_backend_pid()",
            ([name, beside],),
        )
        try:
            with admin.transaction():
                for before, after in ((name, old), (beside, name)):
                    admin.execute(
                        sql.SQL("alter database {} rename to {}").format(sql.Identifier(before), sql.Identifier(after))
                    )
        except errors.ObjectInUse as error:  # a client that came back between the two statements
            if time.monotonic() > end:
                raise DatabaseBusy(
                    "clients keep coming back to the database", hint="stop them and try again"
                ) from error
        else:
            return


def _create(admin: psycopg.Connection[tuple[object, ...]], name: str) -> None:
    admin.execute(sql.SQL("create database {} template template0").format(sql.Identifier(name)))


def _drop(admin: psycopg.Connection[tuple[object, ...]], name: str) -> None:
    admin.execute(sql.SQL("drop database if exists {} with (force)").format(sql.Identifier(name)))


def _refuse_rows(admin: psycopg.Connection[tuple[object, ...]], url: str, beside: str) -> None:
    """Raise when the database holds more than a fresh one: migrations may put rows of their own into a table."""
    rows = _rows(url)
    if not rows:
        return
    _create(admin, beside)
    fresh = address.with_name(url, beside)
    migrations.run(fresh)
    seeds = _rows(fresh)
    _drop(admin, beside)
    full = [table for table, count in rows.items() if count > seeds.get(table, 0)]
    if full:
        raise ArchiveRefused(
            f"the database is not empty: rows in {', '.join(full[:5])}", hint="--force replaces what is there"
        )


def _rows(url: str) -> dict[str, int]:
    """Tables that hold rows, and how many (counted up to `_ENOUGH`)."""
    counts: dict[str, int] = {}
    with dial.dial(url, application=_NAME) as connection:
        tables = connection.execute(
            "select schemaname, tablename from pg_tables where schemaname not in ('pg_catalog', 'information_schema') "
            "and tablename <> all(%s) order by 1, 2",
            (list(_OWN_BOOKS),),
        ).fetchall()
        for schema, table in tables:
            query = sql.SQL("select count(*) from (select from {} limit %s) as capped").format(
                sql.Identifier(schema, table)
            )
            row = connection.execute(query, (_ENOUGH,)).fetchone()
            if row and row[0]:
                counts[f"{schema}.{table}"] = row[0]
    return counts


def _run(found: Sequence[binaries.Binaries], program: str, url: str, *arguments: str) -> None:
    parts = conninfo.conninfo_to_dict(url)
    password = parts.pop("password", None)  # not on a command line, where every user of the machine reads it
    chosen = _at_least(found, _major_of(url))
    done = subprocess.run(  # noqa: S603
        [
            chosen.program(program),
            f"--dbname={conninfo.make_conninfo('', **parts)}",
            "--no-owner",
            "--no-privileges",
            "--no-password",
            *arguments,
        ],
        env=account.environment() | ({"PGPASSWORD": str(password)} if password else {}),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode:
        said = address.scrubbed(folder.last_lines(done.stderr), url) or f"it ended with {done.returncode}"
        raise ArchiveRefused(f"{program} failed: {said}", hint="the database is as it was")


def _major_of(url: str) -> int:
    with dial.dial(url, application=_NAME) as connection:
        return connection.info.server_version // 10000


def _at_least(found: Sequence[binaries.Binaries], major: int) -> binaries.Binaries:
    """The oldest that is not older than the server: a newer one's archive could not be read by the server's own."""
    fit = sorted((b for b in found if b.major >= major), key=lambda b: b.major)
    if not fit:
        raise DatabaseUnfit(
            f"the server is PostgreSQL {major}, and no pg_dump of {major} or newer is installed here",
            hint=f"install the client programs of PostgreSQL {major}",
        )
    return fit[0]
