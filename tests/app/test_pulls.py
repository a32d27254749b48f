"""Connectors with a schedule are pulled by themselves: once, by one of many, and told when they fail (P4.7)."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.connect import test_command, world
from ukai import jobs, store
from ukai.app import doctor, ingest, loading, pulls, telemetry
from ukai.app.telemetry import names
from ukai.kit.clock import FixedClock
from ukai.surfaces import cli

root = test_command.root
NOW = datetime(2026, 11, 30, 3, 20, tzinfo=UTC)
QUARTER = timedelta(minutes=15)


@pytest.fixture
def intake(root: Path, database: store.Database) -> ingest.Intake:
    """A connector that is due every quarter of an hour, and one that names no time."""
    (root / "connectors/crm.yaml").write_text(json.dumps(world.BASE | {"schedule": "*/15 * * * *"}))
    (root / "connectors/other.yaml").write_text(json.dumps(world.BASE | {"connector": "other"}))
    return ingest.Intake(
        root=root,
        catalog=loading.whole(root).catalog,
        db=database,
        is_local=True,
        clock=FixedClock(NOW),
        environ={},
    )


async def written(intake: ingest.Intake) -> int:
    async with intake.db.transaction() as tx:
        return await tx.value("select count(*) from node where type = 'Account'")


async def test_what_is_due_is_pulled_once_and_again_at_its_next_time(intake: ingest.Intake):
    ((first,), findings) = await pulls.fired(intake)
    assert findings == []
    assert (first.connector, first.alert) == ("crm", "")
    assert str(first) == "crm: last at 2026-11-30 03:15 UTC, done; next at 2026-11-30 03:30 UTC"
    assert await written(intake) == 1

    world.write(intake.root, "id,name\n1,A\n4,D\n")
    await pulls.fired(intake)
    assert await written(intake) == 1
    later = FixedClock(NOW + QUARTER)
    await pulls.fired(replace(intake, clock=later))
    assert await written(intake) == 2
    assert await measured(intake, later.now()) == (later.now().timestamp(), 0)


async def measured(intake: ingest.Intake, at: datetime) -> tuple[float, float]:
    """What is told for alerts: when `crm` was last read whole, and how often it failed since."""
    connectors = [found for name in intake.names() if (found := intake.connector(name)[0]) is not None]
    await pulls.measured(intake.db, connectors, at=at)
    return telemetry.METRICS.value(names.PULLED_AT, "crm"), telemetry.METRICS.value(names.PULL_FAILURES, "crm")


async def test_two_that_look_at_once_pull_once(intake: ingest.Intake):
    starts: list[Sequence[str]] = []

    async def spawn(at: Path, words: Sequence[str]) -> int:
        starts.append(words)
        await pulls.fired(intake)
        return 0

    watches = [pulls.Watch(intake=intake, spawn=spawn) for _ in range(2)]
    await asyncio.gather(*(w.look() for w in watches))
    await watches[0].look()

    assert 1 <= len(starts) <= 2
    assert starts[0] == ("ingest", "--due", "--quiet")
    assert len(await jobs.latest(intake.db, "connector crm", limit=5)) == 1
    assert await written(intake) == 1


async def test_a_pull_that_was_killed_is_taken_over(intake: ingest.Intake):
    plan = pulls.schedule(ingest.Intake.connector(intake, "crm")[0].file)  # type: ignore[union-attr]

    async def killed() -> dict[str, object]:
        raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        await jobs.fire(intake.db, plan, clock=intake.clock, run=killed)
    assert (await pulls.standing(intake))[0].last.state == "running"  # type: ignore[union-attr]

    await pulls.fired(intake)

    (last,) = await jobs.latest(intake.db, plan.name, limit=5)
    assert (last.state, last.tries) == ("done", 2)


async def test_a_source_that_cannot_be_read_is_told_where_people_look(
    intake: ingest.Intake, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
):
    for file in intake.root.glob("*.csv"):
        file.unlink()

    async def spawn(at: Path, words: Sequence[str]) -> int:
        await pulls.fired(intake)
        return 1

    with caplog.at_level(logging.ERROR):
        await pulls.Watch(intake=intake, spawn=spawn).look()

    (planned,) = await pulls.standing(intake)
    assert planned.alert
    assert (await measured(intake, NOW))[1] == 1
    assert "connector crm" in caplog.text
    (verdict,) = await asyncio.to_thread(lambda: list(doctor.connectors(intake.root)))
    assert (verdict.state, planned.alert in verdict.said) == ("fail", True)
    done = await asyncio.to_thread(CliRunner().invoke, cli.app, ["ingest", "--planned", "--json"])
    assert done.exit_code == 1
    assert json.loads(done.stdout)["planned"][0]["last"]["state"] == "failed"

    world.write(intake.root, "id,name\n1,A\n")
    later = FixedClock(NOW + QUARTER)
    await pulls.fired(replace(intake, clock=later))
    assert (await measured(intake, later.now()))[1] == 0
