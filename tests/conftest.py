"""A real PostgreSQL for the tests: one embedded server a worker, a fresh migrated database a test."""

from __future__ import annotations

import gc
import os
import shutil
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest

from tests import scratch
from tests.guard import nothing_leaves_this_machine  # noqa: F401
from ukai import store
from ukai.kit import heap
from ukai.store import address, migrations
from ukai.store.embedded import Options

TEMPLATE = "ukai_template"

FAST = {
    "fsync": "off",
    "full_page_writes": "off",
    "synchronous_commit": "off",
    "max_wal_size": "1GB",
    "autovacuum": "off",
}
"""Nothing here outlives the run, and nothing is at work in it but the tests."""

LONG = (
    "flows/test_leak.py",
    "surfaces/test_held.py",
    "flows/test_questions.py",
    "gate/tau_retail/test_broken.py",
    "slack/test_process.py",
    "flows/test_demo.py",
    "kit/test_figures.py",
    "access/test_reading.py",
    "gate/tau_retail/test_replay.py",
    "surfaces/http/test_openapi.py",
    "context/test_no_leak.py",
    "gate/tau_retail/test_undo.py",
    "app/test_command_line.py",
    "measure/test_corpora.py",
    "evals/test_company.py",
    "gate/commit/test_machine.py",
    "house/test_cli.py",
    "context_render/test_recall.py",
    "context/test_reading.py",
    "store/test_embedded.py",
    "llm/test_models.py",
    "llm/test_extractive.py",
    "gate/races/test_crash.py",
)
"""The files that take longest come first, so that no worker begins one when the others have nothing left to do."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    rank = {Path(__file__).parent / name: n for n, name in enumerate(LONG)}
    items.sort(key=lambda item: rank.get(item.path, len(rank)))


gc.set_threshold(20_000, 20, 50)
"""Seldom: with the usual 700 a twelfth of the time went into looking for garbage among what lives until the end."""


def pytest_collection_finish() -> None:
    """What was imported and collected stays: nobody has to look through it again."""
    heap.settle()


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
def _admin(postgres_url: str) -> Iterator[psycopg.Connection]:
    """Makes and drops the databases: a connection for each of them would cost as much as the copy."""
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        yield connection


@pytest.fixture(scope="session")
def _template(postgres_url: str, _admin: psycopg.Connection) -> str:
    _admin.execute(f'create database "{TEMPLATE}"'.encode())
    migrations.run(address.with_name(postgres_url, TEMPLATE))
    return TEMPLATE


@pytest.fixture
def database_url(postgres_url: str, _admin: psycopg.Connection, _template: str) -> Iterator[str]:
    """A fresh migrated database, gone after the test."""
    name = f"test_{uuid4().hex[:12]}"
    # Through the log, block by block, it takes twice the time of copying the files.
    _admin.execute(f'create database "{name}" template "{_template}" strategy file_copy'.encode())
    yield address.with_name(postgres_url, name)
    _admin.execute(f'drop database "{name}" with (force)'.encode())


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[store.Database]:
    """`database_url`, open."""
    async with store.connect(database_url) as db:
        yield db
