"""A question over HTTP: one document, or a stream of events; who may ask, how often, and how it ends (P4.4, P4.5)."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import Any

import httpx
import pytest

from tests import scratch
from tests.app import build
from tests.surfaces import world
from tests.surfaces.http.conftest import BASE, client
from ukai import store
from ukai.app import agents
from ukai.app.admission import Admission
from ukai.app.audit import latest
from ukai.app.pace import Pace
from ukai.llm.scripted import Call, Wait
from ukai.surfaces import http

QUESTION = {"question": "How is it?"}


def events(text: str) -> list[tuple[str, dict[str, Any]]]:
    parts = [p.split("\n") for p in text.split("\n\n") if p and not p.startswith(":")]
    return [(kind.removeprefix("event: "), json.loads(data.removeprefix("data: "))) for kind, data in parts]


async def test_an_answer_comes_with_its_run_and_its_sources(database: store.Database):
    steps = (Call("read_record", {"handle": "PullRequest#api:1"}), "It is about a retry [PullRequest#api:1/title].")
    desk = await build.opened(database)
    async with client(database, says=world.saying(*steps)) as web:
        await web.post("/mutations", json=build.delta(build.pull(1)))
        answer = await web.post("/agents/helper/ask", json=QUESTION)
        run = (await web.get(f"/runs/{answer.json()['run_id']}")).json()
        why = (await web.get(f"/runs/{answer.json()['run_id']}/why")).json()
        page = (await web.get("/runs?agent=helper")).json()

    body = answer.json()
    assert (answer.status_code, body["status"]) == (200, "answered")
    assert body["sources"] == [
        {"key": "PullRequest#api:1/title", "text": "title: Retry", "as_of": body["sources"][0]["as_of"]}
    ]
    assert (run["principal"], run["surface"], run["question"]) == (desk.standing.principal, "rest", "How is it?")
    assert [(c["tool"], c["label"]) for c in why["calls"]] == [("read_record", "data")]
    assert {c["check"] for c in why["checks"]} > {"citations", "invented_figures"}
    assert [r["run_id"] for r in page["runs"]] == [body["run_id"]]


async def test_a_stream_tells_what_is_being_done_and_the_answer_once_at_the_end(database: store.Database):
    await build.opened(database)
    steps = (Call("list_records", {"type": "Repo"}), "It is so.")
    async with client(database, says=world.saying(*steps)) as web:
        answer = await web.post("/agents/helper/ask", json=QUESTION, headers={"Accept": "text/event-stream"})

    found = events(answer.text)
    kinds = [kind for kind, _ in found]
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert kinds[0] == "started"
    assert kinds[-3:] == ["answer", "ended", "done"]
    assert [data["text"] for kind, data in found if kind == "answer"] == ["It is so."]
    assert found[-1][1]["status"] == "answered"
    assert "It is so." not in answer.text.partition("event: answer")[0]


@pytest.mark.parametrize("name", ["hidden", "nowhere"])
async def test_an_agent_that_one_may_not_ask_is_as_one_that_is_not_there(database: store.Database, name: str):
    async with client(database) as web:
        answer = await web.post(f"/agents/{name}/ask", json=QUESTION)
        listed = (await web.get("/agents")).json()

    assert (answer.status_code, answer.json()["detail"]) == (404, f"no agent is named {name!r} that you may ask here")
    assert "hidden" not in answer.json()["errors"][0]["hint"]
    assert ([a["name"] for a in listed["agents"]], "hint" in listed) == (["helper"], False)
    assert [(r.who, r.code, r.about) for r in await latest(database)] == [(build.ANN, "no_agent", name)]


async def test_whoever_may_ask_no_agent_is_told_so_and_where_the_reason_is_found(database: store.Database):
    async with client(database, "eve@example.com") as web:
        listed = (await web.get("/agents")).json()

    assert listed == {"agents": [], "hint": agents.NONE}
    assert "ukai access explain" in listed["hint"]


@pytest.mark.parametrize(
    ("body", "where"),
    [({}, "/question"), ({"question": ""}, "/question"), ({"question": "x", "agent": "y"}, "/agent"), ([], "")],
)
async def test_what_is_no_question_is_refused_with_its_place(database: store.Database, body: Any, where: str):
    async with client(database) as web:
        answer = await web.post("/agents/helper/ask", json=body)

    assert (answer.status_code, answer.json()["errors"][0]["where"]) == (422, where)


@pytest.mark.parametrize("question", ["", " \n\t\u00a0"])
async def test_a_question_that_says_nothing_is_refused_with_what_to_write(database: store.Database, question: str):
    async with client(database) as web:
        asked = await web.post("/agents/helper/ask", json={"question": question})
        composed = await web.post("/context/compose", json={"agent": "helper", "question": question})
        runs = (await web.get("/runs")).json()["runs"]

    found = [(a.status_code, a.json()["type"], a.json()["errors"]) for a in (asked, composed)]
    assert found[0] == found[1]
    assert found[0][:2] == (422, "urn:ukai:problem:nothing_asked")
    assert "write what you want to know" in found[0][2][0]["hint"]
    assert runs == []


async def test_an_agent_that_is_served_elsewhere_says_where_to_whoever_may_ask_it_there(database: store.Database):
    elsewhere = ("[cli, web, rest, mcp, openai, slack]", "[cli, web]")
    files = {**world.FILES, "agents/hidden/SKILL.md": world.FILES["agents/hidden/SKILL.md"].replace(*elsewhere)}
    loaded = world.read(world.written(scratch.folder("ukai-elsewhere-"), files))
    hints: list[str] = []
    for who in (build.BEN, build.ANN):
        here = world.here(world.opened(database, world.as_(loaded, local_principal=who)))
        async with httpx.AsyncClient(transport=httpx.ASGITransport(http.made(here)), base_url=BASE) as web:
            answer = await web.post("/agents/hidden/ask", json=QUESTION)
        assert answer.json()["detail"] == "no agent is named 'hidden' that you may ask here"
        hints.append(answer.json()["errors"][0]["hint"])

    assert hints[0].startswith("you may ask it on cli, web;")
    assert hints[1] == "use one of: helper"


async def test_somebody_elses_run_is_not_there(database: store.Database):
    async with client(database) as ann, client(database, build.BEN) as ben:
        run_id = (await ann.post("/agents/helper/ask", json=QUESTION)).json()["run_id"]
        answers = [await ben.get(f"/runs/{run_id}{more}") for more in ("", "/why")]
        theirs = (await ben.get("/runs")).json()["runs"]

    assert [a.status_code for a in answers] == [404, 404]
    assert theirs == []


async def test_whoever_asks_too_often_is_told_when_to_come_again(database: store.Database):
    now = [0.0]
    here = world.here(world.opened(database))
    app = http.made(replace(here, pace=Pace(per_minute=2, seconds=lambda: now[0])))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://127.0.0.1") as web:
        answers = [await web.post("/agents/helper/ask", json=QUESTION) for _ in range(3)]
        now[0] = 30.0
        later = await web.post("/agents/helper/ask", json=QUESTION)

    assert [a.status_code for a in answers] == [200, 200, 429]
    assert answers[2].headers["retry-after"] == "30"
    assert later.status_code == 200


async def test_a_full_server_takes_no_more_and_an_ending_one_is_not_ready(database: store.Database):
    here = replace(world.here(world.opened(database)), admission=Admission(running=1, waiting=0))
    app = http.made(here)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://127.0.0.1") as web:
        async with here.admission.turn():
            full = await web.post("/agents/helper/ask", json=QUESTION)
        ready = await web.get("/readyz")
        await here.admission.drain(within_s=1)
        ending = await web.get("/readyz")
        alive = await web.get("/healthz")

    assert (full.status_code, full.headers["retry-after"]) == (429, "5")
    assert (ready.json(), alive.status_code) == ({"ok": True, "agents": 2}, 200)
    assert (ending.status_code, ending.json()["detail"]) == (503, "the server is ending")


async def test_a_client_that_goes_away_ends_its_turn(database: store.Database):
    begun, never = asyncio.Event(), asyncio.Event()

    async def waits() -> None:
        begun.set()
        await never.wait()

    made = world.opened(database, says=world.saying(Wait(waits, then="too late")))
    async with world.served(world.here(made)) as url, httpx.AsyncClient(base_url=url) as web:
        for headers in ({}, {"Accept": "text/event-stream"}):
            begun.clear()
            asking = asyncio.create_task(web.post("/agents/helper/ask", json=QUESTION, headers=headers))
            await begun.wait()
            asking.cancel()
            statuses = await _until_all_ended(web)
            assert set(statuses) == {"cancelled"}


async def _until_all_ended(web: httpx.AsyncClient) -> list[str]:
    while True:
        runs = (await web.get("/runs")).json()["runs"]
        if all("status" in r for r in runs):
            return [r["status"] for r in runs]


async def test_a_document_is_composed_and_explains_itself_to_whoever_it_was_made_for(database: store.Database):
    await build.opened(database)
    wanted = {"agent": "helper", "question": "Which pull request is about a retry?"}
    async with client(database) as ann, client(database, build.BEN) as ben:
        await ann.post("/mutations", json=build.delta(build.pull(1)))
        made = (await ann.post("/context/compose", json=wanted)).json()
        path = f"/context/compositions/{made['id']}/explain"
        why = await ann.post(path, params={"handle": "PullRequest#api:1"})
        theirs = await ben.post(path)
        again = await ann.post(path.replace("explain", "replay"))
        theirs_again = await ben.post(path.replace("explain", "replay"))
        nothing = await ann.get("/context/offloaded/x", params={"agent": "helper"})
        hidden = await ann.post("/context/compose", json=wanted | {"agent": "hidden"})
        unlisted = await ann.post("/context/compose", json=wanted | {"ranker": "quick"})
        both = await ann.post("/context/compose", json=wanted | {"holds": made["id"], "conversation": "c"})
        short = (await ann.post("/context/compose", json=wanted | {"report": False})).json()

    assert "PullRequest#api:1" in made["text"]
    assert "entity" in made["report"]["found"]["PullRequest#api:1"]  # which follows what was written just before
    assert made["report"]["used"] <= made["report"]["budget"]
    assert {**short, "id": ""} == {
        "id": "",
        "text": made["text"],
        **{name: made["report"][name] for name in ("budget", "used", "ceiling_hit")},
    }
    assert why.json()["shown"] is True
    assert (again.json()["same"], again.json()["text"]) == (True, made["text"])
    assert (both.status_code, both.json()["errors"][0]["where"]) == (422, "/holds")
    assert {r.status_code for r in (theirs, theirs_again, nothing, hidden)} == {404}
    assert (unlisted.status_code, unlisted.json()["errors"][0]["hint"]) == (422, "Use one of: score")


async def test_what_was_written_is_taken_back_and_that_too(database: store.Database):
    await build.opened(database)
    async with client(database) as web:
        commit = (await web.post("/mutations", json=build.delta(build.pull(1)))).json()["commit"]
        tried = await web.post("/undo?dry_run=true", json={"commit": commit})
        done = await web.post("/undo", json={"commit": commit})
        gone = await web.get("/nodes/PullRequest%23api:1/history")
        again = await web.post("/undo", json={"commit": done.json()["commit"]})
        unclear = await web.post("/undo", json={"commit": commit, "run": "x"})
        lonely = await web.post("/undo", json={"author": "ann@example.com"})

    assert tried.json()["status"] == "valid"
    assert (done.status_code, again.status_code) == (200, 200)
    assert gone.json()["changes"][0]["op"] == "delete"
    assert (unclear.status_code, lonely.status_code) == (422, 422)


async def test_a_question_with_what_no_database_holds_is_asked_all_the_same(database: store.Database):
    nul = {"question": "How\0?", "conversation": "a\0b", "earlier": [{"question": "\0", "answer": "\0"}]}
    async with client(database) as web:
        answer = await web.post("/agents/helper/ask", json=nul)
        made = await web.post("/context/compose", json={"agent": "helper", "question": "\0", "conversation": "\0"})

    assert (answer.status_code, made.status_code) == (200, 200)


async def test_why_somebody_may_is_told_to_whoever_audits(database: store.Database):
    await build.opened(database)
    asked = {"principal": build.BEN, "agent": "helper", "record": "PullRequest#api:1/cost"}
    async with client(database) as ann, client(database, build.BEN) as ben:
        await ann.post("/mutations", json=build.delta(build.pull(1, cost="12.50")))
        told = (await ann.get("/access/explain", params=asked)).json()
        alone = (await ann.get("/access/explain", params=asked | {"record": "PullRequest#api:1/title"})).json()
        public = {"record": "PullRequest#api:1/title", "audience": "public"}
        among = (await ann.get("/access/explain", params=asked | public)).json()
        theirs = await ben.get("/access/explain", params=asked)
        missing = await ann.get("/access/explain", params=asked | {"record": "PullRequest#api:9"})

    assert (told["invoke"]["allowed"], told["read"]["allowed"]) == (True, False)
    assert "ben-reads" in str(told["policies"])
    assert (alone["allowed"], among["allowed"]) == (True, False)
    assert (theirs.status_code, missing.status_code) == (403, 404)
