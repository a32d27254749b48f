"""What alembic runs for each upgrade: all steps in one transaction, over a connection of ours."""

from __future__ import annotations

import psycopg
from alembic import context
from sqlalchemy import create_engine
from sqlalchemy.pool import NullPool

_url: str = context.config.attributes["url"]
# `creator` keeps the address in the form libpq knows; SQLAlchemy has another idea of a socket's URL.
_engine = create_engine(
    "postgresql+psycopg://",
    creator=lambda: psycopg.connect(_url, application_name="ukai migrations"),
    poolclass=NullPool,
)
with _engine.connect() as _connection:
    context.configure(connection=_connection, version_table="alembic_version", version_table_schema="public")
    with context.begin_transaction():
        context.run_migrations()
_engine.dispose()
