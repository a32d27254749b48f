"""What HTTP gives back: types, timelines, the past, the feed, and clear words where there is nothing (W10, W11)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import httpx
import pytest

from tests.app import build
from tests.surfaces.http.conftest import client
from ukai import store
from ukai.gate import feed


async def written(web: httpx.AsyncClient) -> None:
    for ops in ([build.pull(1, cost="12.50")], [build.change(1, to_state="ready")]):
        assert (await web.post("/mutations", json=build.delta(*ops))).status_code == 200


async def test_a_type_is_described_for_whoever_asks(database: store.Database, web: httpx.AsyncClient):
    whole = (await web.get("/schema/types/PullRequest")).json()
    async with client(database, build.BEN) as ben:
        names = (await ben.get("/schema/types")).json()
        part = (await ben.get("/schema/types/PullRequest")).json()
        none = await ben.get("/schema/types/Repo")

    assert {f["key"] for f in whole["fields"]} > {"cost", "title"}
    assert names == {"types": ["PullRequest"]}
    assert [f["key"] for f in part["fields"]] == ["number", "repo", "title"]
    assert "dec(" not in str(part)
    assert (none.status_code, none.headers["content-type"]) == (404, "application/problem+json")


async def test_a_type_that_is_not_there_is_suggested(web: httpx.AsyncClient):
    answer = await web.get("/schema/types/PulRequest")

    assert answer.status_code == 404
    assert answer.json()["errors"][0]["hint"] == "did you mean 'PullRequest'?"


async def test_the_example_of_a_description_is_accepted(web: httpx.AsyncClient):
    example = (await web.get("/schema/types/PullRequest")).json()["example"]

    assert (await web.post("/mutations?dry_run=1", json=example)).status_code == 200


async def test_a_record_has_a_timeline_and_a_past(web: httpx.AsyncClient):
    await written(web)
    now = datetime.now(UTC).isoformat()

    timeline = (await web.get("/nodes/PullRequest%23api:1/history")).json()
    page = (await web.get("/nodes/PullRequest%23api:1/history?limit=1")).json()
    then = (await web.get("/nodes/PullRequest%23api:1/history", params={"as_of": now})).json()
    wrong = await web.get("/nodes/PullRequest%23api:1/history?as_of=yesterday")

    assert [c["op"] for c in timeline["changes"]] == ["update", "create"]
    assert len(page["changes"]) == 1
    assert (then["state"], then["fields"]["cost"]) == ("ready", "12.5")
    assert (wrong.status_code, wrong.json()["errors"][0]["where"]) == (422, "?as_of")


async def test_a_key_with_a_slash_in_it_is_found(web: httpx.AsyncClient):
    op = {"kind": "create_node", "ref": "$r", "node_type": "Repo", "set": {"name": "a/b c#d%"}}
    done = (await web.post("/mutations", json=build.delta(op))).json()
    handle = done["nodes"]["$r"]["handle"]

    answer = await web.get(httpx.URL("http://127.0.0.1").copy_with(raw_path=_path(handle)))

    assert answer.status_code == 200
    assert answer.json()["changes"][0]["handle"] == handle == "Repo#a%2Fb%20c%23d%25"


def _path(handle: str) -> bytes:
    from urllib.parse import quote

    return f"/nodes/{quote(handle, safe=':')}/history".encode()


async def test_the_feed_is_read_to_its_end(web: httpx.AsyncClient):
    await written(web)

    first = (await web.get("/changes?limit=1")).json()
    rest = (await web.get("/changes", params={"after": first["cursor"]})).json()

    assert [c["op"] for c in first["changes"] + rest["changes"]] == ["create", "update"]
    assert (first["more"], rest["more"]) == (True, False)


async def test_a_cursor_that_is_too_old_is_gone(database: store.Database, web: httpx.AsyncClient):
    await written(web)
    first = (await web.get("/changes?limit=1")).json()
    await feed.forget(database, datetime.now(UTC) + timedelta(minutes=1))

    for cursor in (first["cursor"], "nonsense"):
        answer = await web.get("/changes", params={"after": cursor})

        assert (answer.status_code, answer.json()["type"]) == (410, "urn:ukai:problem:gone")


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/nodes/PullRequest%23api:9/history", 404),
        ("/nodes/nothing/history", 404),
        ("/nodes/P%23%00/history", 404),
        ("/nodes/P%23%ff/history", 404),
        ("/nodes/P%23x/history?before=99999999999999999999", 422),
        ("/changes?limit=0", 422),
        ("/changes?after=%00", 410),
        ("/schema/types/%00", 404),
        ("/nowhere", 404),
    ],
)
async def test_what_is_not_there_is_a_problem_and_no_fault(web: httpx.AsyncClient, path: str, status: int):
    answer = await web.get(path)

    assert (answer.status_code, answer.headers["content-type"]) == (status, "application/problem+json")


async def test_a_method_that_is_not_there_says_which_is(web: httpx.AsyncClient):
    answer = await web.delete("/mutations")

    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")


async def test_health_is_the_database_s(web: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch):
    fine = await web.get("/healthz")

    assert fine.json() == {"ok": True}
