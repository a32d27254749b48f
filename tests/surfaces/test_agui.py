"""The AG-UI surface over a real socket; its events are read with the protocol's own types (P4.4)."""

from __future__ import annotations

from typing import Any

from ag_ui.core import Event
from pydantic import TypeAdapter

from tests.surfaces import streams
from ukai import store
from ukai.llm.scripted import Call

READ: TypeAdapter[Any] = TypeAdapter(Event)


def given(*messages: tuple[str, str]) -> dict[str, Any]:
    said = [{"id": str(i), "role": role, "content": text} for i, (role, text) in enumerate(messages)]
    return {"threadId": "t1", "runId": "r1", "messages": said, "tools": [], "context": [], "state": {}}


async def test_a_run_is_told_with_its_tools_and_its_text_comes_once(database: store.Database):
    steps = (Call("list_records", {"type": "Repo"}), "It is so.")
    async with streams.served(database, *steps) as web:
        answer = await web.post("/agui/helper", json=given(("user", "Hi"), ("assistant", "Hello"), ("user", "And?")))

    events = [READ.validate_python(e) for e in streams.events(answer.text)]
    kinds = [str(e.type.value) for e in events]
    assert (kinds[0], kinds[-1]) == ("RUN_STARTED", "RUN_FINISHED")
    assert (events[0].thread_id, events[0].run_id) == ("t1", "r1")
    assert kinds.index("TOOL_CALL_START") < kinds.index("TOOL_CALL_END") < kinds.index("TEXT_MESSAGE_START")
    assert [e.delta for e in events if e.type.value == "TEXT_MESSAGE_CONTENT"] == ["It is so."]
    assert kinds.count("STEP_STARTED") == kinds.count("STEP_FINISHED")


async def test_a_fault_of_ours_ends_the_run_too_and_tells_nothing_of_itself(database: store.Database):
    async with streams.served(database, ValueError("a secret of the server")) as web:
        wire = await streams.raw(web.base_url, "/agui/helper", given(("user", "And?")))

    assert b'"code": "fault"' in wire
    assert b"secret of the server" not in wire


async def test_what_is_no_question_is_refused_before_a_stream_begins(database: store.Database):
    async with streams.served(database) as web:
        statuses = [
            (await web.post("/agui/helper", json=body)).status_code
            for body in (given(("assistant", "Hello")), {"threadId": "t"}, given(("user", " ")))
        ]
        statuses.append((await web.post("/agui/nobody", json=given(("user", "Hi")))).status_code)

    assert statuses == [422, 422, 422, 404]


async def test_no_byte_of_a_blocked_answer_leaves(database: store.Database):
    step, markers = streams.marked()
    async with streams.served(database, step) as web:
        wire = [await streams.raw(web.base_url, "/agui/helper", given(("user", "And?"))) for _ in range(5)]

    assert len(markers) == 5
    assert all(b"RUN_ERROR" in w for w in wire)
    assert streams.leaked(b"".join(wire), markers) == []
