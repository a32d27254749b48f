"""Who ranks what an agent reads: what the deployment lists, paid by the turn, in its record (C25, C26, P1.1)."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from tests.app import test_ask, test_context
from tests.app.test_ask import ANN, INTAKE
from tests.llm.test_reranker import KEY, server
from tests.surfaces import world
from ukai import gate, record
from ukai.app import ask, context, doctor, engine, identity
from ukai.app.evals import answering
from ukai.catalog.composing import Composing
from ukai.context.rows import compositions
from ukai.llm import config
from ukai.llm.cassette import Cassette
from ukai.llm.scripted import Asked, Scripted, Step
from ukai.runtime.budget import Allowance, Purse, Spent
from ukai.runtime.meter import Meter

root, opened, ukai = test_ask.root, test_ask.opened, test_context.ukai
QUESTION = "Which firm waits for papers?"


async def with_firms(opened: engine.Engine, **context: Any) -> engine.Engine:
    """Fifty firms whose notes are more than a document holds, and who may rank them."""
    firms = [{"key": f"f{n}", "owner": ANN, "note": f"Firm no. {n} waits. " * 90} for n in range(50)]
    batch = {"kind": "create_nodes_batch", "node_type": "Firm", "items": [{"set": f} for f in firms]}
    delta = {"domain": "trade", "ops": [batch]}
    done = await gate.submit(opened.db, delta, author=INTAKE, rights=gate.ALL, clock=opened.clock)
    assert isinstance(done, gate.Committed), done
    return ranked_by(opened, **context)


def ranked_by(opened: engine.Engine, url: str = "http://127.0.0.1:9", **context: Any) -> engine.Engine:
    catalog = opened.loaded.catalog
    models = config.Models(
        models=dict(catalog.models.models) | {"judge": config.ModelSpec(use="openai-chat:judge")},
        rerankers={"quick": config.RerankerSpec(use="some-model", base_url=url, key="KEY")},
    )
    settings = replace(catalog.settings, context=Composing(**context))
    loaded = replace(opened.loaded, catalog=replace(catalog, models=models, settings=settings))
    return replace(opened, loaded=loaded, environ={"KEY": KEY})


def judges(asked: Asked) -> Step:
    """Keeps firms whose number ends in 7, the last one first."""
    prompt = str(asked.messages[0].parts[0].content)  # type: ignore[union-attr]
    assert asked.settings["seed"] == 42
    found = [int(n) for n, text in re.findall(r"^\[(\d+)\] .*\n(.*)", prompt, re.MULTILINE) if "7 waits" in text]
    return json.dumps(found[::-1])


async def answered(opened: engine.Engine, judge: Sequence[Step] = ()) -> tuple[record.Run, Any]:
    """A turn of the desk, and the report of what was composed for it."""
    models = {"own": Scripted(["So it is."], name="own"), "judge": Scripted(judge, name="judge")}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine.Engine, "model", lambda _, name: models[name])
        outcome = await ask.ask(opened, "desk", QUESTION, caller=identity.local(ANN))
    async with opened.db.snapshot() as tx:
        saved = await compositions.saved(tx, UUID(outcome.run.compositions[0]))
    assert saved is not None
    return outcome.run, json.loads(saved.report)


def usage(run: record.Run) -> list[tuple[str, str, int]]:
    return [(u.purpose, u.model, u.input) for u in run.usage]


async def test_a_chat_model_that_ranks_is_paid_by_the_turn_and_stands_in_its_record(opened: engine.Engine):
    here = await with_firms(opened, ranker="judge")

    run, report = await answered(here, [judges] * 3)
    plain, unranked = await answered(ranked_by(opened))

    assert run.status == "answered"
    assert [(p, m) for p, m, _ in usage(run)] == [("ranking", "judge"), ("agent", "own")]
    assert usage(run)[0][2] > 5_000
    assert [s["strategy"] for s in report["graph"][-2:]] == ["filter", "rank"]
    assert {r["section"] for r in report["ranking"]} == {f"Firm#f{n}7" for n in ("", 1, 2, 3, 4)}
    assert {d["reason"] for d in report["dropped"]} == {"judged not relevant by openai-chat:judge"}
    assert [p for p, _, _ in usage(plain)] == ["agent"]
    assert "filter" not in [s["strategy"] for s in unranked["graph"]]


async def test_a_reranker_is_asked_over_its_socket_and_its_key_is_nowhere(opened: engine.Engine):
    rows = [{"index": n, "relevance_score": n / 100} for n in range(51)]
    async with server(json.dumps({"results": rows, "usage": {"total_tokens": 41}}).encode()) as (url, asked):
        here = await with_firms(opened, ranker="quick", url=url)

        run, report = await answered(here)

    assert run.status == "answered"
    assert usage(run)[0][0::2] == ("ranking", 41)
    assert usage(run)[0][1].endswith(":some-model")
    assert asked[0][1]["query"] == QUESTION
    assert report["graph"][-1]["way"] == f"51 of 51 sections by {usage(run)[0][1]}"
    assert report["ranking"][0]["section"] != "Firm#alder"
    assert KEY not in json.dumps([record.as_json(run), report], default=str)


async def test_a_reranker_that_fails_costs_its_order_and_nothing_else(opened: engine.Engine):
    async with server(b"no", "500 Internal Server Error") as (url, _):
        here = await with_firms(opened, ranker="quick", url=url)
        run, report = await answered(here)
    keyless, without = await answered(replace(here, environ={}))
    plain, usual = await answered(ranked_by(opened))

    assert (run.status, keyless.status, plain.status) == ("answered",) * 3
    assert report["events"] == ["ranker_failed RerankerFailed"]
    assert without["events"] == ["ranker_failed MissingKey"]
    assert report["shown"] == without["shown"] == usual["shown"]
    told = "the model that was to rank failed: the scores ordered instead"
    assert f"  {told} (RerankerFailed)" in context.lines(context.shown(report, {}))
    assert told not in "\n".join(context.lines(context.shown(usual, {})))
    filtered = usual | {"events": ["filter_failed TimeoutError"] * 2}
    assert "what it was asked about (TimeoutError)" in "\n".join(context.lines(context.shown(filtered, {})))
    assert [p for p, _, _ in usage(run)] == ["agent"]


async def test_a_call_names_one_of_those_that_are_listed(opened: engine.Engine):
    here = ranked_by(opened, rankers=("judge", "quick"))

    made = await context.composed(here, "desk", QUESTION, principal=ANN, ranker="judge")
    usual = await context.composed(here, "desk", QUESTION, principal=ANN)
    with pytest.raises(context.UnknownRanker, match="Did you mean 'quick'") as close:
        await context.composed(here, "desk", QUESTION, principal=ANN, ranker="quik")
    with pytest.raises(context.UnknownRanker, match="Use one of: judge, quick, score"):
        await context.composed(here, "desk", QUESTION, principal=ANN, ranker="own")

    assert made["report"]["graph"][-1]["way"] == "not needed: everything fits"
    assert usual["report"]["graph"][-1]["strategy"] != "rank"
    assert "quik" in str(close.value)
    same = await context.replayed(here, made["id"], principal=ANN)
    gone = await context.replayed(ranked_by(opened), made["id"], principal=ANN)
    assert (same["same"], same["changed"]) == (True, [])
    assert gone["changed"] == ["the model that ranks"]


async def test_a_reranker_is_not_asked_for_more_than_the_purse_holds():
    async with server(b"") as (url, asked):
        spec = config.RerankerSpec(use="some-model", base_url=url)
        meter = Meter(purse=Purse(allowance=Allowance(iterations=1, tokens=10)))
        with pytest.raises(Spent):
            await meter.reranker(context.rankers.Reranker(spec=spec, environ={}), "ranking").score("?", ["word " * 20])

    assert (asked, meter.used, meter.purse.held) == ([], [], {})


async def test_an_evaluation_plays_what_a_reranker_said(opened: engine.Engine, tmp_path: Path):
    cassette = Cassette(path=tmp_path / "c.jsonl", is_recording=True)
    taped = answering.Tape(asking=answering.Asking(opened=opened, parts={}, cassette=cassette), rep=1)
    rows = [{"index": n, "relevance_score": n / 100} for n in range(51)]
    async with server(json.dumps({"results": rows}).encode()) as (url, asked):
        here = replace(await with_firms(opened, ranker="quick", url=url), tape=taped)
        _, first = await answered(here)
    cassette.is_recording = False
    _, again = await answered(here)

    assert len(asked) == 1
    assert (again["ranking"], again["events"]) == (first["ranking"], [])


def test_the_command_line_names_a_ranker_and_says_why_no_model_was_needed(ukai: Any, tmp_path: Path):
    with (tmp_path / "models.yaml").open("a") as models, (tmp_path / "ukai.yaml").open("a") as own:
        models.write("rerankers: {quick: {use: m, base_url: 'http://127.0.0.1:9', key: KEY}}\n")
        own.write("context: {rankers: [quick]}\n")

    made = ukai("context", "compose", "helper", QUESTION, "--ranker", "quick")
    refused = ukai("context", "compose", "helper", QUESTION, "--ranker", "quik", code=1)

    assert made["report"]["graph"][-1] == {
        "strategy": "rank", "fired": False, "candidates": 0, "timed_out": False, "capped": False,
        "way": "not needed: everything fits", "ms": 0.0,
    }  # fmt: skip
    assert "rank" in "\n".join(context.lines(made["report"]))
    assert "Did you mean 'quick'?" in refused


def test_the_doctor_says_whether_the_key_of_what_ranks_is_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    world.written(tmp_path, world.FILES)
    with (tmp_path / "models.yaml").open("a") as models, (tmp_path / "ukai.yaml").open("a") as own:
        models.write("rerankers: {quick: {use: m, base_url: 'http://127.0.0.1:9', key: QUICK_KEY}}\n")
        own.write("context: {ranker: quick, rankers: ['anthropic:m']}\n")
    monkeypatch.setenv("QUICK_KEY", " ")
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)

    found = [(v.state, v.said) for v in doctor.rankers(tmp_path)]

    assert found == [
        ("warn", "quick: QUICK_KEY is not set, so the scores order in its place"),
        ("ok", "anthropic:m: ANTHROPIC_API_KEY is set"),
    ]
