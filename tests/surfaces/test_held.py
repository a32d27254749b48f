"""What a rule blocks leaves no surface: not a part of it, not for a moment (P4.5).

The bytes are read at the socket, as the server sends them.
"""

from __future__ import annotations

import asyncio
import json
import random
import string
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from tests import scratch
from tests.app import build
from tests.surfaces import world
from ukai import store
from ukai.app.pace import Pace
from ukai.llm.scripted import Call, Scripted

ANSWERS = 1_000
WINDOW = 8
RULE = """\
---
id: no-marker
stage: output
verdict_type: block
kind: pattern
patterns: ['[A-Z]{32}']
applies_to: ["*"]
---
No marker leaves.
"""
SHAPES = (
    "{m}",
    "It begins well, and then {m} comes.",
    "{m} [PullRequest#api:1/title]",
    "| a | b |\n|---|---|\n| {m} | 1 |",
    "```\n{m}\n```",
    "- one\n- {m}\n- three",
    "See https://a.example.com/{m} for it.",
    "Long. " * 200 + "{m}" + " Long." * 200,
)
ASK = {"question": "How is it?"}
CHAT = {"model": "helper", "messages": [{"role": "user", "content": "How is it?"}]}


@dataclass(kw_only=True)
class Wire:
    """Markers that were answered with, and everything that the server sent."""

    seed: random.Random = field(default_factory=lambda: random.Random(7))
    markers: list[str] = field(default_factory=list[str])
    sent: list[bytes] = field(default_factory=list[bytes])

    def model(self) -> Scripted:
        """One that calls a tool or does not, then answers with a new marker somewhere."""
        self.markers.append("".join(self.seed.choices(string.ascii_uppercase, k=32)))
        answer = self.seed.choice(SHAPES).replace("{m}", self.markers[-1])
        first = [Call("list_records", {"type": "Repo"})] if self.seed.random() < 0.2 else []
        return Scripted([*first, answer])

    def leaks(self) -> int:
        """How often eight bytes of a marker in a row were sent."""
        parts = {m[i : i + WINDOW].encode() for m in self.markers for i in range(len(m) - WINDOW + 1)}
        return sum(sent[i : i + WINDOW] in parts for sent in self.sent for i in range(len(sent) - WINDOW + 1))


async def exchanged(wire: Wire, url: str, request: bytes) -> bytes:
    """One request on a socket of its own, and every byte that came back."""
    host, port = url.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(request)
    answer = await reader.read()
    writer.close()
    wire.sent.append(answer)
    return answer


class Telltale(Wire):
    """It writes the marker into its calls: as an argument, as the name of one, as a tool."""

    def model(self) -> Scripted:
        super().model()
        m = self.markers[-1]
        calls = [Call("read_record", {"handle": m}), Call(m, {"x": 1}), Call("read_record", {m: 1})]
        return Scripted([*calls, f"It is {m}."])


def request(method: str, path: str, body: Any = None, **headers: str) -> bytes:
    raw = b"" if body is None else json.dumps(body).encode()
    head = {"Host": "127.0.0.1", "Connection": "close", "Content-Length": str(len(raw)), **headers}
    if raw:
        head["Content-Type"] = "application/json"
    lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in head.items())]
    return "\r\n".join([*lines, "", ""]).encode() + raw


def tool(name: str, **arguments: Any) -> bytes:
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
    headers = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-11-25"}
    return request("POST", "/mcp", call, **headers)


SURFACES = {
    "rest": request("POST", "/agents/helper/ask", ASK),
    "rest-stream": request("POST", "/agents/helper/ask", ASK, Accept="text/event-stream"),
    "openai": request("POST", "/v1/chat/completions", CHAT),
    "openai-stream": request("POST", "/v1/chat/completions", CHAT | {"stream": True}),
    "web": request("POST", "/page/ask", {"agent": "helper", **ASK}),
    "mcp": tool("ask", agent="helper", **ASK),
}


async def asked(db: store.Database, wire: Wire, files: Any, *, each: int) -> set[str]:
    """Ask on every surface, then read the runs back wherever they can be read; the statuses of the runs."""
    await build.opened(db)
    here = world.here(world.opened(db, files, says=world.Says(wire.model)))
    here = replace(here, pace=Pace(per_minute=10_000, seconds=lambda: 0.0))
    async with world.served(here) as url:
        for ask in SURFACES.values():
            for _ in range(each):
                assert b"HTTP/1.1 200" in await exchanged(wire, url, ask)
        listed = await exchanged(wire, url, request("GET", "/runs?limit=500"))
        runs = json.loads(listed.partition(b"\r\n\r\n")[2])["runs"]
        for run in runs[:: max(1, len(runs) // 12)]:
            id = run["run_id"]
            for path in (f"/runs/{id}", f"/runs/{id}/why", f"/page/runs/{id}"):
                assert b"HTTP/1.1 200" in await exchanged(wire, url, request("GET", path))
            await exchanged(wire, url, tool("get_run", run_id=id))
    return {run["status"] for run in runs}


@pytest.fixture(scope="module")
def ruled() -> Any:
    """The company with the rule; Ann may not audit, since whoever may reads what was held back."""
    policies = world.FILES["access/policies.yaml"].replace(
        "allow: audit, to: [ann@example.com]", "allow: audit, to: [cy@example.com]"
    )
    files = {**world.FILES, "guardrails/no-marker.md": RULE, "access/policies.yaml": policies}
    return world.read(world.written(scratch.folder("ukai-held-"), files))


async def test_no_eight_bytes_of_a_blocked_answer_leave_any_surface(database: store.Database, ruled: Any):
    wire = Wire()

    statuses = await asked(database, wire, ruled, each=-(-ANSWERS // len(SURFACES)))

    assert len(wire.markers) >= ANSWERS
    # An address that no source shows is taken out before the rules read what is left.
    assert {"blocked"} <= statuses <= {"blocked", "answered"}
    assert wire.leaks() == 0


async def test_what_a_blocked_answers_model_wrote_into_its_calls_leaves_no_surface_either(
    database: store.Database, ruled: Any
):
    wire = Telltale()

    statuses = await asked(database, wire, ruled, each=1)

    assert statuses == {"blocked"}
    assert wire.leaks() == 0


async def test_without_the_rule_every_surface_shows_the_marker(database: store.Database):
    wire = Wire()

    await asked(database, wire, None, each=1)

    sent = b"".join(wire.sent)
    assert len(wire.markers) == len(SURFACES)
    assert all(marker.encode() in sent for marker in wire.markers)
    assert wire.leaks() > 0
