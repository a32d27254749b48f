"""The model of tests: what it plays, what it keeps, and that it complains."""

from __future__ import annotations

import asyncio

import pytest
from pydantic_ai import Agent
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.messages import ToolCallPart

from ukai.llm import scripted
from ukai.llm.scripted import Call, Scripted, Wait


def agent(model: Scripted) -> Agent[None, str]:
    built = Agent(model, instructions="Be brief.")

    @built.tool_plain
    def add(a: int, b: int) -> int:
        """Adds."""
        return a + b

    return built


async def test_steps_are_played_in_order_with_the_tools_in_between():
    model = Scripted([Call("add", {"a": 1, "b": 2}), "It is 3."])

    result = await agent(model).run("What is 1 + 2?")

    assert result.output == "It is 3."
    assert result.usage.tool_calls == 1
    model.assert_finished()


async def test_it_keeps_what_it_was_sent():
    model = Scripted([Call("add", {"a": 1, "b": 2}), "It is 3."])

    await agent(model).run("What is 1 + 2?")

    assert model.asked[0].tool_names == ["add"]
    assert model.asked[0].instructions == "Be brief."
    assert model.asked[0].messages[0].parts[-1].content == "What is 1 + 2?"  # type: ignore[union-attr]
    assert model.asked[1].messages[-1].parts[0].content == 3  # type: ignore[union-attr]
    assert len(model.asked[0].messages) == 1  # kept as it was, not as the conversation grew


async def test_several_calls_of_one_step_have_ids_of_their_own():
    model = Scripted([[Call("add", {"a": 1, "b": 1}), Call("add", {"a": 2, "b": 2}, id="mine")], "Done."])

    await agent(model).run("x")

    parts = [p for p in model.asked[1].messages[1].parts if isinstance(p, ToolCallPart)]
    assert [p.tool_call_id for p in parts] == ["step-1-1", "mine"]


async def test_a_step_can_raise_as_a_provider_would():
    model = Scripted([ModelHTTPError(status_code=529, model_name="scripted")])

    with pytest.raises(ModelHTTPError):
        await agent(model).run("x")


async def test_a_step_can_wait_for_what_the_test_holds():
    gate = asyncio.Event()
    model = Scripted([Wait(gate.wait, "At last.")])

    running = asyncio.create_task(agent(model).run("x"))
    await asyncio.sleep(0)
    assert not running.done()
    gate.set()

    assert (await running).output == "At last."


async def test_a_step_can_be_computed_from_what_was_asked():
    model = Scripted([lambda asked: f"{len(asked.tools)} tool"])

    assert (await agent(model).run("x")).output == "1 tool"


async def test_more_requests_than_steps_fail_the_test():
    with pytest.raises(scripted.ScriptFault, match="has 1 steps, and this is request 2"):
        await agent(Scripted([Call("add", {"a": 1, "b": 2})])).run("x")


async def test_steps_left_over_fail_the_test():
    model = Scripted(["One.", "Two."])
    await agent(model).run("x")

    with pytest.raises(scripted.ScriptFault, match="only 1 were asked for"):
        model.assert_finished()


async def test_streaming_gives_the_same_text_word_by_word_and_the_same_usage():
    steps = [Call("add", {"a": 1, "b": 2}), "It is three, as ever."]
    whole = await agent(Scripted(steps)).run("x")

    pieces: list[str] = []
    async with agent(Scripted(steps)).run_stream("x") as stream:
        async for piece in stream.stream_text(delta=True, debounce_by=None):
            pieces.append(piece)

    assert pieces == ["It ", "is ", "three, ", "as ", "ever."]
    assert stream.usage.output_tokens == whole.usage.output_tokens
    assert stream.usage.input_tokens == whole.usage.input_tokens


async def test_arguments_that_are_no_json_reach_the_loop_as_they_are():
    model = Scripted([Call("add", '{"a": 1, '), "Sorry."])

    result = await agent(model).run("x")

    assert result.output == "Sorry."
    assert model.asked[1].messages[-1].parts[0].outcome == "retried"  # type: ignore[union-attr]
