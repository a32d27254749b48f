"""The shop, loaded once through the gate; every test gets copies of it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from uuid import uuid4

import psycopg
import pytest

from tests.gate.tau_retail import shop
from ukai import store
from ukai.store import address

Open = Callable[[], AbstractAsyncContextManager[store.Database]]


@pytest.fixture(scope="session")
def loaded(postgres_url: str, _template: str) -> Iterator[str]:
    """The URL of a database that holds the whole shop; it is only copied."""
    if not shop.FOLDER.exists():
        pytest.skip("needs gate/tau_retail")
    name = f"shop_{uuid4().hex[:12]}"
    url = address.with_name(postgres_url, name)
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(f'create database "{name}" template "{_template}" strategy file_copy'.encode())
        asyncio.run(_load(url))
        yield url
        connection.execute(f'drop database "{name}" with (force)'.encode())


async def _load(url: str) -> None:
    async with store.connect(url) as db:
        await shop.load(db)


@pytest.fixture
def fresh(postgres_url: str, loaded: str) -> Open:
    """Opens copies of the loaded shop, each untouched."""
    template = str(psycopg.conninfo.conninfo_to_dict(loaded)["dbname"])

    @asynccontextmanager
    async def opened() -> AsyncIterator[store.Database]:
        name = f"shop_{uuid4().hex[:12]}"
        with psycopg.connect(postgres_url, autocommit=True) as connection:
            connection.execute(f'create database "{name}" template "{template}" strategy file_copy'.encode())
            try:
                async with store.connect(address.with_name(postgres_url, name)) as db:
                    yield db
            finally:
                connection.execute(f'drop database "{name}" with (force)'.encode())

    return opened
