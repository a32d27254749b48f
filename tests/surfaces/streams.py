"""A served company with a rule that blocks: for surfaces that must not let a byte of a blocked answer out (P4.5)."""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from functools import cache
from typing import Any

import httpx

from tests import scratch
from tests.app import build
from tests.surfaces import world
from ukai import catalog, store
from ukai.llm.scripted import Asked, Step

RULE = """\
---
id: no-markers
version: 1
title: No marker leaves.
stage: output
verdict_type: block
kind: pattern
patterns: ["[0-9a-f]{64}"]
applies_to: ["*"]
failure_policy: closed
examples:
  pass: ["nothing"]
  fire: ["0000000000000000000000000000000000000000000000000000000000000000"]
---
A marker is 32 bytes in hexadecimal digits.
"""
CONNECTOR = """\
connector: repos
schedule: "*/15 * * * *"
source: {kind: csv, files: "*.csv"}
into: {domain: review, node_type: Repo}
map: {key: row.name, set: {name: row.name}}
"""
FILES: Mapping[str, str] = {
    **world.FILES,
    "connectors/repos.yaml": CONNECTOR,
    "guardrails/no-markers.md": RULE,
    "agents/helper/SKILL.md": world.SKILL.format(name="helper").replace("slack]", "slack, a2a]"),
}


@cache
def loaded() -> catalog.Loaded:
    return world.read(world.written(scratch.folder("ukai-ruled-"), FILES))


def marked(sentence: str = "Here is {}, and more.") -> tuple[Step, list[str]]:
    """A step that says another marker every time, and the markers it said."""
    said: list[str] = []

    def say(_: Asked) -> Step:
        said.append(secrets.token_hex(32))
        return sentence.format(said[-1])

    return say, said


def leaked(wire: bytes, markers: list[str]) -> list[str]:
    """Pieces of a marker's 8 bytes (16 digits) that went over the wire."""
    text = wire.decode("utf-8", "replace")
    return [m[i : i + 16] for m in markers for i in range(len(m) - 15) if m[i : i + 16] in text]


@asynccontextmanager
async def served(db: store.Database, *steps: Step) -> AsyncGenerator[httpx.AsyncClient]:
    """A client of the whole application on a real socket."""
    await build.opened(db)
    made = world.opened(db, loaded(), says=world.saying(*steps))
    async with world.served(world.here(made)) as url, httpx.AsyncClient(base_url=url, timeout=20) as web:
        yield web


def events(text: str) -> list[Any]:
    """The data of a stream's events."""
    lines = [line for line in text.split("\n") if line.startswith("data: ")]
    return [json.loads(line.removeprefix("data: ")) for line in lines]


async def raw(url: httpx.URL, path: str, body: Mapping[str, Any]) -> bytes:
    """Every byte that comes back on the socket."""
    data = json.dumps(body).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: {url.host}:{url.port}\r\nContent-Type: application/json\r\n"
    head += f"Content-Length: {len(data)}\r\nConnection: close\r\n\r\n"
    reader, writer = await asyncio.open_connection(url.host, url.port)
    writer.write(head.encode() + data)
    await writer.drain()
    try:
        return await reader.read()
    finally:
        writer.close()
        await writer.wait_closed()
