"""The HTTP application over a fresh database, called in process."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from typing import Any

import httpx
import jsonschema
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
    """Everything that is fine is held against /openapi.json on the way."""
    made = app(db, who, **more)
    transport = httpx.ASGITransport(made, raise_app_exceptions=False)

    async def as_described(answer: httpx.Response) -> None:
        if answer.status_code == 200 and answer.headers["content-type"] == "application/json":
            await answer.aread()
            for path, operations in _described(made.openapi).items():
                if path.fullmatch(answer.request.url.path):
                    response = operations[answer.request.method.lower()]["responses"]["200"]
                    jsonschema.validate(answer.json(), response["content"]["application/json"]["schema"])

    return httpx.AsyncClient(transport=transport, base_url=BASE, event_hooks={"response": [as_described]})


_found: dict[re.Pattern[str], Any] = {}


def _described(document: Any) -> dict[re.Pattern[str], Any]:
    """Paths with their operations: the same for all applications, so that one is asked."""
    if not _found:
        for path, operations in document()["paths"].items():
            _found[re.compile(re.sub(r"\\{\w+\\}", ".+", re.escape(path)))] = operations
    return _found


@pytest.fixture
async def web(database: store.Database) -> AsyncIterator[httpx.AsyncClient]:
    """Ann's, with the schema uploaded."""
    await build.opened(database)
    async with client(database) as opened:
        yield opened
