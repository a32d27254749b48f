"""Cassettes: what was asked once is played again, and a miss shows what is another (P8.7)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic_ai import Agent

from ukai.llm.cassette import Cassette, CassetteMiss, Request, Taped
from ukai.llm.scripted import Call, Scripted


def never() -> Any:
    raise AssertionError("a replay builds no model")


def agent(model: Any, prompt: str = "Be brief.\nQuote.") -> Agent[None, str]:
    built = Agent(model, instructions=prompt)

    @built.tool_plain
    def add(a: int, b: int) -> int:
        """Adds."""
        return a + b

    return built


async def recorded(path: Path, rep: int = 1, answer: str = "It is 3.") -> str:
    model = Scripted([Call("add", {"a": 1, "b": 2}), answer])
    cassette = Cassette(path=path, is_recording=True)
    return (await agent(Taped("openai:x", lambda: model, cassette, rep)).run("What is 1 + 2?")).output


async def test_a_recorded_turn_replays_without_its_model(tmp_path: Path):
    await recorded(tmp_path / "c.jsonl")

    result = await agent(Taped("openai:x", never, Cassette(path=tmp_path / "c.jsonl"), 1)).run("What is 1 + 2?")

    assert result.output == "It is 3."
    assert result.usage.requests == 2


async def test_a_second_repeat_has_a_reply_of_its_own(tmp_path: Path):
    await recorded(tmp_path / "c.jsonl")
    await recorded(tmp_path / "c.jsonl", rep=2, answer="Three, I think.")

    played = [
        (await agent(Taped("openai:x", never, Cassette(path=tmp_path / "c.jsonl"), rep)).run("What is 1 + 2?")).output
        for rep in (1, 2)
    ]

    assert played == ["It is 3.", "Three, I think."]


async def test_a_miss_shows_the_line_that_is_another(tmp_path: Path):
    await recorded(tmp_path / "c.jsonl")
    missed: list[CassetteMiss] = []
    model = Taped("openai:x", never, Cassette(path=tmp_path / "c.jsonl"), 1, missed=missed.append)

    with pytest.raises(CassetteMiss) as caught:
        await agent(model, prompt="Be brief.\nQuote nothing.").run("What is 1 + 2?")

    assert "-instructions: Quote." in caught.value.diff.splitlines()
    assert "+instructions: Quote nothing." in caught.value.diff.splitlines()
    assert missed == [caught.value]


async def test_another_description_of_a_tool_is_another_request(tmp_path: Path):
    await recorded(tmp_path / "c.jsonl")
    built = Agent(Taped("openai:x", never, Cassette(path=tmp_path / "c.jsonl"), 1), instructions="Be brief.\nQuote.")

    @built.tool_plain
    def add(a: int, b: int) -> int:
        """Subtracts."""
        return a + b

    with pytest.raises(CassetteMiss) as caught:
        await built.run("What is 1 + 2?")

    assert "-tools[0].description: Adds." in caught.value.diff


@pytest.mark.parametrize("cut", [1, 20, 300])
async def test_a_line_cut_short_by_a_kill_costs_that_line_alone(tmp_path: Path, cut: int):
    path = tmp_path / "c.jsonl"
    await recorded(path)
    path.write_bytes(path.read_bytes()[:-cut])

    assert await recorded(path) == "It is 3."

    result = await agent(Taped("openai:x", never, Cassette(path=path), 1)).run("What is 1 + 2?")
    assert result.output == "It is 3."


def test_parts_are_written_once(tmp_path: Path):
    cassette = Cassette(path=tmp_path / "c.jsonl", is_recording=True)
    for n in range(3):
        cassette.add(Request(what="x", parts=("a long head " * 100, n)), 1, n)

    assert (tmp_path / "c.jsonl").read_text().count("a long head " * 100) == 1
    assert [Cassette(path=tmp_path / "c.jsonl").find(Request(what="x", parts=("a long head " * 100, n)), 1)
            for n in range(3)] == [0, 1, 2]  # fmt: skip
