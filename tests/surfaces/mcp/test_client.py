"""The official client over real sockets and pipes, in the new revision of the protocol and in the one before (P4.4)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import httpx2
import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

from tests.app import build
from tests.surfaces import streams, test_identity, world
from ukai import store
from ukai.app import agents, identity, tokens
from ukai.app.audit import latest
from ukai.catalog import serving
from ukai.context import explaining, making
from ukai.llm.scripted import Call
from ukai.surfaces import wire

REVISIONS = [("2026-07-28", "2026-07-28"), ("legacy", "2025-11-25")]
NAMES = ["list_agents", "ask", "list_runs", "get_run", "compose_context", "fetch_offloaded", "explain_composition"]
NAMES += ["propose", "describe_type"]


@asynccontextmanager
async def client(
    db: store.Database, mode: str = "2026-07-28", *, who: str = world.ANN, says: world.Says | None = None
) -> AsyncGenerator[Client]:
    await build.opened(db)
    here = world.here(world.opened(db, says=says))
    made = await tokens.create(here.desk(identity.Caller(principal=who), "cli"), "test", days=1)
    async with world.served(here) as url:
        headers = {"Authorization": f"Bearer {made['token']}"}
        async with httpx2.AsyncClient(headers=headers, timeout=20) as http:
            transport = streamable_http_client(f"{url}/mcp", http_client=http)
            async with Client(transport, mode=mode) as found:
                yield found


def text(result: Any) -> str:
    return "".join(part.text for part in result.content)


@pytest.mark.parametrize(("mode", "revision"), REVISIONS)
async def test_both_revisions_ask_and_get_words_and_data(database: store.Database, mode: str, revision: str):
    told: list[str] = []

    async def progress(done: float, total: float | None, message: str | None) -> None:
        told.append(message or "")

    steps = (Call("list_records", {"type": "Repo"}), "It is so.")
    async with client(database, mode, says=world.saying(*steps)) as ann:
        listed = await ann.call_tool("list_agents", {})
        answer = await ann.call_tool("ask", {"agent": "helper", "question": "How is it?"}, progress_callback=progress)
        run_id = answer.structured_content["run_id"]
        run = await ann.call_tool("get_run", {"run_id": run_id})
        runs = await ann.call_tool("list_runs", {})
        spoken = ann.protocol_version

    assert spoken == revision
    assert listed.structured_content == {
        "agents": [{"name": "helper", "description": "Answers questions about helper."}]
    }
    assert (answer.is_error, answer.structured_content["text"]) == (False, "It is so.")
    assert text(answer).startswith("It is so.")
    assert any("list_records" in line for line in told)
    assert not any("It is so" in line for line in told)
    assert run.structured_content["calls"][0]["tool"] == "list_records"
    assert [r["run_id"] for r in runs.structured_content["runs"]] == [run_id]


@pytest.mark.parametrize(("mode", "revision"), REVISIONS)
async def test_the_list_of_tools_is_the_same_every_time(database: store.Database, mode: str, revision: str):
    async with client(database, mode) as ann:
        first = await ann.list_tools(cache_mode="bypass")
        again = await ann.list_tools(cache_mode="bypass")

    assert [t.name for t in first.tools] == NAMES
    assert first.model_dump_json() == again.model_dump_json()
    assert all(t.input_schema["type"] == "object" and t.description for t in first.tools)
    if mode != "legacy":
        assert (first.cache_scope, first.ttl_ms) == ("private", 300_000)


@pytest.mark.parametrize(("mode", "revision"), REVISIONS)
async def test_a_rejection_is_an_error_that_says_everything(database: store.Database, mode: str, revision: str):
    delta = {"domain": "review", "ops": [build.pull(42, titel="x", classification="Small_Fix")]}
    async with client(database, mode) as ann:
        wrong = await ann.call_tool("propose", {"delta": delta})
        right = await ann.call_tool("propose", {"delta": {"domain": "review", "ops": [build.pull(42)]}})
        described = await ann.call_tool("describe_type", {"type": "PullRequest"})
        missing = await ann.call_tool("describe_type", {"type": "PulRequest"})

    assert wrong.is_error
    assert wrong.structured_content["status"] == "rejected"
    for part in ("/ops/0/set/titel", "/ops/0/set/classification", "set 'classification' to 'small fix'"):
        assert part in text(wrong)
    assert (right.is_error, right.structured_content["status"]) == (False, "committed")
    assert described.structured_content["type"] == "PullRequest"
    assert (missing.is_error, "PullRequest" in text(missing)) == (True, True)


@pytest.mark.parametrize(("mode", "revision"), REVISIONS)
async def test_a_document_is_composed_within_what_clients_take(database: store.Database, mode: str, revision: str):
    wanted = {"agent": "helper", "question": "Which pull request is about a retry?"}
    async with client(database, mode) as ann:
        await ann.call_tool("propose", {"delta": {"domain": "review", "ops": [build.pull(42)]}})
        made = await ann.call_tool("compose_context", wanted | {"budget_tokens": 40_000})
        more = await ann.call_tool("compose_context", wanted, meta={"ukai/max-result-tokens": 40_000})
        id = made.structured_content["id"]
        why = await ann.call_tool("explain_composition", {"id": id, "handle": "PullRequest#api:42"})
        absent = await ann.call_tool("explain_composition", {"id": id, "handle": "PullRequest#api:43"})
        nothing = await ann.call_tool("fetch_offloaded", {"agent": "helper", "ref": "x"})
        unlisted = await ann.call_tool("compose_context", wanted | {"ranker": "quick"})

    assert "PullRequest#api:42" in text(made)
    assert (made.structured_content["ceiling_tokens"], made.structured_content["budget"]) == (22_000, 22_000)
    assert more.structured_content["ceiling_tokens"] == 40_000
    assert (why.is_error, why.structured_content["shown"]) == (False, True)
    assert absent.structured_content["shown"] is False
    assert nothing.is_error
    assert (unlisted.is_error, "Use one of: score" in text(unlisted)) == (True, True)


async def test_what_a_client_says_it_takes_has_bounds(database: store.Database):
    wanted = {"agent": "helper", "question": "Which pull request is about a retry?"}
    async with client(database, REVISIONS[0][0]) as ann:
        declared = [3, 5_000, 40_000, 10**12, True, "5000", None]
        made = [
            await ann.call_tool("compose_context", wanted, meta={"ukai/max-result-tokens": tokens})
            for tokens in declared
        ]

    held = [one.structured_content["ceiling_tokens"] for one in made]
    assert held == [1_000, 5_000, 40_000, 50_000, 22_000, 22_000, 22_000]
    assert [one.structured_content["budget"] for one in made][:2] == [1_000, 5_000]


async def test_a_long_value_comes_in_pages_that_clients_take_whole(
    database: store.Database, monkeypatch: pytest.MonkeyPatch
):
    long = "".join(f"street {n} " for n in range(12_000))

    async def put_aside(*_: Any, **__: Any) -> explaining.PutAside:
        return explaining.PutAside(handle="Firm#a", field="city", text=long)

    monkeypatch.setattr(explaining, "put_aside", put_aside)
    pages: list[str] = []
    after: int | None = 0
    async with client(database) as ann:
        while after is not None:
            page = await ann.call_tool("fetch_offloaded", {"agent": "helper", "ref": "r", "after": after})
            pages.append(text(page))
            after = page.structured_content.get("next")

    assert "".join(pages) == long
    assert len(pages) > 1
    assert all(making.counter().count(p) <= 22_000 for p in pages)


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("ask", {"agent": "hidden", "question": "x"}, "no agent is named 'hidden' that you may ask here"),
        ("ask", {"agent": "helper"}, "question: Field required"),
        ("ask", {"agent": "helper", "question": "x", "as": "ben@example.com"}, "as: Extra inputs are not permitted"),
        ("ask", {"agent": "helper", "question": 7}, "question: Input should be a valid string"),
        ("ask", {"agent": "helper", "question": " "}, "the question is empty"),
        ("compose_context", {"agent": "helper", "question": ""}, "the question is empty"),
        ("get_run", {"run_id": "nothing"}, "no run 'nothing' that may be read"),
        ("fetch_offloaded", {"agent": "hidden", "ref": "x"}, "no agent is named 'hidden' that you may ask here"),
        ("fetch_offloaded", {"agent": "helper", "ref": "\0"}, "there is nothing under"),
        ("nothing", {}, "there is no tool 'nothing'"),
    ],
)
async def test_what_cannot_be_done_is_said(database: store.Database, tool: str, arguments: dict[str, Any], said: str):
    async with client(database) as ann:
        result = await ann.call_tool(tool, arguments)

    assert result.is_error
    assert said in text(result)
    assert "hidden" not in text(result).replace("named 'hidden'", "")


async def test_whoever_may_ask_no_agent_is_told_where_the_reason_is_found(database: store.Database):
    async with client(database, who="eve@example.com") as eve:
        listed = await eve.call_tool("list_agents", {})

    assert (text(listed), listed.structured_content) == (agents.NONE, {"agents": []})


async def test_a_fault_tells_nothing_of_itself(database: store.Database):
    async with client(database, says=world.saying(RuntimeError("secret words"))) as ann:
        result = await ann.call_tool("ask", {"agent": "helper", "question": "x"})

    assert result.is_error
    assert "secret words" not in result.model_dump_json()


@pytest.mark.parametrize("revision", [revision for _, revision in REVISIONS])
async def test_a_body_that_means_two_things_is_refused_and_nothing_is_asked(database: store.Database, revision: str):
    meta = '{"io.modelcontextprotocol/protocolVersion": "REVISION", "io.modelcontextprotocol/clientCapabilities": {}}'
    call = '{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "ask", "_meta": META, "arguments": '
    call = call.replace("META", meta.replace("REVISION", revision)) + '{"agent": "helper", "question": @}}}'
    heads = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    heads |= {"MCP-Protocol-Version": revision, "Mcp-Method": "tools/call", "Mcp-Name": "ask"}
    async with streams.served(database, "It is so.") as web:

        async def sent(question: str) -> httpx.Response:
            return await web.post("/mcp", content=call.replace("@", question), headers=heads)

        async def pieces() -> AsyncGenerator[bytes]:
            for _ in range(1 + wire.MAX_BYTES // 1024):
                yield b" " * 1024

        once = await sent('"How is it?"')
        twice = await sent('"Who is hidden?", "question": "How is it?"')
        deep = await sent("[" * 99 + "]" * 99)
        broken = await sent("")
        large = await web.post("/mcp", content=pieces(), headers=heads)
        runs = (await web.get("/runs")).json()["runs"]

    assert (once.status_code, "It is so." in once.text, len(runs)) == (200, True, 1)
    for refused, said in ((twice, "the key 'question' stands twice"), (deep, "nested too deeply"), (broken, "offset")):
        assert (refused.status_code, refused.json()["id"]) == (400, None)
        assert refused.json()["error"]["code"] == -32700
        assert said in refused.json()["error"]["message"]
    assert twice.json()["error"]["data"]["where"] == "/params/arguments/question"
    assert (large.status_code, large.json()["error"]["code"]) == (413, -32600)


async def test_without_a_token_the_way_to_one_is_shown(database: store.Database):
    login = test_identity.replace(test_identity.LOGIN, scope="ukai")
    url = "https://ukai.example.com"
    files = world.as_(world.loaded(), login=login, serve=serving.Serve(url=url))
    clock = test_identity.FixedClock(test_identity.NOW)
    here = world.here(world.opened(database, files, clock=clock), fetch=test_identity.Provider("one"))
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    async with world.served(here) as at, httpx.AsyncClient(base_url=at) as web:
        nobody = await web.post("/mcp", json=call)
        scopeless = {"Authorization": f"Bearer {test_identity.token(scope='other')}"}
        narrow = await web.post("/mcp", json=call, headers=scopeless)
        metadata = await web.get("/.well-known/oauth-protected-resource/mcp")
        foreign = await web.post("/mcp", json=call, headers={"Origin": "https://evil.example.com"})

    where = f'resource_metadata="{url}/.well-known/oauth-protected-resource/mcp"'
    assert nobody.status_code == 401
    assert where in nobody.headers["www-authenticate"]
    assert 'scope="ukai"' in nobody.headers["www-authenticate"]
    assert narrow.status_code == 403
    assert narrow.headers["www-authenticate"].startswith('Bearer error="insufficient_scope"')
    assert metadata.json() == {
        "resource": f"{url}/mcp",
        "resource_name": "Ukai",
        "authorization_servers": ["https://id.example.com"],
        "bearer_methods_supported": ["header"],
        "scopes_supported": ["ukai"],
    }
    assert foreign.status_code == 403
    assert {(r.surface, r.code) for r in await latest(database)} == {("mcp", "not_known")}


async def test_without_a_login_there_is_no_metadata_and_another_host_is_not_answered(database: store.Database):
    async with world.served(world.here(world.opened(database))) as at, httpx.AsyncClient(base_url=at) as web:
        metadata = await web.get("/.well-known/oauth-protected-resource/mcp")
        rebound = await web.post("/mcp", json={}, headers={"Host": "evil.example.com"})

    assert (metadata.status_code, rebound.status_code) == (404, 421)


async def test_a_client_on_this_machine_speaks_over_a_pipe_as_the_local_principal(tmp_path: Path, database_url: str):
    world.written(tmp_path, world.FILES)
    environ = {**os.environ, "UKAI_DATABASE_URL": database_url}
    arguments = ["-m", "ukai", "serve", "--stdio", "--workspace", str(tmp_path)]
    parameters = StdioServerParameters(command=sys.executable, args=arguments, env=environ)
    async with Client(stdio_client(parameters)) as found:
        result = await found.call_tool("list_agents", {})
        spoken = found.protocol_version

    assert spoken == "2026-07-28"
    assert json.loads(json.dumps(result.structured_content))["agents"][0]["name"] == "helper"


def test_over_a_pipe_a_message_in_which_a_key_stands_twice_is_refused_as_at_every_other_door(
    tmp_path: Path, database_url: str
):
    world.written(tmp_path, world.FILES)
    environ = {**os.environ, "UKAI_DATABASE_URL": database_url}
    call = '{"jsonrpc": "2.0", "id": %s, "method": "ping", "params": {"_meta": {"a": 1%s}}}\n'
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    lines = [
        json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}) + "\n",
        json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}) + "\n",
        call % (2, ', "a": 2'),
        "[" * 9 + "\n",
        call % (3, ""),
    ]
    arguments = [sys.executable, "-m", "ukai", "serve", "--stdio", "--workspace", str(tmp_path)]
    with subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environ, text=True) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write("".join(lines))
        server.stdin.flush()
        # The input stays open until the last answer is there: where it ends, the server stops what it is at.
        answers: dict[Any, Any] = {}
        while not {2, 3, None} <= answers.keys() and (line := server.stdout.readline()):
            answers |= {(answer := json.loads(line))["id"]: answer}

    assert answers[2]["error"]["code"] == -32700
    assert "'a'" in answers[2]["error"]["message"]
    assert answers[None]["error"]["code"] == -32700
    assert "result" in answers[3]
