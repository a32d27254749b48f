"""Kind `sql_catalogue`: what an SQL database says about itself: its schemas, tables, columns or keys.

    source: {kind: sql_catalogue, url: WAREHOUSE_URL, name: warehouse, of: columns, schemas: ["sales*"]}

One connector reads one of them, so that each can be a node type: `{name}/{schema}/{table}/{column}` is their place.
`COLUMNS` says what a row of each has.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from ukai.connect import database
from ukai.connect.source import Item, Row, Site
from ukai.kit import glob, shape

SYSTEM = ("information_schema", "pg_catalog", "pg_toast")

COLUMNS = {
    "schemas": ("name", "schema"),
    "tables": ("name", "schema", "table", "kind", "comment", "columns", "primary_key"),
    "columns": (
        *("name", "schema", "table", "column"),
        *("type", "nullable", "default", "comment", "position", "primary_key"),
    ),
    "keys": ("name", "schema", "table", "key", "columns", "to_schema", "to_table", "to_columns"),
}
"""`of` -> the columns of its rows. Of `keys`, a row is a foreign key."""


@dataclass(frozen=True, kw_only=True)
class SqlCatalogue:
    """See the module."""

    __pydantic_config__ = shape.STRICT
    kind: Literal["sql_catalogue"] = "sql_catalogue"
    url: str
    """The name of an environment variable that holds the address, or an address without a secret."""
    name: str
    """What the integration is called in paths."""
    of: Literal["schemas", "tables", "columns", "keys"]
    schemas: tuple[str, ...] = ("*",)
    """Names or patterns."""
    is_fixed: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if wrong := database.problem(self.url):
            raise ValueError(f"url: {wrong}")

    @property
    def columns(self) -> frozenset[str]:
        """Of every row."""
        return frozenset(COLUMNS[self.of])

    def items(self, site: Site) -> Iterator[Item]:
        """In the order of names; columns in that of their table."""
        try:
            yield from self._rows(site)
        except database.Refused as refused:
            yield refused.item

    def fingerprint(self, site: Site) -> str:
        """Nobody can say whether a database stood still."""
        return ""

    def _rows(self, site: Site) -> Iterator[Item]:
        import sqlalchemy

        wanted = [glob.compile(s) for s in self.schemas]
        with database.connected(self.url, site) as connection:
            look: Any = sqlalchemy.inspect(connection)
            for schema in sorted(look.get_schema_names()):
                if schema in SYSTEM or not any(w.matches(schema) for w in wanted):
                    continue
                head = {"name": self.name, "schema": schema}
                if self.of == "schemas":
                    yield Row(f"{self.name}/{schema}", head)
                    continue
                views = set(look.get_view_names(schema=schema))
                for table in sorted({*look.get_table_names(schema=schema), *views}):
                    for place, values in self._table(look, schema, table, is_view=table in views):
                        yield Row(f"{self.name}/{schema}/{table}{place}", {**head, "table": table, **values})

    def _table(self, look: Any, schema: str, table: str, *, is_view: bool) -> Iterator[tuple[str, dict[str, Any]]]:
        if self.of == "keys":
            for n, key in enumerate(look.get_foreign_keys(table, schema=schema)):
                yield (
                    f"/{key['name'] or n}",
                    {
                        "key": key["name"] or f"{table}_{'_'.join(key['constrained_columns'])}_fkey",
                        "columns": list(key["constrained_columns"]),
                        "to_schema": key["referred_schema"] or schema,
                        "to_table": key["referred_table"],
                        "to_columns": list(key["referred_columns"]),
                    },
                )
            return
        columns = look.get_columns(table, schema=schema)
        primary = [] if is_view else list(look.get_pk_constraint(table, schema=schema)["constrained_columns"])
        if self.of == "tables":
            told = {"kind": "view" if is_view else "table", "comment": _comment(look, schema, table)}
            yield "", {**told, "columns": [c["name"] for c in columns], "primary_key": primary}
            return
        for n, column in enumerate(columns, 1):
            yield (
                f"/{column['name']}",
                {
                    "column": column["name"],
                    "type": _type(column["type"]),
                    "nullable": bool(column["nullable"]) and column["name"] not in primary,
                    "default": None if column.get("default") is None else str(column["default"]),
                    "comment": column.get("comment"),
                    "position": n,
                    "primary_key": column["name"] in primary,
                },
            )


def _type(declared: Any) -> str | None:
    """None where none is declared, as for what a view computes."""
    from sqlalchemy import types

    return None if isinstance(declared, types.NullType) else str(declared)


def _comment(look: Any, schema: str, table: str) -> str | None:
    try:
        return look.get_table_comment(table, schema=schema)["text"]
    except NotImplementedError:  # SQLite has none
        return None
