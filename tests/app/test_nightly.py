"""Recall measured every night by whoever serves, held against pinned figures, told where people look (C45)."""

from __future__ import annotations

import asyncio
import errno
import json
import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.app import build, test_context
from tests.surfaces import world
from ukai import gate, jobs, store
from ukai.app import doctor, engine, golden, loading, nightly, nights, recall, telemetry
from ukai.app.nights import Night
from ukai.app.telemetry import names
from ukai.catalog.composing import Recall
from ukai.gate import domains
from ukai.gate.author import Author
from ukai.kit.clock import FixedClock

ukai = test_context.ukai
THREE = datetime(2026, 11, 30, 3, tzinfo=UTC)
DAY = timedelta(days=1)
CASES = """\
- {id: retry, agent: helper, ask: What is about a retry?, as: ann@example.com, requires: {items: ["PullRequest#api:1"]}}
- {id: other, agent: helper, ask: What is about paging?, as: ann@example.com, requires: {items: ["PullRequest#api:2"]}}
"""
PLAN = "context: {recall: {nightly: '03:00', baseline: pinned.json, set: acme}}\n"
FILES = {**world.FILES, "ukai.yaml": world.FILES["ukai.yaml"] + PLAN, "evals/nightly.yaml": CASES}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return world.written(tmp_path, FILES)


@pytest.fixture
async def opened(database: store.Database, root: Path) -> engine.Engine:
    """Two pull requests that the two cases require, and a clock that stands at three in the night."""
    await domains.upload(database, build.domain(), author=Author(kind="human", id=build.ANN), at=THREE)
    made = replace(world.opened(database, loading.load(root), root=root, clock=FixedClock(THREE)), is_local=True)
    await proposed(made, build.pull(1), build.pull(2, "$two", title="Paging"))
    return made


async def proposed(opened: engine.Engine, *ops: Any) -> None:
    author = Author(kind="human", id=build.ANN)
    done = await gate.submit(opened.db, build.delta(*ops), author=author, rights=gate.ALL, clock=opened.clock)
    assert isinstance(done, gate.Committed), done


async def pinned(opened: engine.Engine) -> None:
    recall.pin(await golden.measured(opened, budgets=recall.BUDGETS), opened.root / "pinned.json", "acme")


async def ran(opened: engine.Engine, at: datetime) -> Night | jobs.Skipped:
    """What `ukai context nightly --run` comes to at `at`."""
    return await nightly.fired(replace(opened, clock=FixedClock(at)))


def process(opened: engine.Engine, at: datetime, ends: int = 0) -> nightly.Spawn:
    """In place of the process that a server starts."""

    async def spawn(root: Path) -> int:
        if not ends:
            await ran(opened, at)
        return ends

    return spawn


async def test_a_night_is_measured_and_held_against_what_was_pinned(opened: engine.Engine):
    await pinned(opened)

    first = await ran(opened, THREE)
    again = await ran(opened, THREE + timedelta(hours=1))
    await proposed(opened, {"kind": "delete_node", "target": {"handle": "PullRequest#api:2"}})
    second = await ran(opened, THREE + DAY)

    assert isinstance(first, Night)
    assert (first.alerts, first.figures["usable"]["2500"], first.figures["cases"]) == ([], 1.0, 2)
    assert again == jobs.Skipped(reason="ran already", next=THREE + DAY)
    assert isinstance(second, Night)
    assert "acme: usable @2500 fell from 1.0000 to 0.5000" in second.alerts
    assert second.lost == ("other",)
    assert str(second).endswith("less than the night before: other")
    assert [(f["code"], f["received"]) for f in second.findings][:1] == [("item_unknown", "PullRequest#api:2")]
    assert (await golden.measured(opened, budgets=(2_500,), every=2)).figures["cases"] == 1


async def test_the_last_nights_stand_in_a_table_a_picture_and_the_metrics(opened: engine.Engine, tmp_path: Path):
    await pinned(opened)
    await ran(opened, THREE)
    await proposed(opened, {"kind": "delete_node", "target": {"handle": "PullRequest#api:2"}})
    await ran(opened, THREE + DAY)
    (opened.root / "pinned.json").unlink()
    with pytest.raises(nightly.NoBaseline):
        await ran(opened, THREE + 2 * DAY)

    found = await nights.last(opened.db, limit=14)
    nights.chart(found, tmp_path / "nights.svg")
    text = "\n".join(nights.table(found))
    await telemetry.measured(opened.db, cache=opened.cache, running=0, waiting=0, at=THREE + 2 * DAY)

    assert [line.split(" | ")[1] for line in text.splitlines()[2:5]] == ["done", "fell", "failed"]
    assert "| 2026-12-01 03:00 | fell | 0.500 |" in text
    assert "failed: there is no file 'pinned.json'" in text
    assert (tmp_path / "nights.svg").read_text().count("<polyline") == len(recall.BUDGETS)
    counts = telemetry.METRICS
    assert counts.value(names.RECALL, "acme", "usable", "2500") == 0.5
    assert counts.value(names.RECALL_FELL, "acme") == 9
    assert counts.value(names.RECALL_FAILED) == 1
    assert counts.value(names.RECALL_AT) == (THREE + DAY).timestamp()


async def test_a_server_starts_it_when_it_is_due_and_says_what_fell(
    opened: engine.Engine, caplog: pytest.LogCaptureFixture
):
    await pinned(opened)
    clock = FixedClock(THREE - timedelta(minutes=1))
    here = replace(opened, clock=clock)
    started: list[datetime] = []

    async def spawn(root: Path) -> int:
        started.append(clock.now())
        return await process(opened, clock.now())(root)

    replicas = [nightly.Watch(opened=here, spawn=spawn) for _ in range(2)]
    with caplog.at_level(logging.INFO, "ukai.app.nightly"):
        for _ in range(5):
            for replica in replicas:
                await replica.look()
            clock.advance(timedelta(minutes=1))
        await proposed(opened, {"kind": "delete_node", "target": {"handle": "PullRequest#api:2"}})
        clock.advance(DAY)
        await replicas[0].look()

    assert started == [THREE, THREE + DAY + timedelta(minutes=4)]
    assert [r.levelname for r in caplog.records] == ["INFO", "ERROR"]
    assert "usable @2500 fell" in caplog.text


async def test_a_process_that_keeps_nothing_is_not_started_for_ever(
    opened: engine.Engine, caplog: pytest.LogCaptureFixture
):
    count: list[int] = []

    async def dies(root: Path) -> int:
        count.append(1)
        return -9

    async def comes_second(root: Path) -> int:
        return 0

    watch = nightly.Watch(opened=opened, spawn=dies)
    for _ in range(2 * jobs.TRIES):
        await watch.look()
    told = len(caplog.records)
    await nightly.Watch(opened=opened, spawn=comes_second).look()

    assert len(count) == jobs.TRIES
    assert len(caplog.records) == told
    assert "its process ended with -9 and kept nothing" in caplog.text


async def test_the_process_that_a_server_starts_is_the_verb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/words\nexit 3\n')
    python.chmod(0o700)
    monkeypatch.setattr("sys.executable", str(python))

    code = await nightly.spawned(tmp_path)

    assert code == 3
    words = (tmp_path / "words").read_text().split()
    assert words == ["-m", "ukai", "context", "nightly", "--run", "--quiet", "--workspace", str(tmp_path)]


async def test_a_server_that_ends_ends_what_it_started(opened: engine.Engine):
    ended = asyncio.Event()

    async def spawn(root: Path) -> int:
        begun.set()
        try:
            return await asyncio.Event().wait()
        finally:
            ended.set()

    begun = asyncio.Event()
    async with nightly.watched(opened, spawn=spawn):
        await begun.wait()

    assert ended.is_set()
    unset = replace(opened.catalog.settings.context, recall=None)
    async with nightly.watched(replace(opened, loaded=world.as_(opened.loaded, context=unset)), spawn=spawn):
        pass


async def test_whatever_fails_the_next_look_tries_again(opened: engine.Engine, caplog: pytest.LogCaptureFixture):
    tried: list[int] = []
    third = asyncio.Event()

    async def spawn(root: Path) -> int:
        tried.append(1)
        if len(tried) < 3:
            raise OSError(errno.EAGAIN, "no process can be made")
        third.set()
        return 0

    async with asyncio.timeout(20), nightly.watched(opened, spawn=spawn, wait=lambda _: asyncio.sleep(0)):
        await third.wait()

    assert [r.levelname for r in caplog.records if r.name == "ukai.app.watching"] == ["ERROR"] * 2
    assert "no process can be made" in caplog.text


async def test_what_fails_while_a_server_ends_does_not_fail_its_end(
    opened: engine.Engine, caplog: pytest.LogCaptureFixture
):
    begun = asyncio.Event()

    async def spawn(root: Path) -> int:
        begun.set()
        try:
            return await asyncio.Event().wait()
        finally:
            raise OSError(errno.EPERM, "it may not be ended")

    async with asyncio.timeout(20), nightly.watched(opened, spawn=spawn):
        await begun.wait()

    assert "it may not be ended" in caplog.text


async def test_a_clock_that_was_ahead_once_hides_no_alert(
    opened: engine.Engine, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    await pinned(opened)
    await ran(opened, THREE + 10 * DAY)
    await proposed(opened, {"kind": "delete_node", "target": {"handle": "PullRequest#api:2"}})
    plan = opened.catalog.settings.context.recall
    assert plan is not None

    back = await ran(opened, THREE)
    tomorrow = replace(opened, clock=FixedClock(THREE + DAY))
    await nightly.Watch(opened=tomorrow, spawn=process(opened, THREE + DAY)).look()
    monkeypatch.setattr(engine, "opened", asynccontextmanager(partial(_only, tomorrow)))
    shown, _ = await nightly.shown(opened.root, last=14)

    assert isinstance(back, Night)
    assert (back.slot, back.lost) == (THREE, ())
    assert "acme: usable @2500 fell from 1.0000 to 0.5000" in back.alerts
    assert [r.levelname for r in caplog.records if r.name == "ukai.app.nightly"] == ["ERROR"]
    assert "nightly recall of 2026-12-01 03:00 UTC: @2500 0.500" in caplog.text
    assert [n.slot for n in shown] == [THREE + DAY, THREE]
    whole = await nights.last(opened.db, limit=14)
    assert nights.standing(plan, whole, now=THREE + DAY).said == str(shown[0])
    alone = nights.standing(plan, whole[:1], now=THREE + DAY)
    assert (alone.state, "2026-12-10 03:00 UTC, which is to come" in alone.said) == ("warn", True)


async def _only(opened: engine.Engine, path: Path, **_: Any) -> AsyncGenerator[engine.Engine]:
    yield opened


@pytest.mark.parametrize(
    "result",
    [{}, {"name": "acme"}, {"name": "acme", "later": 1, "figures": {"cases": 2}, "findings": [], "cases": {}}],
)
async def test_what_another_version_kept_is_shown_as_far_as_it_is_understood(
    opened: engine.Engine, tmp_path: Path, result: dict[str, Any]
):
    await pinned(opened)
    await ran(opened, THREE)
    async with opened.db.transaction() as tx:
        await tx.execute(
            "insert into firing values ('context recall', %s, 'done', 1, gen_random_uuid(), %s, %s, %s::jsonb, '')",
            (THREE + DAY, THREE + DAY, THREE + DAY, json.dumps(result)),
        )

    found = await nights.last(opened.db, limit=14)

    lines = next(nights.table(found)).splitlines()
    assert [len(line.split("|")) for line in lines] == [len(lines[0].split("|"))] * 4
    assert "| 2026-12-01 03:00 | done |  |" in lines[3]
    assert str(found[0]) == "nightly recall of 2026-12-01 03:00 UTC: no figures"
    assert found[0].as_json()["state"] == "done"
    assert nights.chart(found, tmp_path / "nights.svg")


async def test_a_scheduled_run_acts_as_whom_it_names(opened: engine.Engine):
    await pinned(opened)
    plan = opened.catalog.settings.context.recall
    assert plan is not None

    def as_(who: str) -> engine.Engine:
        context = replace(opened.catalog.settings.context, recall=replace(plan, run_as=who))
        files = world.as_(opened.loaded, context=context, local_principal=None)
        return replace(opened, loaded=files, is_local=False)

    allowed = await ran(as_("cy@example.com"), THREE)
    with pytest.raises(Exception, match=r"ben@example.com may not act as ann@example.com"):
        await ran(as_("ben@example.com"), THREE + DAY)

    assert isinstance(allowed, Night)
    assert (await nights.last(opened.db, limit=1))[0].state == "failed"


def test_the_doctor_tells_a_night_that_fell_failed_or_did_not_run():
    plan = Recall(nightly="03:00", baseline="b.json")
    figures = {"usable": {"2500": 1.0}, "end_to_end": 1.0, "cases": 2}
    fell = [{"severity": "error", "message": "it fell"}]

    def told(*found: Night, at: datetime = THREE + timedelta(hours=6)) -> tuple[str, str]:
        standing = nights.standing(plan, found, now=at)
        return standing.state, standing.said

    good = Night(slot=THREE, state="done", said="", figures=figures)

    assert told() == ("warn", "never ran; next at 2026-12-01 03:00 UTC")
    assert told(good) == ("ok", "nightly recall of 2026-11-30 03:00 UTC: @2500 1.000")
    assert told(replace(good, findings=fell))[0] == "warn"
    assert told(replace(good, state="failed", said="gone")) == (
        "fail", "nightly recall of 2026-11-30 03:00 UTC failed: gone"
    )  # fmt: skip
    assert told(good, at=THREE + DAY + timedelta(hours=3))[0] == "ok"  # still in time
    late = told(good, at=THREE + DAY + timedelta(hours=5))
    assert late == ("warn", "2026-12-01 03:00 UTC did not run; next at 2026-12-02 03:00 UTC")


def test_the_command_line_measures_shows_and_says_where_nothing_is_set(
    ukai: Any, root: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(engine, "SystemClock", lambda: FixedClock(THREE))
    ukai("schema", "upload")
    empty = ukai("context", "recall", "--set", "acme", code=1)
    nothing = ukai("context", "recall", "--only", "nope", code=1)
    ukai("propose", "-", given=json.dumps(build.delta(build.pull(1), build.pull(2, "$two", title="Paging"))))
    ukai("context", "recall", "--set", "acme", "--baseline", "pinned.json", "--pin")
    kept = (root / "pinned.json").read_bytes()
    for more in (("--pin",), ("--chart", "zeros.svg")):
        ukai("context", "recall", "--set", "acme", "--baseline", "pinned.json", "--only", "nope", *more, code=1)

    before = ukai("context", "nightly", "--chart", "none.svg")
    night = ukai("context", "nightly", "--run", "--quiet")
    again = ukai("context", "nightly", "--run")
    after = ukai("context", "nightly", "--chart", "nights.svg")
    verdicts = {v.check: v.state for v in doctor.examine(root)}
    (root / "ukai.yaml").write_text(world.FILES["ukai.yaml"])
    refused = ukai("context", "nightly", "--run", code=1)

    assert [(f["code"], "`ukai db status`" in f["hint"]) for f in empty["findings"]] == [("nothing_indexed", True)]
    assert empty["per_case"] == []
    assert [f["code"] for f in nothing["findings"]] == ["nothing_required"]
    assert (root / "pinned.json").read_bytes() == kept
    assert not any((root / name).exists() for name in ("zeros.svg", "none.svg"))
    assert before == {"nights": [], "next": "2026-12-01T03:00:00+00:00"}
    assert (night["state"], night["alerts"], night["usable"]["2500"]) == ("done", [], 1.0)
    assert again["reason"] == "ran already"
    assert after["nights"] == [night]
    assert (root / "nights.svg").exists()
    assert "nightly recall" in verdicts
    assert "Write `context: {recall:" in refused
