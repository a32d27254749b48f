"""Bringing a database to the shape this code expects. One file of plain SQL a step, under `versions/`.

alembic runs the steps. It and SQLAlchemy are imported only when there is something to do: a look at one row says so.
"""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
from psycopg import errors

from ukai.store import address, dial
from ukai.store.failures import DatabaseAway, DatabaseUnfit, MigrationsUnfit

VERSIONS = Path(__file__).parent / "versions"
_LOCK = 0x756B6169  # "ukai": one migration at a time in one database; taken in the transaction that migrates
_NAME = re.compile(r"(\d{4})_[a-z0-9_]+\.py\Z")
_DOWN = re.compile(r"^down_revision[^=\n]*=\s*(?:\"(\d{4})\"|None)\s*$", re.MULTILINE)
_OWN = re.compile(r"^revision[^=\n]*=\s*\"(\d{4})\"\s*$", re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class Step:
    """One file."""

    number: str
    file: Path


def steps(folder: Path = VERSIONS) -> list[Step]:
    """All files in order. Raises MigrationsUnfit when the chain has a gap or a file does not say what its name does."""
    found = sorted(p for p in folder.glob("*.py") if p.name != "__init__.py")
    before: str | None = None
    chain: list[Step] = []
    for number, file in enumerate(found, 1):
        match = _NAME.fullmatch(file.name)
        if match is None or int(match[1]) != number:
            raise MigrationsUnfit(
                f"{file.name} stands where migration {number:04d} is expected",
                hint=f"name it {number:04d}_what_it_holds.py, or add the missing file before it",
            )
        text = file.read_text("utf-8")
        own, down = _OWN.search(text), _DOWN.search(text)
        if own is None or own[1] != match[1] or down is None or down[1] != before:
            after = f'"{before}"' if before else "None"
            raise MigrationsUnfit(
                f"{file.name} does not continue the chain",
                hint=f'set revision = "{match[1]}" and down_revision = {after}',
            )
        before = match[1]
        chain.append(Step(number=match[1], file=file))
    return chain


async def migrate(url: str, *, folder: Path = VERSIONS) -> list[str]:
    """Bring the database at `url` to the newest step; the numbers of the steps that ran, none when it was there.

    Two processes at once: the second waits and finds nothing to do. A step that fails leaves nothing of itself.
    Raises MigrationsUnfit when the database is newer than this code.
    """
    return await asyncio.to_thread(run, url, folder=folder)


def run(url: str, *, folder: Path = VERSIONS) -> list[str]:
    """`migrate` for callers without a loop."""
    chain = steps(folder)
    try:
        with dial.dial(url, application="ukai migrations") as connection:
            missing = _missing(chain, at(connection))
        return _upgrade(url, folder) if missing else []
    except errors.InsufficientPrivilege as error:
        raise DatabaseUnfit(
            f"{address.masked(url)} does not let us change its tables: {error.diag.message_primary}",
            hint="let an administrator run `create extension vector` there once, and give Ukai its own database",
        ) from error
    except psycopg.OperationalError as error:
        raise DatabaseAway(f"{address.masked(url)}: {address.scrubbed(str(error).strip(), url)}") from None


def newest(folder: Path = VERSIONS) -> str | None:
    """The number of the last step this code knows."""
    chain = steps(folder)
    return chain[-1].number if chain else None


def at(connection: psycopg.Connection[Any]) -> str | None:
    """The newest step that ran in the database; None when it is empty."""
    known = connection.execute("select to_regclass('public.alembic_version')").fetchone()
    if known is None or known[0] is None:
        return None
    row = connection.execute("select version_num from public.alembic_version").fetchone()
    return str(row[0]) if row else None


def _missing(chain: list[Step], now: str | None) -> list[str]:
    numbers = [step.number for step in chain]
    if now is None:
        return numbers
    if now not in numbers:
        raise MigrationsUnfit(
            f"the database is at migration {now}, this code knows {numbers[-1] if numbers else 'none'}",
            hint="it was written by a newer Ukai: install that one, or restore an older dump",
        )
    return numbers[numbers.index(now) + 1 :]


def _upgrade(url: str, folder: Path) -> list[str]:
    from alembic import command
    from alembic.config import Config
    from sqlalchemy.exc import DBAPIError

    ran: list[str] = []
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent).replace("%", "%%"))
    config.set_main_option("version_locations", str(folder).replace("%", "%%"))
    config.set_main_option("path_separator", "newline")
    config.attributes.update({"url": url, "lock": _LOCK, "ran": ran})
    try:
        command.upgrade(config, "head")
    except DBAPIError as error:
        if isinstance(error.orig, psycopg.Error):
            raise error.orig from error  # the driver's error, as everywhere else
        raise
    return ran
