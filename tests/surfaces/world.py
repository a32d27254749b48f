"""A small company that is served: two agents, somebody who may ask one of them, a model that says what a test wants."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import uvicorn
from fastapi import FastAPI

from tests import scratch
from tests.app import build
from tests.context.world import Hashed
from ukai import catalog, record, serve, store
from ukai.app import engine, loading, reception
from ukai.kit.clock import Clock, SystemClock
from ukai.llm.cache import Cache
from ukai.llm.scripted import Scripted, Step
from ukai.runtime.verdicts import Verdicts

ANN, BEN = build.ANN, build.BEN
SKILL = """\
---
name: {name}
description: Answers questions about {name}.
model: extractive
channels: [cli, web, rest, mcp, openai, slack]
---
Answer.
"""
POLICIES = """\
  - {id: ann-asks, allow: invoke, agents: [helper], to: [ann@example.com]}
  - {id: ben-asks, allow: invoke, agents: [helper, hidden], to: [ben@example.com]}
"""
FILES: Mapping[str, str] = {
    **build.FILES,
    "access/policies.yaml": build.POLICIES + POLICIES,
    "agents/helper/SKILL.md": SKILL.format(name="helper"),
    "agents/hidden/SKILL.md": SKILL.format(name="hidden"),
}


class Says:
    """The tape of tests: every model is the one that the test brought."""

    def __init__(self, model: Any) -> None:
        self.of = model if callable(model) else lambda: model

    def model(self, use: str, build: Callable[[], Any]) -> Any:
        return self.of()

    def tool(self, agent: str, principal: str, bound: Any) -> Any:
        return bound


def saying(*steps: Step) -> Says:
    """A new script for every turn."""
    return Says(lambda: Scripted(list(steps)))


@cache
def loaded() -> catalog.Loaded:
    """The company's files, read once."""
    return read(written(scratch.folder("ukai-served-"), FILES))


def written(folder: Path, files: Mapping[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def read(root: Path) -> catalog.Loaded:
    found = loading.load(root)
    assert [f for f in found.findings if f.severity == "error"] == []
    return found


def as_(found: catalog.Loaded, **settings: Any) -> catalog.Loaded:
    """The same files with other settings."""
    whole = found.catalog
    return replace(found, catalog=replace(whole, settings=replace(whole.settings, **settings)))


def opened(
    db: store.Database,
    files: catalog.Loaded | None = None,
    *,
    says: Says | None = None,
    clock: Clock | None = None,
    root: Path = Path(),
) -> engine.Engine:
    """The company over a database."""
    return engine.Engine(
        root=root,
        loaded=files or loaded(),
        db=db,
        is_local=False,
        cache=Cache(Hashed()),
        clock=clock or SystemClock(),
        stamp=record.Build(),
        environ={},
        verdicts=Verdicts(db=db),
        tape=says or saying("It is so."),
    )


def here(made: engine.Engine, *, environ: Mapping[str, str] | None = None, **more: Any) -> reception.Reception:
    return reception.of(lambda: made, environ=environ or {}, **more)


@asynccontextmanager
async def served(made: reception.Reception, *, environ: Mapping[str, str] | None = None) -> AsyncGenerator[str]:
    """The whole application on a real socket; its address."""
    async with AsyncExitStack() as stack:
        app = await serve.mounted(made, stack, environ or {})
        async with on_a_socket(app) as url:
            yield url


@asynccontextmanager
async def on_a_socket(app: FastAPI | Any) -> AsyncGenerator[str]:
    with serve._bound("127.0.0.1", 0) as listening:  # pyright: ignore[reportPrivateUsage]
        config = uvicorn.Config(
            app, log_level="error", lifespan="off", proxy_headers=False, timeout_graceful_shutdown=2
        )
        server = uvicorn.Server(config)
        task = asyncio.create_task(server._serve([listening]))  # pyright: ignore[reportPrivateUsage]
        while not server.started:
            await asyncio.sleep(0)
            if task.done():
                await task
        try:
            yield serve._url(listening)  # pyright: ignore[reportPrivateUsage]
        finally:
            server.should_exit = True
            await task
