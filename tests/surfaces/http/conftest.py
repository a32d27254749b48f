"""The HTTP application over a fresh database, called in process."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx
import pytest

from tests.app import build
from ukai import store
from ukai.surfaces import http

BASE = "http://127.0.0.1"


def client(db: store.Database, who: str = build.ANN) -> httpx.AsyncClient:
    transport = httpx.ASGITransport(http.made(build.desk(db, who)), raise_app_exceptions=False)
    return httpx.AsyncClient(transport=transport, base_url=BASE)


@pytest.fixture
async def web(database: store.Database) -> AsyncIterator[httpx.AsyncClient]:
    """Ann's, with the schema uploaded."""
    await build.opened(database)
    async with client(database) as opened:
        yield opened
