"""Kind `sql`: the rows of a table or of a query of an SQL database (PostgreSQL, SQLite, whatever SQLAlchemy reaches).

    source: {kind: sql, url: CRM_DATABASE_URL, table: public.accounts}
    source: {kind: sql, url: CRM_DATABASE_URL, query: "select * from accounts where changed_at > :cursor"}

`:cursor` is how far the last pull came, null at first.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Literal

from ukai.connect import database
from ukai.connect.source import Item, Row, Site
from ukai.kit import shape

FETCHED = 1_000
"""Rows that are held at once."""


@dataclass(frozen=True, kw_only=True)
class Sql:
    """See the module."""

    __pydantic_config__ = shape.STRICT
    kind: Literal["sql"] = "sql"
    url: str
    """The name of an environment variable that holds the address, or an address without a secret."""
    table: str = ""
    query: str = ""
    is_fixed: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if wrong := database.problem(self.url):
            raise ValueError(f"url: {wrong}")
        if bool(self.table) == bool(self.query):
            raise ValueError("either a table or a query")

    def items(self, site: Site) -> Iterator[Item]:
        """Row after row, in the order of the database."""
        try:
            yield from self._rows(site)
        except database.Refused as refused:
            yield refused.item

    def fingerprint(self, site: Site) -> str:
        """Nobody can say whether a database stood still."""
        return ""

    def _rows(self, site: Site) -> Iterator[Item]:
        import sqlalchemy

        with database.connected(self.url, site) as connection:
            if self.table:
                schema, _, name = self.table.rpartition(".")
                statement = sqlalchemy.select(sqlalchemy.text("*")).select_from(
                    sqlalchemy.table(name, schema=schema or None)
                )
            else:
                statement = sqlalchemy.text(self.query)
                if ":cursor" in self.query:
                    statement = statement.bindparams(cursor=site.cursor)
            found = connection.execution_options(yield_per=FETCHED).execute(statement)
            names = list(found.keys())
            for number, row in enumerate(found, 1):
                place = f"{self.table or 'query'}:{number}"
                yield Row(place, {n: database.plain(v) for n, v in zip(names, row, strict=True)})
