"""A real PostgreSQL for the tests: one embedded server a worker, a fresh migrated database a test."""

from __future__ import annotations

import os
import shutil
from collections.abc import AsyncIterator, Iterator
from uuid import uuid4

import psycopg
import pytest

from tests import scratch
from tests.guard import nothing_leaves_this_machine  # noqa: F401
from ukai import store
from ukai.store import address, migrations
from ukai.store.embedded import Options

TEMPLATE = "ukai_template"

FAST = {"fsync": "off", "full_page_writes": "off", "synchronous_commit": "off", "max_wal_size": "1GB"}
"""Nothing here outlives the run."""


@pytest.fixture(scope="session", autouse=True)
def _nobodys_database() -> Iterator[None]:  # pyright: ignore[reportUnusedFunction]
    """The developer's own database is not what the tests meet."""
    with pytest.MonkeyPatch.context() as patch:
        for name in [n for n in os.environ if n.startswith("PG") or n == "UKAI_DATABASE_URL"]:
            patch.delenv(name)
        yield


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """The server of this worker: the URL of a database that every test may look at and none may change."""
    root = scratch.folder("ukai-test-")
    data_dir = root / "postgres"
    try:
        # The idle minutes end the server of a run that was killed.
        url = store.embedded.ensure(data_dir, Options(settings=FAST, idle_minutes=5))
        yield url
    finally:
        store.embedded.stop(data_dir)
        shutil.rmtree(root, ignore_errors=True)


@pytest.fixture(scope="session")
def _template(postgres_url: str) -> str:
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(f'create database "{TEMPLATE}"'.encode())
    migrations.run(address.with_name(postgres_url, TEMPLATE))
    return TEMPLATE


@pytest.fixture
def database_url(postgres_url: str, _template: str) -> Iterator[str]:
    """A fresh migrated database, gone after the test."""
    name = f"test_{uuid4().hex[:12]}"
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(f'create database "{name}" template "{_template}"'.encode())
    yield address.with_name(postgres_url, name)
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(f'drop database "{name}" with (force)'.encode())


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[store.Database]:
    """`database_url`, open."""
    async with store.connect(database_url) as db:
        yield db
