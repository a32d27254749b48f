"""Databases of others, through SQLAlchemy: where they are, and how their values become JSON. None is ever written."""

from __future__ import annotations

import base64
from collections.abc import Generator
from contextlib import contextmanager
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import quote

from ukai.connect.source import Site, Unread, unread
from ukai.graph import times
from ukai.store.address import scrubbed

if TYPE_CHECKING:
    import sqlalchemy

DRIVERS = {"postgres": "postgresql+psycopg", "postgresql": "postgresql+psycopg"}
"""Scheme of an address -> the driver that is installed with us."""


class Refused(Exception):
    """The database cannot be reached or does not answer; `item` says so."""

    def __init__(self, item: Unread) -> None:
        super().__init__(item.finding.message)
        self.item = item


def problem(url: str) -> str:
    """What is wrong with `url` in a file: it is the name of a variable, or an address without a secret."""
    if url.isidentifier():
        return ""
    if "://" not in url:
        return "neither the name of an environment variable nor an address such as sqlite:///data/shop.db"
    if "@" in url and ":" in url.partition("://")[2].partition("@")[0]:
        return "an address with its password does not belong into a file: put it into a variable and name that"
    return ""


@contextmanager
def connected(url: str, site: Site) -> Generator[sqlalchemy.Connection]:
    """A connection whose transaction is rolled back at the end. Raises Refused, also for what fails inside."""
    import sqlalchemy
    from sqlalchemy import exc

    address = site.environ.get(url, "") if url.isidentifier() else url
    if not address:
        raise Refused(unread("source_unreadable", url, f"the variable {url} is not set", ends=True, hint=f"set {url}"))
    scheme, _, rest = address.partition("://")
    engine = None
    try:
        made = sqlalchemy.make_url(f"{DRIVERS.get(scheme, scheme)}://{rest}")
        if made.get_backend_name() == "sqlite":
            made = _file(made, url, site)
        engine = sqlalchemy.create_engine(made, poolclass=sqlalchemy.NullPool)
        with engine.connect() as connection:
            yield connection.execution_options(postgresql_readonly=True)
    except (exc.SQLAlchemyError, ImportError) as error:
        said = str(getattr(error, "orig", None) or error).strip().splitlines()
        told = scrubbed((said[0] if said else type(error).__name__).replace(address, url), address)
        item = unread("source_unreadable", url, f"the database refuses: {told}", ends=True, hint="try it by hand")
        raise Refused(item) from None
    finally:
        if engine is not None:
            engine.dispose()


def _file(made: sqlalchemy.URL, url: str, site: Site) -> sqlalchemy.URL:
    """A file of SQLite, only to be read: it would be made where there is none, and a pull of nothing be a good one."""
    path = site.root / (made.database or "")  # three slashes: relative to the workspace
    if not path.is_file():
        hint = "correct the address: sqlite:///data/shop.db is data/shop.db in the workspace, four slashes begin at /"
        raise Refused(unread("source_unreadable", url, f"there is no file {path}", ends=True, hint=hint))
    return made.set(database=f"file:{quote(str(path.absolute()))}").update_query_dict({"mode": "ro", "uri": "true"})


def plain(value: Any) -> Any:
    """A column's value as JSON: days, instants and exact numbers as text or Decimal, bytes in base 64."""
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, datetime):
        return times.written(value) if value.tzinfo else value.isoformat()
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, bytes | memoryview):
        return base64.b64encode(bytes(cast("bytes", value))).decode()
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in cast("dict[Any, Any]", value).items()}
    if isinstance(value, list | tuple):
        return [plain(v) for v in cast("list[Any]", value)]
    return value if isinstance(value, Decimal) else str(value)
