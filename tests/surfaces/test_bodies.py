"""A body that means two things is refused on every surface, and nothing is asked (X3)."""

from __future__ import annotations

import json

from tests.surfaces import streams
from ukai import store

QUESTION = '"How is it?"'
TWICE = '"Who is hidden?", "KEY": "How is it?"'
BODIES = {
    "/agents/helper/ask": '{"question": @}',
    "/context/compose": '{"agent": "helper", "question": @}',
    "/undo": '{"author": @}',
    "/v1/chat/completions": '{"model": "helper", "messages": [{"role": "user", "content": @}]}',
    "/agui/helper": '{"threadId": "t", "runId": "r", "messages": [{"id": "m", "role": "user", "content": @}]}',
    "/a2a/helper": '{"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": '
    '{"messageId": "m", "role": "ROLE_USER", "parts": [{"text": @}]}}}',
    "/page/ask": '{"agent": "helper", "question": @}',
}


async def test_a_key_that_stands_twice_is_refused_where_it_stands(database: store.Database):
    heads = {"content-type": "application/json", "sec-fetch-site": "same-origin"}
    async with streams.served(database, "It is so.") as web:
        for path, form in BODIES.items():
            key = form.split(": @")[0].rpartition('"')[0].rpartition('"')[2]

            once = await web.post(path, content=form.replace("@", QUESTION), headers=heads)
            twice = await web.post(path, content=form.replace("@", TWICE.replace("KEY", key)), headers=heads)
            deep = await web.post(path, content=form.replace("@", "[" * 99 + "]" * 99), headers=heads)

            assert once.status_code < 300 or path == "/undo"
            assert f"the key '{key}' stands twice" in twice.text
            assert "nested too deeply" in deep.text
            for refused in (twice, deep):
                assert 400 <= refused.status_code < 500 or json.loads(refused.text)["error"]["code"] == -32700
        runs = (await web.get("/runs")).json()["runs"]

    assert len(runs) == len(BODIES) - 2  # neither composing nor undoing is a run
