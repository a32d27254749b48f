"""`POST /mutations`: one door more, the same gate behind it (W3, W4, W9, W11)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from tests.app import build
from tests.surfaces.http.conftest import client
from ukai import store
from ukai.app import propose

PROBLEM = "application/problem+json"


async def post(
    web: httpx.AsyncClient, *ops: build.Op, key: str = "", query: str = "", **headers: str
) -> httpx.Response:
    return await web.post(f"/mutations{query}", json=build.delta(*ops, key=key), headers=headers)


def problem(answer: httpx.Response) -> dict[str, Any]:
    body = answer.json()
    assert answer.headers["content-type"] == PROBLEM
    assert body["status"] == answer.status_code
    assert body["type"].startswith("urn:ukai:")
    return body


async def test_a_delta_is_committed_and_says_what_became_of_each_ref(web: httpx.AsyncClient):
    answer = await post(web, build.pull(42))

    assert answer.status_code == 200
    body = answer.json()
    assert (body["status"], body["replayed"]) == ("committed", False)
    assert {k: v for k, v in body["nodes"]["$pr"].items() if k != "id"} == {
        "handle": "PullRequest#api:42",
        "version": 1,
    }


async def test_a_rejection_points_at_each_place_and_says_how_to_repair_it(web: httpx.AsyncClient):
    answer = await post(web, build.pull(42, titel="x", classification="Small_Fix"))

    body = problem(answer)
    assert answer.status_code == 422
    found = {e["pointer"]: e for e in body["errors"]}
    assert set(found) == {"#/ops/0/set/titel", "#/ops/0/set/classification"}
    wrong = found["#/ops/0/set/classification"]
    assert wrong["hint"] == "set 'classification' to 'small fix'"
    assert wrong["fix_hint"]["patch"] == [{"op": "replace", "path": "/ops/0/set/classification", "value": "small fix"}]
    assert all(e["detail"] and e["hint"] for e in body["errors"])
    assert body["attempt"] == 1


async def test_a_dry_run_has_the_status_of_the_commit_and_writes_nothing(web: httpx.AsyncClient):
    fine = await post(web, build.pull(1), query="?dry_run=true")
    wrong = await post(web, build.pull(1, cost="1.234"), query="?dry_run=true")

    assert (fine.status_code, fine.json()["status"]) == (200, "valid")
    assert [c["handle"] for c in fine.json()["would_change"]] == ["PullRequest#api:1"]
    assert wrong.status_code == 422
    assert (await web.get("/nodes/PullRequest%23api:1/history")).status_code == 404


@pytest.mark.parametrize(
    ("ops", "status", "code"),
    [
        ([build.pull(2, cost="many")], 422, "type_mismatch"),
        ([build.change(9, title="x")], 404, "unknown_id"),
        ([build.pull(1)], 409, "unique_violation"),
        ([build.change(1, to_state="merged", classification="feature")], 409, "invalid_transition"),
        ([{**build.change(1, title="x"), "if_version": 7}], 409, "conflict"),
        ([{**build.change(1, title="x"), "test": {"title": "no"}}], 412, "precondition_failed"),
        ([build.pull(3, cost="10000.01")], 422, "rule_violation"),
    ],
)
async def test_the_status_is_that_of_the_code(web: httpx.AsyncClient, ops: list[build.Op], status: int, code: str):
    assert (await post(web, build.pull(1))).status_code == 200

    answer = await post(web, *ops)

    assert (answer.status_code, problem(answer)["type"]) == (status, f"urn:ukai:rejection:{code}")


@pytest.mark.parametrize("cost", ["90000000000000000.00", "9" * 40, "-9e30", 1e300])
async def test_a_value_too_large_for_a_rule_is_refused_and_no_fault(web: httpx.AsyncClient, cost: Any):
    answer = await post(web, build.pull(1, cost=cost))

    assert 400 <= answer.status_code < 500, answer.text


async def test_rights_are_those_of_the_principal(database: store.Database, web: httpx.AsyncClient):
    await post(web, build.pull(1))

    async with client(database, build.BEN) as ben:
        answer = await post(ben, build.change(1, title="mine now"))

    assert (answer.status_code, problem(answer)["type"]) == (403, "urn:ukai:rejection:forbidden_row")
    assert build.ANN not in answer.text


@pytest.mark.parametrize("spelt", ["once", '"once"', " once "])
async def test_the_key_of_the_header_makes_a_repetition_harmless(web: httpx.AsyncClient, spelt: str):
    first = await post(web, build.pull(1), **{"Idempotency-Key": "once"})
    again = await post(web, build.pull(1), **{"Idempotency-Key": spelt})
    other = await post(web, build.pull(2), **{"Idempotency-Key": "once"})

    assert (again.status_code, again.json()["commit"], again.json()["replayed"]) == (200, first.json()["commit"], True)
    assert (other.status_code, problem(other)["type"]) == (422, "urn:ukai:rejection:key_reused")


async def test_a_key_in_both_places_must_be_one(web: httpx.AsyncClient):
    same = await post(web, build.pull(1), key="a", **{"Idempotency-Key": "a"})
    differ = await post(web, build.pull(2), key="a", **{"Idempotency-Key": "b"})

    assert same.status_code == 200
    assert differ.status_code == 400
    assert problem(differ)["errors"][0]["pointer"] == "#/key"


@pytest.mark.parametrize("key", ["", '""', "x" * 256, "a\tb", "caf\u00e9"])
async def test_a_header_that_holds_no_key_is_refused(web: httpx.AsyncClient, key: str):
    answer = await web.post("/mutations", json={"ops": []}, headers={"Idempotency-Key": key.encode("latin-1")})

    assert (answer.status_code, problem(answer)["type"]) == (400, "urn:ukai:problem:invalid_key")


async def test_two_clients_with_one_key_at_once_have_one_effect(database: store.Database, web: httpx.AsyncClient):
    async with client(database) as other:
        answers = await asyncio.gather(
            *(post(c, build.pull(1), **{"Idempotency-Key": "k"}) for c in (web, other, web, other))
        )

    done = [a.json()["commit"] for a in answers if a.status_code == 200]
    assert len(set(done)) == 1
    for answer in answers:
        assert answer.status_code in (200, 409, 503)
        assert answer.status_code == 200 or answer.headers["retry-after"] == "1"
    assert len((await web.get("/changes")).json()["changes"]) == 1


@pytest.mark.parametrize(
    ("content", "media"),
    [
        (b"{}", "text/plain"),
        (b"{}", ""),
        (b"a=b", "application/x-www-form-urlencoded"),
        (b"{}", "application/json; charset=utf-16"),
        (b"{}", "application/jsonp"),
    ],
)
async def test_what_does_not_come_as_json_is_not_read(web: httpx.AsyncClient, content: bytes, media: str):
    answer = await web.post("/mutations", content=content, headers={"Content-Type": media} if media else {})

    assert answer.status_code == 415
    problem(answer)


async def test_a_compressed_body_is_not_read(web: httpx.AsyncClient):
    headers = {"Content-Type": "application/json", "Content-Encoding": "gzip"}

    answer = await web.post("/mutations", content=b"{}", headers=headers)

    assert (answer.status_code, problem(answer)["type"]) == (415, "urn:ukai:problem:unsupported_encoding")


def _padded(size: int) -> bytes:
    return b'{"ops": []}'.ljust(size)


async def test_a_body_above_the_limit_is_refused_by_its_length(web: httpx.AsyncClient):
    headers = {"Content-Type": "application/json", "Content-Length": str(propose.MAX_BYTES + 1)}

    answer = await web.post("/mutations", content=_Never(), headers=headers)

    assert (answer.status_code, problem(answer)["type"]) == (413, "urn:ukai:problem:too_large")


async def test_a_body_without_a_length_is_read_only_to_the_limit(web: httpx.AsyncClient):
    body = _Endless()

    answer = await web.post("/mutations", content=body, headers={"Content-Type": "application/json"})

    assert (answer.status_code, problem(answer)["type"]) == (413, "urn:ukai:problem:too_large")
    assert body.sent <= propose.MAX_BYTES + 2 * _Endless.PART


async def test_a_body_at_the_limit_is_read(web: httpx.AsyncClient):
    answer = await web.post(
        "/mutations", content=_padded(propose.MAX_BYTES), headers={"Content-Type": "application/json"}
    )

    assert answer.status_code != 413


class _Never(httpx.AsyncByteStream):
    async def __aiter__(self) -> AsyncIterator[bytes]:
        raise AssertionError("the body was read")
        yield b""


class _Endless(httpx.AsyncByteStream):
    PART = 64 << 10

    def __init__(self) -> None:
        self.sent = 0

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while True:
            self.sent += self.PART
            yield b" " * self.PART


async def test_the_limits_inside_have_their_codes(web: httpx.AsyncClient):
    many = await post(web, *[build.pull(n, ref=f"${n}") for n in range(1_001)])
    deep: Any = "x"
    for _ in range(40):
        deep = [deep]
    deeper = await post(web, build.pull(1, title=deep))
    long = await post(web, build.pull(1), key="k" * 300)
    shown = await post(web, *[build.pull(n, ref=f"${n}", cost="x") for n in range(200)])

    assert (many.status_code, problem(many)["errors"][0]["code"]) == (413, "too_many_ops")
    assert (deeper.status_code, problem(deeper)["errors"][0]["code"]) == (413, "too_deep")
    assert (long.status_code, problem(long)["errors"][0]["code"]) == (413, "too_large")
    assert (len(problem(shown)["errors"]), problem(shown)["more"]) == (50, 150)


async def test_a_busy_store_says_when_to_come_again(
    web: httpx.AsyncClient, database: store.Database, monkeypatch: pytest.MonkeyPatch
):
    from ukai.gate import rows

    async def busy(*_: object, **__: object) -> dict[str, Any]:
        return {"retry": "busy"}

    monkeypatch.setattr(rows, "commit", busy)
    monkeypatch.setattr(rows, "commit_judged", busy)

    answer = await post(web, build.pull(1))

    assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
    assert problem(answer)["type"] == "urn:ukai:rejection:busy"


async def test_a_database_that_is_away_is_said_without_its_address(
    web: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
):
    from ukai import gate
    from ukai.store import failures

    async def away(*_: object, **__: object) -> None:
        raise failures.DatabaseAway("cannot connect to postgresql://ukai:s3cret@db/ukai")

    monkeypatch.setattr(gate, "submit", away)

    answer = await post(web, build.pull(1))

    assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
    assert "s3cret" not in answer.text
    assert "db/ukai" not in answer.text


async def test_a_fault_says_nothing_about_itself(web: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch):
    from ukai import gate

    async def faulty(*_: object, **__: object) -> None:
        raise RuntimeError("s3cret")

    monkeypatch.setattr(gate, "submit", faulty)

    answer = await post(web, build.pull(1))

    assert answer.status_code == 500
    assert problem(answer)["type"] == "urn:ukai:problem:internal"
    assert "s3cret" not in answer.text


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example", "", "10.0.0.1"])
async def test_another_host_s_name_is_not_answered(web: httpx.AsyncClient, host: str):
    answer = await web.post("/mutations", json={"ops": []}, headers={"Host": host})

    assert (answer.status_code, problem(answer)["type"]) == (421, "urn:ukai:problem:misdirected")


@pytest.mark.parametrize("host", ["127.0.0.1:8300", "localhost", "LOCALHOST:1", "[::1]:8300", "127.0.0.2"])
async def test_this_machine_s_names_are(web: httpx.AsyncClient, host: str):
    assert (await web.get("/healthz", headers={"Host": host})).json() == {"ok": True}
