"""Bytes that break parsers, straight at the door: refused cleanly, never a fault (X3)."""

from __future__ import annotations

import base64
import json

import httpx
import pytest

from tests import shared
from tests.app import build

NASTIES = ("nasties", "json_parsing.jsonl")


def cases() -> list[tuple[str, str, bytes]]:
    path = shared.DATA.joinpath(*NASTIES)
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []
    return [(r["file"], r["expect"], base64.b64decode(r["b64"])) for r in rows]


async def answer_to(web: httpx.AsyncClient, raw: bytes) -> httpx.Response:
    return await web.post("/mutations", content=raw, headers={"Content-Type": "application/json"})


@shared.needs(*NASTIES)
async def test_each_is_refused_and_none_is_a_fault(web: httpx.AsyncClient):
    seen = cases()
    for name, _, raw in seen:
        answer = await answer_to(web, raw)

        assert 400 <= answer.status_code < 500, (name, answer.status_code, answer.text)
        assert answer.headers["content-type"] == "application/problem+json", name
        answer.json()
    assert len(seen) > 100


@shared.needs(*NASTIES)
async def test_as_a_value_inside_a_delta_each_that_is_no_json_is_refused(web: httpx.AsyncClient):
    head = json.dumps(build.delta(build.pull(1))).encode()
    before, after = head.split(b'"Retry"')
    for name, expect, raw in cases():
        answer = await answer_to(web, before + raw + after)

        assert answer.status_code < 500, (name, answer.text)
        if expect == "n":
            assert answer.status_code >= 400, name


@pytest.mark.parametrize(
    "value",
    ["NaN", "Infinity", "-Infinity", r'"\ud800"', r'"\u0000"', "1e99999", "1" * 5_000, '{"a": 1, "a": 2}', "\xff"],
)
@pytest.mark.parametrize("field", ["title", "cost", "number", "parent"])
async def test_values_that_cannot_be_stored_are_refused_where_they_stand(
    web: httpx.AsyncClient, field: str, value: str
):
    op = build.pull(1)
    op["set"][field] = "@"
    text = json.dumps(build.delta(op)).replace('"@"', value)

    answer = await answer_to(web, text.encode("latin-1"))

    assert 400 <= answer.status_code < 500, answer.text
    assert answer.json()["errors"][0]["hint"]


@pytest.mark.parametrize(
    "path", ["/runs?agent=%00", "/runs?after=%00", "/runs/%00", "/changes?after=%00", "/nodes/Repo%23%00/history"]
)
async def test_a_character_that_no_database_holds_is_no_fault_of_ours(web: httpx.AsyncClient, path: str):
    assert (await web.get(path)).status_code < 500


async def test_nor_is_it_in_the_name_of_what_is_explained(web: httpx.AsyncClient):
    made = await web.post("/context/compose", json={"agent": "helper", "question": "x"})

    answer = await web.post(
        f"/context/compositions/{made.json()['id']}/explain", params={"handle": "PullRequest#api:\0"}
    )

    assert (answer.status_code, answer.json()["shown"]) == (200, False)
