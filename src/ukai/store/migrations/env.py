"""What alembic runs for each upgrade: all steps in one transaction, over a connection of ours."""

from __future__ import annotations

from typing import Any

import psycopg
from alembic import context
from sqlalchemy import create_engine, text
from sqlalchemy.pool import NullPool

_given = context.config.attributes


def _connect() -> psycopg.Connection[Any]:
    return psycopg.connect(_given["url"], application_name="ukai migrations", connect_timeout=10)


def _note(ctx: Any, step: Any, heads: Any, run_args: Any) -> None:
    _given["ran"].append(step.up_revision_id)


# `creator` keeps the address in the form libpq knows; SQLAlchemy has another idea of a socket's URL.
_engine = create_engine("postgresql+psycopg://", creator=_connect, poolclass=NullPool)
with _engine.connect() as _connection:
    context.configure(connection=_connection, version_table_schema="public", on_version_apply=_note)
    with context.begin_transaction():
        # In this transaction and not beside it: a migration whose process was killed holds the lock until it is over.
        _connection.execute(text("select pg_advisory_xact_lock(:key)"), {"key": _given["lock"]})
        context.run_migrations()
_engine.dispose()
