"""What Prometheus reads, and who may (P2.2)."""

from __future__ import annotations

import re

from tests.surfaces import streams
from ukai import store
from ukai.llm.scripted import Call

LINE = re.compile(r'[a-z_]+(?:\{[a-z_]+="[^"]*"(?:,[a-z_]+="[^"]*")*\})? [0-9.e+-]+\Z')


async def test_turns_tools_and_verdicts_are_counted_and_the_text_is_read_by_prometheus(database: store.Database):
    async with streams.served(database, Call("list_records", {"type": "Repo"}), "It is so.") as web:
        before = (await web.get("/metrics")).text
        await web.post("/agents/helper/ask", json={"question": "How is it?"})
        answer = await web.get("/metrics")

    def count(text: str, series: str) -> float:
        found = re.search(rf"^{re.escape(series)} (\S+)$", text, re.MULTILINE)
        return float(found[1]) if found else 0.0

    turns = 'ukai_turns_total{agent="helper",surface="rest",status="answered"}'
    tools = 'ukai_tool_calls_total{tool="list_records",outcome="nothing"}'
    assert count(answer.text, turns) - count(before, turns) == 1
    assert count(answer.text, tools) - count(before, tools) == 1
    assert count(answer.text, "ukai_index_lag_changes") == 0
    assert "ukai_index_waiting_texts" in answer.text
    assert count(answer.text, "ukai_ann_checked") == 0
    assert 'ukai_pull_failures_in_a_row{connector="repos"} 0' in answer.text.splitlines()
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    lines = [line for line in answer.text.splitlines() if not line.startswith("#")]
    assert [line for line in lines if not LINE.match(line)] == []
