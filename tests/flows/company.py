"""The sample company in a test's database, and an engine over it: loaded once a file, opened anew in each test."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from tests.examples import sample
from ukai import catalog
from ukai.app import company, engine, loading
from ukai.kit.clock import FixedClock
from ukai.llm.cache import Cache
from ukai.llm.protocols import Embedder
from ukai.store import address

CLOCK = FixedClock(datetime(2026, 11, 20, 8, tzinfo=UTC))
CALLERS = (
    *(f"{n}@harbor-apis.example" for n in ("ann", "ben", "mira", "sol", "tess")),
    "cody@brightside.example",
    "public",
)
Made = Callable[[engine.Engine], Awaitable[object]]
_from_disk = loading.load


def workspace(to: Path) -> Path:
    """A copy of the sample workspace without this machine's data."""
    target = to / "harbor-apis"
    shutil.copytree(sample.WORKSPACE, target, ignore=shutil.ignore_patterns(".ukai", "__pycache__"))
    return target


def _load(root: Path, *, only: str | None = None) -> catalog.Loaded:
    """As the product reads a workspace, and again when one of its files is another: to read YAML takes long."""
    files = (path for path in sorted(root.rglob("*")) if ".ukai" not in path.parts)
    state = tuple((path, found.st_mtime_ns, found.st_size) for path in files for found in [path.stat()])
    return _read(root, only, state)


@lru_cache(maxsize=4)
def _read(root: Path, only: str | None, _state: tuple[tuple[Path, int, int], ...]) -> catalog.Loaded:
    return _from_disk(root, only=only)


@asynccontextmanager
async def opened(url: str, root: Path, embedder: Embedder | None = None) -> AsyncGenerator[engine.Engine]:
    """The engine over the workspace `root` and the database at `url`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("UKAI_DATABASE_URL", url)
        patch.setattr(loading, "load", _load)
        async with engine.opened(root, clock=CLOCK, environ={}) as made:
            yield replace(made, cache=Cache(embedder)) if embedder is not None else made


def database(postgres_url: str, template: str) -> str:
    """A new database; `dropped` ends it."""
    name = f"company_{uuid4().hex[:12]}"
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(f'create database "{name}" template "{template}" strategy file_copy'.encode())
    return address.with_name(postgres_url, name)


def dropped(postgres_url: str, url: str) -> None:
    name = url.rpartition("/")[2].partition("?")[0]
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(f'drop database if exists "{name}" with (force)'.encode())


def loaded(url: str, root: Path, then: Made, *, embedder: Embedder | None = None, **options: Any) -> None:
    """Let the company enter, then do the rest: a fixture of a file has no loop of its own."""

    async def load() -> None:
        async with opened(url, root, embedder) as made:
            await company.enter(made, progress=lambda _: None, **options)
            await then(made)

    asyncio.run(load())
