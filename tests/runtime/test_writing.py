"""An agent proposes: it is told what is wrong so that its next attempt can be right, and for how long (W3, W5)."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest

from tests.app import build
from ukai import gate, store
from ukai.app.provided import PROVIDED
from ukai.gate import describe, history, review
from ukai.gate.author import Author
from ukai.kit.clock import SystemClock
from ukai.kit.errors import ToolFailed, ToolRetry
from ukai.runtime import writing

AGENT = Author(kind="agent", id="reviewer", run="run-1", step="answer")


async def pen(db: store.Database, **more: Any) -> writing.Pen:
    await build.opened(db)
    given: dict[str, Any] = {"rights": gate.ALL, "sight": describe.ALL, **more}
    return writing.Pen(db=db, author=AGENT, clock=SystemClock(), **given)


async def call(pen: writing.Pen, *ops: build.Op, **more: Any) -> Any:
    return await writing.writing_tools(pen, PROVIDED)["propose_delta"].call(delta=build.delta(*ops), **more)


async def refusal(pen: writing.Pen, *ops: build.Op, **more: Any) -> str:
    with pytest.raises(ToolFailed) as failed:
        await call(pen, *ops, **more)
    return str(failed.value)


async def test_what_is_accepted_comes_back_by_handle_and_has_the_agent_as_its_author(database: store.Database):
    done = await call(await pen(database), build.pull(1))

    assert (done["status"], done["nodes"]["$pr"]["handle"]) == ("committed", "PullRequest#api:1")
    async with database.transaction() as tx:
        [change] = await history.of_node(tx, "PullRequest#api:1", rights=gate.ALL)
    assert change.author == AGENT


async def test_a_rejection_is_told_whole_with_the_attempts_that_are_left(database: store.Database):
    said = await refusal(await pen(database), build.pull(1, titel="x", classification="Small_Fix"))

    lines = said.splitlines()
    assert lines[0] == "REJECTED: 2 problems, 3 attempts left. Nothing was written."
    assert "[unknown_field] /ops/0/set/titel" in lines[1]
    assert "fix: set 'classification' to 'small fix'" in lines[2]
    assert lines[3].startswith("PullRequest (number!: integer, repo!: string, title!: string")


async def test_the_gate_counts_and_the_end_is_said(database: store.Database):
    it = await pen(database, retries=2)

    said = [await refusal(it, build.pull(1, **{field: "?"})) for field in ("cost", "due", "nmae")]
    last = await refusal(it, build.pull(1))

    assert ["2 attempts left" in said[0], "1 attempt left" in said[1], "0 attempts left" in said[2]] == [True] * 3
    assert "given up (attempts_exhausted" in said[2]
    assert last.startswith("nothing was written. This change is given up")
    [item] = it.escalated
    proposals = [a["proposal"]["ops"][0]["set"] for a in item.review_item()["attempts"]]
    assert [field in p for field, p in zip(("cost", "due", "nmae"), proposals, strict=True)] == [True] * 3


async def test_failing_twice_in_the_same_way_ends_it_early(database: store.Database):
    it = await pen(database)

    await refusal(it, build.pull(1, cost="a"))
    said = await refusal(it, build.pull(2, cost="b"))

    assert "given up (no_progress" in said


async def test_what_needs_other_rights_is_not_tried_again(database: store.Database):
    files = build.files()
    rights = files.rights(files.caller(build.BEN), "reviewer", channel="cli")
    it = await pen(database, rights=rights, sight=rights)

    said = await refusal(it, build.pull(1))

    assert "given up (stopped" in said


async def test_after_a_success_the_next_change_has_all_its_attempts(database: store.Database):
    it = await pen(database)

    await refusal(it, build.pull(1, cost="a"))
    await call(it, build.pull(1))
    said = await refusal(it, build.pull(2, cost="a"))

    assert "3 attempts left" in said


async def test_what_is_given_up_waits_before_whoever_may_decide(database: store.Database):
    it = await pen(database, retries=0)
    it.reviewers = ("ann@example.com",)

    await refusal(it, build.pull(1, cost="a"))

    [item] = await review.items(database, rights=gate.ALL)
    assert (item.fields["reason"], item.fields["reviewers"]) == ("attempts_exhausted", ["ann@example.com"])
    assert item.fields["delta"]["ops"][0]["set"]["cost"] == "a"


async def test_a_dry_run_costs_nothing(database: store.Database):
    it = await pen(database, retries=0)

    said = [await refusal(it, build.pull(1, cost="a"), dry_run=True) for _ in range(5)]
    done = await call(it, build.pull(1), dry_run=True)

    assert {s.splitlines()[0] for s in said} == {"REJECTED: 1 problem. Nothing was written."}
    assert done["status"] == "valid"
    assert (await call(it, build.pull(1)))["status"] == "committed"


async def test_a_busy_store_is_asked_again_and_costs_no_attempt(
    database: store.Database, monkeypatch: pytest.MonkeyPatch
):
    from ukai.gate import rows

    waits: list[int] = []

    async def pause(n: int) -> None:
        waits.append(n)
        if n == 2:
            monkeypatch.undo()

    async def busy(*_: object, **__: object) -> dict[str, Any]:
        return {"retry": "in_progress"}

    it = await pen(database, pause=pause)
    monkeypatch.setattr(rows, "commit", busy)

    done = await call(it, build.pull(1))

    assert (done["status"], waits, it.tally.attempts) == ("committed", [1, 2], [])


@pytest.mark.parametrize("delta", ["prose", [], None, {"ops": "create it"}, {"operations": []}])
async def test_whatever_a_model_sends_is_answered_in_words(database: store.Database, delta: Any):
    tools = writing.writing_tools(await pen(database), PROVIDED)

    with pytest.raises(ToolFailed, match="REJECTED"):
        await tools["propose_delta"].call(delta=delta)


async def test_for_mcp_a_rejection_is_an_error_with_complete_text(database: store.Database):
    it = await pen(database)

    refused = writing.mcp_result(await writing.proposed(it, build.delta(build.pull(1, cost="a"))))
    done = writing.mcp_result(await writing.proposed(it, build.delta(build.pull(1))))

    assert (refused["isError"], done["isError"]) == (True, False)
    assert refused["content"][0]["text"].startswith("REJECTED: 1 problem, 3 attempts left.")
    assert refused["structuredContent"]["findings"][0]["where"] == "/ops/0/set/cost"
    for result in (refused, done):
        assert result["content"][0]["type"] == "text"
        jsonschema.validate(result["structuredContent"], dict(writing.OUTPUT_SCHEMA))


def test_the_schemas_for_mcp_are_schemas():
    for schema in (writing.INPUT_SCHEMA, writing.OUTPUT_SCHEMA):
        jsonschema.Draft202012Validator.check_schema(dict(schema))
    jsonschema.validate({"delta": build.delta(build.pull(1)), "dry_run": True}, dict(writing.INPUT_SCHEMA))


async def test_describe_type_tells_what_may_be_written_and_what_else_there_is(database: store.Database):
    files = build.files()
    rights = files.rights(files.caller(build.BEN), "reviewer", channel="cli")
    tool = writing.writing_tools(await pen(database, rights=rights, sight=rights), PROVIDED)["describe_type"]

    text = await tool.call(type="PullRequest")

    assert "title!: string" in text
    assert "- number!: integer" in text
    assert "cost" not in text.replace("it costs too much", "")
    for hidden in ("Repo", "PullReqest"):
        with pytest.raises(ToolRetry, match="no type is named"):
            await tool.call(type=hidden)
