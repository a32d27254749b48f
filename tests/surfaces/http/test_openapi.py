"""The OpenAPI document is true: what it describes is answered, whatever is sent, and never by a fault."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import AsyncExitStack, ExitStack
from typing import Any

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.app import build
from tests.surfaces.http import conftest
from tests.surfaces.http.conftest import BASE
from ukai import store

CONNECTIONS = 8


async def _all_open(database: store.Database) -> None:
    """A pool draws a random number for each connection that it makes. It must make none while hypothesis generates:
    that takes a draw, in whatever thread, for a strategy that is not repeatable.
    """
    async with AsyncExitStack() as stack:
        for _ in range(CONNECTIONS):
            await stack.enter_async_context(database.statements())


class _Loop:
    """The application in a loop of its own thread: what generates cases is not async."""

    def __init__(self, url: str) -> None:
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever)
        self.thread.start()
        self.context = store.connect(url, max_size=CONNECTIONS, min_size=CONNECTIONS)
        database = self.run(self.context.__aenter__())
        self.run(_all_open(database))
        self.run(build.opened(database))
        self.app = conftest.app(database)
        transport = httpx.ASGITransport(self.app, raise_app_exceptions=False)
        self.client = httpx.AsyncClient(transport=transport, base_url=BASE)

    def run(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(60)

    def request(self, method: str, path: str, **more: Any) -> httpx.Response:
        return self.run(self.client.request(method, path, **more))

    def close(self) -> None:
        self.run(self.client.aclose())
        self.run(self.context.__aexit__(None, None, None))
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.loop.close()


@pytest.fixture
def served(database_url: str) -> Iterator[_Loop]:
    with ExitStack() as stack:
        served = _Loop(database_url)
        stack.callback(served.close)
        yield served


QUIET = settings(
    max_examples=30,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
OPERATIONS = ["propose", "types", "describe_type", "changes", "history", "health", "ready"]
OPERATIONS += ["agents", "ask", "runs", "run", "why", "compose", "explain", "replay_composition", "offloaded"]
OPERATIONS += ["undo", "explain_access"]


def test_the_document_lists_what_there_is(served: _Loop):
    document = served.request("GET", "/openapi.json").json()

    found = [o["operationId"] for path in document["paths"].values() for o in path.values()]
    assert sorted(found) == sorted(OPERATIONS)
    schema = schemathesis.openapi.from_dict(document)
    schema.validate()


POSITIVE, NEGATIVE = schemathesis.GenerationMode.POSITIVE, schemathesis.GenerationMode.NEGATIVE
GENERATED = [(name, POSITIVE) for name in OPERATIONS]
# The others take nothing, or any text: no request to them is wrong.
GENERATED += [(name, NEGATIVE) for name in ("propose", "changes", "history", "ask", "runs", "undo")]


@pytest.mark.parametrize(("operation", "mode"), GENERATED, ids=str)
def test_no_generated_request_is_a_fault(served: _Loop, operation: str, mode: schemathesis.GenerationMode):
    schema = schemathesis.openapi.from_dict(served.request("GET", "/openapi.json").json())
    strategy = schema.find_operation_by_id(operation).as_strategy(generation_mode=mode)
    statuses: set[int] = set()

    @QUIET
    @given(case=strategy)
    def run(case: Any) -> None:
        arguments = case.as_transport_kwargs(base_url=BASE)
        answer = served.run(_sent(served.client, arguments))
        statuses.add(answer.status_code)
        assert answer.status_code < 500, (arguments, answer.text)
        if answer.status_code >= 400:
            assert answer.headers["content-type"] == "application/problem+json", arguments
            body = answer.json()
            assert body["status"] == answer.status_code
            assert body["errors"]

    run()
    assert statuses


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=5), inner, max_size=2),
    max_leaves=4,
)
PULL, REPO = {"handle": "PullRequest#api:1"}, {"handle": "Repo#api"}
FINE: list[build.Op] = [
    build.pull(2, ref="$a"),
    build.pull(1, ref="$b"),
    build.change(1, title="x"),
    build.change(1, to_state="ready", classification="feature"),
    build.change(9, title="x"),
    {**build.change(1, cost="9.99"), "if_version": 1, "test": {"title": "Retry"}},
    {"kind": "upsert_node", "ref": "$c", "node_type": "Repo", "match": {"name": "api"}, "set": {"stars": 1}},
    {"kind": "create_edge", "edge_type": "in_repo", "from": PULL, "to": REPO, "set": {"since": "2026-01-31"}},
    {"kind": "update_edge", "edge_type": "in_repo", "from": PULL, "to": REPO, "set": {"since": None}},
    {"kind": "create_nodes_batch", "node_type": "Repo", "items": [{"set": {"name": "x"}}, {"set": {"name": "y"}}]},
    {"kind": "delete_edge", "edge_type": "in_repo", "from": PULL, "to": REPO},
    {"kind": "delete_node", "target": PULL},
]
FIELDS = ["number", "repo", "title", "classification", "cost", "opened_by", "due", "parent", "nmae"]
MEMBERS = [
    "kind",
    "ref",
    "node_type",
    "set",
    "match",
    "test",
    "target",
    "from",
    "to",
    "to_state",
    "if_version",
    "items",
]
VALUES = st.sampled_from([*FIELDS, "$a", "PullRequest#api:1", "open", 1, {"ref": "$a"}, {"id": "x"}, {}, []]) | JUNK


@st.composite
def operations(draw: st.DrawFn) -> Any:
    """One that could be fine, with nothing, a field or a member of it replaced."""
    op: Any = json.loads(json.dumps(draw(st.sampled_from(FINE))))
    match draw(st.sampled_from(["nothing", "field", "member"])):
        case "field":
            op.setdefault("set", {})[draw(st.sampled_from(FIELDS))] = draw(VALUES)
        case "member":
            op[draw(st.sampled_from(MEMBERS))] = draw(VALUES)
        case _:
            pass
    return op


def test_no_delta_about_what_exists_is_a_fault(served: _Loop):
    for op in (build.pull(1), {"kind": "create_node", "node_type": "Repo", "set": {"name": "api"}}):
        assert served.request("POST", "/mutations", json=build.delta(op)).status_code == 200
    statuses: set[int] = set()

    @settings(QUIET, max_examples=400)
    @given(ops=st.lists(operations(), min_size=1, max_size=3), dry=st.booleans())
    def run(ops: list[build.Op], dry: bool) -> None:
        answer = served.request("POST", f"/mutations?dry_run={dry}", json={"ops": ops})
        statuses.add(answer.status_code)
        assert answer.status_code < 500, (ops, answer.text)

    run()
    assert {200, 404, 422} <= statuses


async def _sent(client: httpx.AsyncClient, arguments: dict[str, Any]) -> httpx.Response:
    given = {k: v for k, v in arguments.items() if k in ("method", "url", "headers", "json", "content", "params")}
    data = arguments.get("data")
    if data is not None:
        given["content"] = data if isinstance(data, bytes) else str(data).encode("utf-8", "replace")
    given.pop("cookies", None)
    return await client.request(**given)
