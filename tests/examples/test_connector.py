"""The survey of the sample company comes in through its connector, under rights that reach one field."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.examples import sample
from tests.examples.test_gate import CLOCK, INTAKE, uploaded
from ukai import gate, store
from ukai.app import ingest
from ukai.connect import pull, report
from ukai.gate import rights
from ukai.kit.errors import PermanentError

KEYS = ("quillon", "venning", "wharram", "zennor")


@pytest.fixture
async def root(database: store.Database, database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The workspace with a few of its accounts in the store."""
    for folder in ("access", "connectors", "domains", "exports"):
        shutil.copytree(sample.WORKSPACE / folder, tmp_path / folder)
    shutil.copy(sample.WORKSPACE / "ukai.yaml", tmp_path)
    monkeypatch.setenv("UKAI_DATABASE_URL", database_url)
    await uploaded(database)
    few = [m for m in sample.company() if m["type"] == "Teammate" or m["fields"].get("key") in KEYS]
    for delta in sample.generator().deltas([m for m in few if m["type"] in ("Teammate", "Account")]):
        done = await gate.submit(database, delta, author=INTAKE, rights=rights.ALL, clock=CLOCK)
        assert isinstance(done, gate.Committed), done
    return tmp_path


async def pulled(root: Path) -> report.Report:
    async with ingest.opened(root) as intake:
        intake = ingest.Intake(**{**vars(intake), "is_local": True})  # as on one's own machine
        connector, findings = intake.connector("health-scores")
        assert connector is not None, findings
        return await pull.run(intake.bench(connector, lambda _: None), connector)


async def test_scores_become_traffic_lights(root: Path, database: store.Database):
    report = await pulled(root)

    async with database.transaction() as tx:
        stands = dict(await tx.fetch("select key, props->>'health' from node where type = 'Account'"))  # type: ignore[arg-type]
    assert stands == {"quillon": "green", "venning": "amber", "wharram": "red", "zennor": "amber"}
    assert (report.counts["read"], report.counts["written"], report.counts["nodes_updated"]) == (41, 4, 3)
    assert report.counts["refused"] == 37  # who is no customer here
    assert all("required_field" in r.codes for r in report.refused)


async def test_without_its_policy_the_survey_writes_nothing(root: Path, database: store.Database):
    policies = root / "access/policies.yaml"
    policies.write_text(policies.read_text().replace("survey-writes, allow: write", "survey-writes, deny: write"))

    with pytest.raises(PermanentError, match="service:health-scores may not write health"):
        await pulled(root)
