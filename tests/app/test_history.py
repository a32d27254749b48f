"""What was written is read back through the desk (W10, W11)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.app import build
from ukai import store
from ukai.app import desk as desks
from ukai.app import history, identity, propose
from ukai.gate import feed


async def written(desk: desks.Desk) -> dict[str, Any]:
    for delta in (
        build.delta(build.pull(1, cost="12.50")),
        build.delta(build.change(1, to_state="ready", title="Retry twice")),
    ):
        outcome = await propose.submit(desk, propose.Given(value=delta))
        assert not outcome.is_refused, outcome.text()
    return outcome.as_json()


async def test_a_record_has_its_timeline_and_its_past(database: store.Database):
    desk = await build.opened(database)
    before = datetime.now(UTC)
    last = await written(desk)

    timeline = await history.of_record(desk, "PullRequest#api:1")
    commit = await history.of_commit(desk, last["commit"])
    now = await history.as_of(desk, "PullRequest#api:1", datetime.now(UTC))

    assert [c["op"] for c in timeline["changes"]] == ["update", "create"]
    assert commit["changes"] == timeline["changes"][:1]
    assert (now["state"], now["fields"]["title"], now["version"]) == ("ready", "Retry twice", 2)
    with pytest.raises(history.NoRecord, match="there was no record"):
        await history.as_of(desk, "PullRequest#api:1", before - timedelta(days=1))
    assert "title: Retry -> Retry twice" in "\n".join(history.lines(timeline["changes"]))


async def test_pages_go_back(database: store.Database):
    desk = await build.opened(database)
    await written(desk)

    first = await history.of_record(desk, "PullRequest#api:1", limit=1)
    second = await history.of_record(desk, "PullRequest#api:1", limit=1, before=first["before"])

    assert [c["op"] for c in first["changes"] + second["changes"]] == ["update", "create"]


async def test_ben_sees_of_it_what_he_may_read(database: store.Database):
    ann = await build.opened(database)
    await written(ann)
    ben = build.desk(database, build.BEN)

    timeline = await history.of_record(ben, "PullRequest#api:1")
    page = await history.feed(ben, history.BEGINNING)
    found = await history.search(ben, "twice")

    assert {f for c in timeline["changes"] for f in c["fields"]} == {"number", "repo", "title", "state"}
    assert "12.5" not in str(timeline) + str(page)
    assert len(found["changes"]) == 1
    with pytest.raises(identity.NoRight, match=r"ben@example\.com may not see who wrote how much"):
        await history.authors(ben)


async def test_authors_are_counted_for_whoever_audits(database: store.Database):
    desk = await build.opened(database)
    await written(desk)
    await propose.submit(desk, propose.Given(value={}))

    found = await history.authors(desk)

    assert [(a["kind"], a["id"], a["commits"], a["refused"]) for a in found["authors"]] == [("human", build.ANN, 2, 1)]


async def test_the_feed_goes_on_where_it_ended_and_says_when_it_cannot(database: store.Database):
    desk = await build.opened(database)
    await written(desk)

    first = await history.feed(desk, history.BEGINNING, limit=1)
    rest = await history.feed(desk, first["cursor"])
    end = await history.feed(desk, rest["cursor"])
    await feed.forget(database, datetime.now(UTC) + timedelta(minutes=1))

    assert (first["more"], rest["more"], end["changes"]) == (True, False, [])
    assert [c["op"] for c in first["changes"] + rest["changes"]] == ["create", "update"]
    with pytest.raises(history.Gone, match="older than what is kept"):
        await history.feed(desk, first["cursor"])


@pytest.mark.parametrize("name", ["", "x", "PullRequest#", "PullRequest#no", "P#\0", "P#\ud800", "No#x"])
async def test_what_is_no_record_is_said(database: store.Database, name: str):
    desk = await build.opened(database)

    with pytest.raises(history.NoRecord):
        await history.of_record(desk, name)
    with pytest.raises(history.NoRecord):
        await history.of_commit(desk, name)


@pytest.mark.parametrize("text", ["", "yesterday", "2026-13-01", "9999-12-31T23:59:59-23:59"])
def test_what_is_no_instant_is_said(text: str):
    with pytest.raises(ValueError, match="is no instant"):
        history.instant(text)


def test_an_instant_without_an_offset_is_utc():
    assert history.instant("2026-01-31") == datetime(2026, 1, 31, tzinfo=UTC)
    assert history.instant("2026-01-31T09:00:00+02:00") == datetime(2026, 1, 31, 7, tzinfo=UTC)
