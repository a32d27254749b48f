"""The A2A surface over a real socket: card, message, stream (P4.4)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.surfaces import streams
from ukai import store
from ukai.llm.scripted import Call


def call(method: str = "SendMessage", text: str = "How is it?", **more: Any) -> dict[str, Any]:
    message = {"messageId": "m1", "role": "ROLE_USER", "parts": [{"text": text}], "contextId": "c1", **more}
    return {"jsonrpc": "2.0", "id": 7, "method": method, "params": {"message": message}}


async def test_the_card_says_what_the_agent_is_and_where_it_is_asked(database: store.Database):
    async with streams.served(database) as web:
        card = (await web.get("/.well-known/agent-card.json")).json()
        same = (await web.get("/a2a/helper/.well-known/agent-card.json")).json()
        hidden = await web.get("/a2a/hidden/.well-known/agent-card.json")
        base = str(web.base_url).rstrip("/")

    assert card == same
    assert (card["name"], card["description"]) == ("helper", "Answers questions about helper.")
    assert card["supportedInterfaces"] == [
        {"url": f"{base}/a2a/helper", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
    ]
    assert card["capabilities"]["streaming"] is True
    assert hidden.status_code == 404, "its own files do not say that other agents may know of it"


async def test_a_message_becomes_a_task_with_one_artifact(database: store.Database):
    async with streams.served(database, "It is so.") as web:
        result = (await web.post("/a2a/helper", json=call())).json()

    task = result["result"]["task"]
    assert (result["id"], task["contextId"], task["status"]["state"]) == (7, "c1", "TASK_STATE_COMPLETED")
    assert task["artifacts"][0]["parts"] == [{"text": "It is so.", "mediaType": "text/markdown"}]
    assert task["id"] == task["metadata"]["run_id"]


async def test_a_stream_tells_the_states_and_the_answer_once(database: store.Database):
    async with streams.served(database, Call("list_records", {"type": "Repo"}), "It is so.") as web:
        answer = await web.post("/a2a/helper", json=call("SendStreamingMessage"))

    results = [e["result"] for e in streams.events(answer.text)]
    states = [r["task"]["status"]["state"] for r in results if "task" in r]
    states += [r["statusUpdate"]["status"]["state"] for r in results if "statusUpdate" in r]
    artifacts = [r["artifactUpdate"]["artifact"]["parts"][0]["text"] for r in results if "artifactUpdate" in r]
    assert (states[0], states[-1]) == ("TASK_STATE_SUBMITTED", "TASK_STATE_COMPLETED")
    assert "TASK_STATE_WORKING" in states
    assert artifacts == ["It is so."]
    assert "artifactUpdate" in results[-2], "the answer comes before the last state and after everything else"


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": {}}, -32601),
        ({"id": 1}, -32600),
        (call(text=""), -32602),
        (call(parts=[{"url": "file:///etc/passwd"}]), -32602),
        (call(parts=[{"text": "x"}, {"raw": "AA=="}]), -32602),
    ],
)
async def test_what_is_no_question_is_refused_as_json_rpc_says(database: store.Database, body: Any, code: int):
    async with streams.served(database) as web:
        answer = await web.post("/a2a/helper", json=body)

    assert answer.json()["error"]["code"] == code


async def test_an_agent_that_one_may_not_ask_is_not_there(database: store.Database):
    async with streams.served(database) as web:
        answer = await web.post("/a2a/hidden", json=call())

    assert answer.status_code == 404


@pytest.mark.parametrize("method", ["SendMessage", "SendStreamingMessage"])
async def test_no_byte_of_a_blocked_answer_leaves(database: store.Database, method: str):
    step, markers = streams.marked()
    async with streams.served(database, step) as web:
        wire = [await streams.raw(web.base_url, "/a2a/helper", call(method)) for _ in range(5)]

    assert len(markers) == 5
    assert all(b"TASK_STATE_FAILED" in w for w in wire)
    assert streams.leaked(b"".join(wire), markers) == []
