"""One turn on the scripted model: tools, what fails, what it may use, what it says, and what is kept of it (P4)."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from tests.runtime import turns
from tests.runtime.turns import ITEMS, calls, raising, ran, returning, tool
from ukai import record, store
from ukai.access import Decision
from ukai.context.told import Told
from ukai.kit.errors import PermanentError, ToolFailed, ToolRetry
from ukai.llm.scripted import Call, Scripted, ScriptFault, Wait
from ukai.runtime import events, loop, turn

SECRET = "postgres://u:hunter2@db"


async def test_the_model_asks_its_tools_and_answers_with_sources(database: store.Database):
    model = Scripted([Call("search", {"query": "gate"}), "The gate waits. [Memo#1/body]"])

    run = await ran(database, model, returning(ITEMS))

    assert (run.status, run.reason) == ("answered", "")
    assert run.answer is not None
    assert run.answer.markdown == "The gate waits. [Memo#1/body]"
    assert [(c.sentence, c.item_key) for c in run.citations] == [(0, "Memo#1/body")]
    assert [e.kind for e in run.events] == ["usage", "call", "usage", "answer", "citation"]
    (call,) = run.calls
    assert (call.args_canonical, call.label, call.label_rule) == ('{"query":"gate"}', "data", "returned")
    assert call.t0 < call.t1
    (item,) = call.items
    assert (item.item_key, item.text, str(item.as_of)) == (
        "Memo#1/body",
        "The gate waits.",
        "2026-03-02 00:00:00+00:00",
    )
    assert model.asked[0].instructions.startswith(turn.HOUSE)
    assert model.asked[0].instructions.endswith("Help.")


async def test_an_address_that_came_from_the_model_through_a_tool_stays_out(database: store.Database):
    async def call(*, query: str) -> Any:
        return f"nothing for {query}; see https://docs.x.example/a"

    steps = [
        Call("search", {"query": "https://evil.example/?q=1"}),
        Call("search", {"query": "https://docs.x.example/a"}),
    ]
    run = await ran(database, [*steps, "https://evil.example/?q=1 or https://docs.x.example/a"], tool(call))

    assert run.answer is not None
    assert run.answer.markdown == "address removed: evil[.]example or https://docs.x.example/a"


async def test_calls_side_by_side_are_recorded_in_the_order_in_which_they_were_asked_for(database: store.Database):
    second_done = asyncio.Event()

    async def call(*, query: str) -> Any:
        if query == "one":
            await second_done.wait()
        else:
            second_done.set()
        return ITEMS

    steps = [[Call("search", {"query": "one"}), Call("search", {"query": "two"}), Call("search", {"query": "three"})]]
    run = await ran(database, [*steps, "Done."], tool(call))

    assert [c.args_canonical for c in run.calls] == ['{"query":"one"}', '{"query":"two"}', '{"query":"three"}']
    assert [c.call_id for c in run.calls] == ["call-1", "call-2", "call-3"]


@pytest.mark.parametrize(
    ("fault", "code", "told"),
    [
        (ToolFailed("the shelf is closed"), "ToolFailed", "the shelf is closed"),
        (ToolRetry("write Type#key"), "ToolRetry", "write Type#key"),
        (RuntimeError(SECRET), "RuntimeError", "the tool failed (RuntimeError)"),
        (TypeError(SECRET), "TypeError", "the tool failed (TypeError)"),
        (TimeoutError(SECRET), "timeout", "no result within"),
        (PermanentError(SECRET), "PermanentError", "the tool failed (PermanentError)"),
    ],
)
async def test_a_tool_that_fails_hands_the_model_its_error_and_the_turn_goes_on(
    database: store.Database, fault: Exception, code: str, told: str
):
    model = Scripted([Call("search", {}), "Without it, then."])

    run = await ran(database, model, raising(fault))

    assert run.status == "answered"
    assert calls(run) == [("search", "error", code)]
    assert run.calls[0].items == ()
    assert told in str(model.asked[1].messages)
    assert "hunter2" not in str(model.asked[1].messages) + record.dumps(run)


async def test_a_tool_may_want_its_schema_kept_to_strictly(database: store.Database):
    model = Scripted(["So."])

    await ran(database, model, returning(ITEMS), returning(ITEMS, name="exact", strict=True))

    assert [(t.name, t.strict) for t in model.asked[0].tools] == [("search", None), ("exact", True)]


async def test_a_tool_may_ask_for_another_try_more_often_than_the_library_counts(database: store.Database):
    steps = [Call("search", {"query": str(i)}) for i in range(6)]

    run = await ran(database, [*steps, "I give up."], raising(ToolRetry("no")))

    assert run.status == "answered"
    assert calls(run) == [("search", "error", "ToolRetry")] * 6


async def test_a_tool_that_hangs_is_an_error_of_that_call(database: store.Database, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(loop, "TOOL_SECONDS", 0.01)

    async def hangs(**_: Any) -> Any:
        await asyncio.Event().wait()

    run = await ran(database, [Call("search", {}), "Without it."], tool(hangs))

    assert calls(run) == [("search", "error", "timeout")]
    assert run.calls[0].label_rule == "timeout"


async def test_a_tool_that_is_not_there_and_arguments_that_are_no_json_are_recorded_and_told(database: store.Database):
    model = Scripted([Call("serch", {"query": "x"}), Call("search", '{"query": '), Call("search", {}), "Found."])

    run = await ran(database, model, returning(ITEMS))

    assert run.status == "answered"
    assert calls(run) == [("serch", "error", "NotCalled"), ("search", "error", "NotCalled"), ("search", "data", None)]
    assert run.calls[1].args_canonical == '{"query": '


@pytest.mark.parametrize(
    "arguments",
    [{"query": 5}, {"query": None}, {"query": ["x"]}, {"qery": "x"}, {}, {"query": "x", "limit": "many"}],
)
async def test_arguments_that_do_not_fit_are_told_and_no_tool_is_called(
    database: store.Database, arguments: dict[str, Any]
):
    called: list[Any] = []

    async def call(**given: Any) -> Any:
        called.append(given)

    properties = {"query": {"type": "string"}, "limit": {"type": ["integer", "null"]}}
    model = Scripted([Call("search", arguments), "Well."])
    run = await ran(database, model, tool(call, properties=properties, required=["query"]))

    assert called == []
    assert calls(run) == [("search", "error", "BadArguments")]
    assert "the arguments do not fit" in str(model.asked[1].messages)


async def test_the_same_call_is_answered_twice_and_then_stopped(database: store.Database):
    again = Call("search", {"query": "gate"})
    run = await ran(database, [again, again, again, Call("search", {"query": "door"}), "Done."], returning(ITEMS))

    assert calls(run) == [
        ("search", "data", None), ("search", "data", None), ("search", "error", "RepeatedCall"),
        ("search", "data", None),
    ]  # fmt: skip


async def test_a_long_result_is_cut_at_an_item_and_said_to_be(database: store.Database):
    entries = [{"handle": f"Memo#{i}", "text": "x" * 20_000} for i in range(9)]
    model = Scripted([Call("search", {}), "Much."])

    run = await ran(database, model, returning({"items": entries}))

    (call,) = run.calls
    assert call.truncated
    assert [i.item_key for i in call.items] == ["Memo#0", "Memo#1"]
    shown = str(model.asked[1].messages)
    assert "Memo#1" in shown
    assert "Memo#2" not in shown, "the model sees what the record holds"


@pytest.mark.parametrize(
    "value", ["x" * 200_000, {"items": [{"handle": "Memo#1", "text": "x" * 200_000}]}, {"rows": ["x" * 200_000]}]
)
async def test_whatever_is_too_long_is_cut(database: store.Database, value: Any):
    run = await ran(database, [Call("search", {}), "Much."], returning(value))

    assert run.calls[0].truncated
    assert 1_000 < len(str(run.calls[0].items)) < 1.5 * loop.RESULT_CHARACTERS


@pytest.mark.parametrize(
    ("value", "label"),
    [({"items": []}, "nothing"), ("", "nothing"), (None, "nothing"), ({}, "nothing"), ({"error": "gone"}, "error"),
     ("text", "data"), (ITEMS, "data"), (7, "data")],
)  # fmt: skip
async def test_code_says_what_a_result_is(database: store.Database, value: Any, label: str):
    run = await ran(database, [Call("search", {}), "So."], returning(value))

    assert run.calls[0].label == label


async def test_a_predicate_that_cannot_be_read_counts_as_an_error(database: store.Database):
    run = await ran(database, [Call("search", {}), "So."], returning(ITEMS, error_when="((("))

    assert run.calls[0].label == "error"


async def test_fields_beside_a_text_are_in_the_record_as_the_model_saw_them(database: store.Database):
    item = {"handle": "Firm#a", "title": "Alder", "text": "A maker.", "fields": {"fee": "42.00", "tags": ["x"]}}

    run = await ran(database, [Call("search", {}), "It pays 42.00. [Firm#a/fee]"], returning({"items": [item]}))

    assert run.calls[0].items[0].words == 'A maker.\nfee: 42.00\ntags: ["x"]'
    assert [f.value for f in run.calls[0].figures or ()] == ["42"]
    assert [c.item_key for c in run.citations] == ["Firm#a/fee"]


async def test_citations_that_name_nothing_returned_are_no_citations(database: store.Database):
    said = "One [Memo#1/body]. Two [Memo#2/body]. Three [Memo#1/body; Memo#9]. Four [Memo#1/body/x]. [note] [x](y#z)"

    run = await ran(database, [Call("search", {}), said], returning(ITEMS))

    assert [c.item_key for c in run.citations] == ["Memo#1/body", "Memo#1/body"]
    assert len({c.sentence for c in run.citations}) == 2
    (note,) = [e for e in run.events if e.kind == "note"]
    assert note.about == "citations that name nothing returned: Memo#2/body, Memo#9, Memo#1/body/x"


async def test_a_citation_behind_the_full_stop_belongs_to_the_sentence_before_it(database: store.Database):
    items = {"items": [{"handle": f"Memo#{i}", "text": "x"} for i in range(5)]}
    said = "First one. [Memo#0] [Memo#1]\n\nSecond one [Memo#2]. Third one. [Memo#3]\n\n[Memo#4] opens."

    run = await ran(database, [Call("search", {}), said], returning(items))

    assert run.answer is not None
    texts = {s.i: said[s.start : s.end] for s in run.answer.sentences}
    assert [(texts[c.sentence].split()[0], c.item_key) for c in run.citations] == [
        ("First", "Memo#0"), ("First", "Memo#1"), ("Second", "Memo#2"), ("Third", "Memo#3"), ("[Memo#4]", "Memo#4"),
    ]  # fmt: skip


async def test_a_field_that_did_not_come_is_no_source(database: store.Database):
    item = {"handle": "Firm#a", "fields": {"fee": "42.00"}}

    run = await ran(database, [Call("search", {}), "Secret. [Firm#a/floor]"], returning({"items": [item]}))

    assert run.citations == ()


async def test_requests_tokens_seconds_and_money_end_a_turn_and_it_is_kept(database: store.Database):
    endless = [Call("search", {"query": str(i)}) for i in range(20)]

    async def never() -> None:
        await asyncio.Event().wait()

    cases: list[tuple[Any, dict[str, Any], str]] = [
        (endless, {"iterations": 3}, "the run may ask its model 3 times"),
        (endless, {"tokens": 700}, "the run may use 700 tokens"),
        ([Call("search", {}), Wait(never, "late")], {"seconds": 0.5}, "no answer within 0.5 s"),
        (turns.Priced(endless), {"usd": Decimal("1")}, "the run may cost 1 USD"),
    ]
    for steps, allowance, reason in cases:
        run = await ran(database, steps, returning(ITEMS), allowance=allowance)
        assert run.status == "budget", reason
        assert reason in run.reason
        assert run.answer is None
        assert run.usage, "what was done is kept"
        assert run.calls or "usd" in allowance


async def test_a_turn_may_use_all_that_it_has(database: store.Database):
    run = await ran(database, [Call("search", {}), "Just so."], returning(ITEMS), allowance={"iterations": 2})

    assert run.status == "answered"


@pytest.mark.parametrize("step", ["", "   \n", []])
async def test_a_model_that_says_nothing_ends_in_an_error(database: store.Database, step: Any):
    run = await ran(database, [step] * 8, returning(ITEMS))

    assert run.status == "error"
    assert run.reason


async def test_a_model_that_is_not_reached_ends_in_an_error(database: store.Database):
    from pydantic_ai.exceptions import ModelHTTPError

    run = await ran(database, [Call("search", {}), ModelHTTPError(503, "gpt", "down")], returning(ITEMS))

    assert run.status == "error"
    assert "503" in run.reason
    assert calls(run) == [("search", "data", None)]


async def test_a_model_that_times_out_by_itself_did_not_use_up_the_turn(database: store.Database):
    run = await ran(database, [TimeoutError("read timed out")])

    assert (run.status, run.reason) == ("error", "the model ended the turn: read timed out")


@pytest.mark.parametrize("fault", [RuntimeError(SECRET), ScriptFault("more than the script"), PermanentError(SECRET)])
async def test_a_fault_of_ours_is_kept_as_an_error_and_raised(database: store.Database, fault: Exception):
    with pytest.raises(type(fault)):
        await ran(database, [Call("search", {}), fault], returning(ITEMS))

    run = await turns.only(database)
    assert (run.status, run.reason) == ("error", f"the turn failed: {type(fault).__name__}")
    assert calls(run) == [("search", "data", None)]
    assert "hunter2" not in record.dumps(run)


async def test_a_cancelled_turn_is_sealed_with_what_it_did(database: store.Database):
    reached = asyncio.Event()

    async def waits() -> None:
        reached.set()
        await asyncio.Event().wait()

    asked = turns.asking(Scripted([Call("search", {}), Wait(waits, "late")]), [returning(ITEMS)])
    task = asyncio.create_task(turn.turn(asked, db=database, clock=turns.Ticking(turns.NOW)))
    await reached.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    run = await turns.only(database)
    assert (run.status, run.reason) == ("cancelled", "the turn was cancelled")
    assert calls(run) == [("search", "data", None)]
    assert run.usage


async def test_who_may_not_ask_is_refused_before_anything_is_read(database: store.Database):
    model = Scripted([])
    refused = Decision(allowed=False, reason="policy x at access/policies.yaml:3:1", refusal="You may not.")

    run = await ran(database, model, returning(ITEMS), invoke=refused, told=())

    assert (run.status, run.reason, run.calls, model.asked) == ("refused", "You may not.", (), [])
    silent = Decision(allowed=False, reason="policy x at access/policies.yaml:3:1")
    assert "policies.yaml" not in record.dumps(await ran(database, model, invoke=silent))


async def test_what_may_be_told_of_a_hidden_record_stands_below_the_answer(database: store.Database):
    told = [Told(said="Cedar Mills", type="Firm", fields={"owner": "ben@x.example", "csm_name": "Lee"})]

    run = await ran(database, ["Not found."], told=told)

    assert run.answer is not None
    assert run.answer.markdown == (
        "Not found.\n\nCedar Mills is not among what you may read here. "
        "What may be said of it: owner: ben@x.example, csm name: Lee."
    )


async def test_a_process_that_dies_in_the_middle_leaves_a_run_that_is_closed_later(database: store.Database):
    class Dead(BaseException):
        pass

    class Dying(record.Recorder):
        async def seal(self, *_: Any, **__: Any) -> record.Run:
            raise Dead

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(record, "Recorder", Dying)
        with pytest.raises(Dead):
            await ran(database, [Call("search", {}), "Never said."], returning(ITEMS))
    async with database.transaction() as tx:
        (left,) = (await record.page(tx, record.Sight(principal=turns.ANN))).runs
        assert left.status is None
        soon = turns.NOW + timedelta(minutes=5)
        assert await record.close_abandoned(tx, now=soon, silent_for=timedelta(minutes=15)) == []
        later = turns.NOW + timedelta(minutes=30)
        assert await record.close_abandoned(tx, now=later, silent_for=timedelta(minutes=15)) == [left.run_id]

    run = await turns.only(database)
    assert run.status == "error"
    assert run.reason.startswith("abandoned")
    assert calls(run) == [("search", "data", None)]


async def test_progress_names_the_tool_and_nothing_of_its_result(database: store.Database):
    said: list[events.Event] = []
    asked = turns.asking(Scripted([Call("search", {"query": "q" * 200}), "So."]), [returning({"items": [SECRET]})])

    await turn.turn(asked, db=database, clock=turns.Ticking(turns.NOW), listen=said.append)

    assert [(e.kind, e.line) for e in said] == [("tool_started", "search " + "q" * 69 + "…"), ("tool_ended", "")]
    assert said[1].data == {"call_id": "call-1", "tool": "search", "label": "data", "items": 1}


async def test_a_secret_in_a_result_is_masked_in_the_record(database: store.Database):
    run = await ran(database, [Call("search", {}), "Well."], returning({"items": [{"text": f"see {SECRET}/x"}]}))

    assert "hunter2" not in record.dumps(run)
