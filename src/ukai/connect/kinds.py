"""The kinds of sources: all there are, in one place. A new one is a file here and a line in the table."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from ukai.connect.csv import Csv
from ukai.connect.json import Json
from ukai.connect.jsonl import Jsonl
from ukai.connect.mail import Mail
from ukai.connect.markdown import Markdown
from ukai.connect.source import Source
from ukai.connect.sql import Sql
from ukai.connect.sql_catalogue import SqlCatalogue

CONNECTORS: Mapping[str, type[Source]] = MappingProxyType(
    {
        "csv": Csv,
        "jsonl": Jsonl,
        "json": Json,
        "markdown": Markdown,
        "mail": Mail,
        "sql": Sql,
        "sql_catalogue": SqlCatalogue,
    }
)
