"""The HTTP application over a fresh database, called in process."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from tests.app import build
from tests.surfaces import world
from ukai import store
from ukai.surfaces import http

BASE = "http://127.0.0.1"


def app(db: store.Database, who: str = build.ANN, **more: Any) -> Any:
    """As this person works at this machine."""
    return http.made(world.here(world.opened(db, world.as_(world.loaded(), local_principal=who), **more)))


def client(db: store.Database, who: str = build.ANN, **more: Any) -> httpx.AsyncClient:
    transport = httpx.ASGITransport(app(db, who, **more), raise_app_exceptions=False)
    return httpx.AsyncClient(transport=transport, base_url=BASE)


@pytest.fixture
async def web(database: store.Database) -> AsyncIterator[httpx.AsyncClient]:
    """Ann's, with the schema uploaded."""
    await build.opened(database)
    async with client(database) as opened:
        yield opened
