"""The OpenAPI document is true: what it describes is answered, whatever is sent, and never by a fault."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.app import build
from tests.surfaces.http.conftest import BASE
from ukai import store
from ukai.surfaces import http


class _Loop:
    """The application in a loop of its own thread: what generates cases is not async."""

    def __init__(self, url: str) -> None:
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever)
        self.thread.start()
        self.context = store.connect(url)
        database = self.run(self.context.__aenter__())
        self.run(build.opened(database))
        self.app = http.made(build.desk(database))
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
    max_examples=60,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
OPERATIONS = ["propose", "types", "describe_type", "changes", "history", "health"]


def test_the_document_lists_what_there_is(served: _Loop):
    document = served.request("GET", "/openapi.json").json()

    found = [o["operationId"] for path in document["paths"].values() for o in path.values()]
    assert sorted(found) == sorted(OPERATIONS)
    schema = schemathesis.openapi.from_dict(document)
    schema.validate()


POSITIVE, NEGATIVE = schemathesis.GenerationMode.POSITIVE, schemathesis.GenerationMode.NEGATIVE
GENERATED = [(name, POSITIVE) for name in OPERATIONS]
# The others take nothing, or any text: no request to them is wrong.
GENERATED += [(name, NEGATIVE) for name in ("propose", "changes", "history")]


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
NAMES = st.sampled_from(["PullRequest", "Repo", "in_repo", "Pullrequest", ""])
FIELDS = st.sampled_from(["number", "repo", "title", "classification", "cost", "opened_by", "due", "parent", "nmae"])
FINE = st.sampled_from([1, 2, "api", "x", "feature", "9.99", "2026-01-31", "PullRequest#api:1", "$a", None])
VALUES = st.dictionaries(FIELDS, FINE | JUNK, max_size=5)
TARGETS = st.sampled_from(
    [
        {"handle": "PullRequest#api:1"},
        {"handle": "Repo#api"},
        {"ref": "$a"},
        {"context_ref": "c"},
        {"id": "x"},
        {},
        "$a",
    ]
)
MEMBERS = {
    "kind": st.sampled_from(["create_node", "update_node", "upsert_node", "delete_node", "create_edge", "update_edge"]),
    "node_type": NAMES,
    "edge_type": NAMES,
    "ref": st.sampled_from(["$a", "$b", ""]),
    "to_state": st.sampled_from(["open", "ready", "merged", "gone", None]),
    "set": VALUES,
    "match": VALUES,
    "test": VALUES,
    "target": TARGETS,
    "from": TARGETS,
    "to": TARGETS,
    "if_version": st.integers(-1, 3) | JUNK,
}
NEEDED = {
    "create_node": ("node_type", "set", "ref", "to_state"),
    "update_node": ("target", "set", "to_state", "if_version"),
    "upsert_node": ("node_type", "match", "set", "ref"),
    "delete_node": ("target", "test"),
    "create_edge": ("edge_type", "from", "to", "set"),
    "update_edge": ("edge_type", "from", "to", "set"),
}


@st.composite
def operations(draw: st.DrawFn) -> dict[str, Any]:
    """Mostly well formed, about things that mostly exist."""
    kind = draw(MEMBERS["kind"])
    names = [n for n in NEEDED[kind] if draw(st.integers(0, 9))]
    if not draw(st.integers(0, 9)):
        names.append(draw(st.sampled_from(sorted(MEMBERS))))
    return {"kind": kind} | {n: draw(MEMBERS[n]) for n in names}


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
    assert {200, 400, 409, 422} <= statuses


async def _sent(client: httpx.AsyncClient, arguments: dict[str, Any]) -> httpx.Response:
    given = {k: v for k, v in arguments.items() if k in ("method", "url", "headers", "json", "content", "params")}
    data = arguments.get("data")
    if data is not None:
        given["content"] = data if isinstance(data, bytes) else str(data).encode("utf-8", "replace")
    given.pop("cookies", None)
    return await client.request(**given)
