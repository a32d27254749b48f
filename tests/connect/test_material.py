"""Real material of strangers through connectors of a few lines: `tests/connect/material` is the workspace."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests import shared
from tests.connect import world
from ukai import store
from ukai.app import loading
from ukai.connect import pull, report

MATERIAL = Path(__file__).parent / "material"


@pytest.fixture
async def db(database: store.Database) -> store.Database:
    await world.upload(database, (MATERIAL / "domains/material.yaml").read_bytes())
    return database


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The workspace, with the corpora beside it by a link."""
    shutil.copytree(MATERIAL, tmp_path, dirs_exist_ok=True)
    (tmp_path / "ukai.yaml").write_text("company: material\n")
    (tmp_path / "data").symlink_to(shared.DATA)
    return tmp_path


async def ingested(db: store.Database, root: Path, name: str) -> report.Report:
    known = loading.load(root).catalog
    made, findings = loading.connector(loading.connectors(known)[name], known)
    assert made is not None, findings
    return await pull.run(world.bench(db, root), made)


def test_all_connectors_are_without_a_finding(root: Path):
    loaded = loading.load(root)

    assert [str(f) for f in loaded.findings] == []
    assert len(loading.connectors(loaded.catalog)) == 5


@shared.needs("enterprise", "workbench")
async def test_a_table_of_customers_comes_in_whole(db: store.Database, root: Path):
    report = await ingested(db, root, "customers")
    again = await ingested(db, root, "customers")

    assert report.counts == {"read": 200, "written": 200, "refused": 0, "nodes_created": 200}
    assert again.counts["written"] == 0


@shared.needs("enterprise", "enterprisebench")
async def test_employees_who_name_managers_that_come_later(db: store.Database, root: Path):
    """Six addresses stand twice: the later of each two waits, and whoever reports to it, and nobody else."""
    report = await ingested(db, root, "employees")

    held = await world.held(db)
    assert report.counts["read"] == 1_260 == report.counts["written"] + len(held)
    assert {h.codes for h in held} <= {("unique_violation",), ("unknown_id",)}
    assert sum("unique_violation" in h.codes for h in held) == 6
    people = [json.loads(h.source) for h in held]
    lost = {p["emp_id"] for p in people}
    assert all(p["reports_to"] in lost for p, h in zip(people, held, strict=True) if h.codes == ("unknown_id",))
    assert report.counts["edges_created"] == 1_208 - sum(p["reports_to"] is not None for p in people)


@shared.needs("wiki", "company_handbook.jsonl")
async def test_a_wiki_in_files_with_its_sections_as_passages(db: store.Database, root: Path):
    pages = [json.loads(line) for line in (shared.DATA / "wiki/company_handbook.jsonl").read_text("utf-8").splitlines()]
    for page in pages:
        file = root / "wiki" / page["path"]
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(page["text"], "utf-8")

    report = await ingested(db, root, "wiki")
    (root / "wiki" / pages[0]["path"]).unlink()
    later = await ingested(db, root, "wiki")

    assert (report.counts["read"], report.counts["written"]) == (len(pages), len(pages))
    assert (later.counts["unchanged"], later.counts["nodes_deleted"]) == (len(pages) - 1, 1)
    stored = await world.nodes(db, "Page")
    texts = "".join(s["text"] for p in stored.values() for s in p["sections"])
    assert len(texts) > 0.9 * sum(len(p["text"]) for p in pages[1:]) - 200 * len(pages)


@shared.needs("warehouse", "spider2")
async def test_a_catalogue_of_two_thousand_tables(db: store.Database, root: Path):
    report = await ingested(db, root, "tables")

    assert report.counts["read"] == report.counts["written"] == report.counts["nodes_created"] == 2_023
    assert report.counts["edges_created"] == 159
    async with db.transaction() as tx:
        assert await tx.value("select count(distinct path) from node where path like 'warehouse/%%'", ()) == 2_023


@shared.needs("gate", "foreign_schemas", "chinook.sqlite")
async def test_the_columns_of_a_database_of_others(db: store.Database, root: Path):
    report = await ingested(db, root, "chinook")

    columns = await world.nodes(db, "Column")
    assert report.counts["refused"] == 0
    assert len(columns) == 64
    assert columns["chinook:main:Album:AlbumId"]["primary"] is True
