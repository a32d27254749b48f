"""Rows of a CSV file through a connector and the gate, against the same rows copied into a table that is like `node`.

Rows with one node each, and rows with a node and an edge to one of 1,000 others, each also brought in a second time
with nothing changed. Entities are nodes and edges. Memory is the greatest of the process that pulls, at 10,000 rows and
at all of them. The reference is COPY from a program that reads the same file and makes nothing of it.

Options: --rows 50000, --url (an empty database; without it a server of its own is started, with the settings that
people get).
"""

from __future__ import annotations

import asyncio
import csv
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from uuid import uuid4

from psycopg.types.json import Jsonb

from benchmarks._server import server
from ukai import store
from ukai.app.bench import Report
from ukai.gate import domains
from ukai.gate.author import Author
from ukai.graph import domain_file
from ukai.kit.clock import SystemClock
from ukai.store import migrations

DOMAIN = b"""
domain: bench
types:
  - type: Owner
    key: email
    fields: [{key: email, kind: string, required: true}]
  - type: Company
    key: number
    path: "crm/{region}/{number}"
    fields:
      - {key: number, kind: string, required: true}
      - {key: name, kind: string, required: true, max_length: 120}
      - {key: region, kind: enum, values: [emea, amer, apac]}
      - {key: employees, kind: integer, min: 0}
      - {key: arr, kind: number, places: 2}
      - {key: since, kind: date}
      - {key: summary, kind: text}
edges:
  - {edge: owned_by, from: Company, to: Owner, max_out: 1, on_delete: {from: unset, to: reject}}
"""
OWNERS = 1_000
TARGET_PER_S = 5_000
SMALL = 10_000
MAPPED = {
    "number": "row.number",
    "name": "trim(row.name)",
    "region": "lower(row.region)",
    "employees": "number(row.employees)",
    "arr": "number(row.arr)",
    "since": "date(row.since)",
    "summary": "row.summary",
}


def connector(name: str, files: str, *, edges: bool) -> dict[str, Any]:
    """A connector as its file says it."""
    owner = {"edge": "owned_by", "to": {"node_type": "Owner", "match": {"email": "lower(row.owner)"}}}
    return {
        "connector": name,
        "source": {"kind": "csv", "files": files},
        "into": {"domain": "bench", "node_type": "Company"},
        "map": {"key": "row.number", "set": {k: v for k, v in MAPPED.items() if k != "number"}},
        "provenance": {"asserted_by": "row.owner"},
        **({"edges": [owner]} if edges else {}),
    }


OWNERS_CONNECTOR = {
    "connector": "owners",
    "source": {"kind": "csv", "files": "owners.csv"},
    "into": {"domain": "bench", "node_type": "Owner"},
    "map": {"key": "row.email"},
}


def run(options: Mapping[str, str]) -> Report:
    """See the module."""
    rows = int(options.get("rows", "50000"))
    folder = Path(tempfile.mkdtemp(prefix="ukai-bench-"))
    figures: dict[str, float] = {"rows": rows}
    try:
        _write(folder, rows)
        with server(options.get("url", "")) as url:
            asyncio.run(_prepare(url))
            _pull(url, folder, OWNERS_CONNECTOR)
            ways = (("small", "small-*.csv", False), ("nodes", "nodes-*.csv", False), ("edges", "edges-*.csv", True))
            for name, files, edges in ways:
                told = _pull(url, folder, connector(name, files, edges=edges))
                entities = told["counts"]["nodes_created"] + told["counts"].get("edges_created", 0)
                figures[f"{name}_entities_per_s"] = entities / told["seconds"]
                figures[f"{name}_rows_per_s"] = told["counts"]["read"] / told["seconds"]
                figures[f"{name}_client_cpu_us_per_row"] = 1e6 * told["cpu"] / told["counts"]["read"]
                figures[f"{name}_memory_mb"] = told["rss_mb"]
            told = _pull(url, folder, connector("nodes", "nodes-*.csv", edges=False))
            assert told["counts"]["unchanged"] == rows
            figures["unchanged_rows_per_s"] = rows / told["seconds"]
            figures["copy_rows_per_s"] = rows / asyncio.run(_copied(url, folder))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    ratios = {
        "to_copy": figures["nodes_rows_per_s"] / figures["copy_rows_per_s"],
        "memory_all_to_small": figures["nodes_memory_mb"] / figures["small_memory_mb"],
    }
    notes = tuple(
        f"{name}: {figures[f'{name}_entities_per_s']:.0f} entities a second, target {TARGET_PER_S}"
        for name in ("nodes", "edges")
    )
    return Report(figures=figures, ratios=ratios, notes=notes)


def _write(folder: Path, rows: int) -> None:
    with (folder / "owners.csv").open("w", newline="") as file:
        file.write("email\n" + "".join(f"owner{n}@example.com\n" for n in range(OWNERS)))
    for name, count in (("small", min(SMALL, rows)), ("nodes", rows), ("edges", rows)):
        with (folder / f"{name}-1.csv").open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["number", "name", "region", "employees", "arr", "since", "owner", "summary"])
            for n in range(count):
                region, day = ("EMEA", "AMER", "APAC")[n % 3], f"20{n % 20 + 10}-{n % 12 + 1:02}-{n % 28 + 1:02}"
                owner, text = f"Owner{n % OWNERS}@example.com", "x" * (100 + n % 200)
                writer.writerow([f"{name}{n}", f" Company {n} ", region, n % 5000, f"{n % 99999}.50", day, owner, text])


async def _prepare(url: str) -> None:
    await asyncio.to_thread(migrations.run, url)
    domain, findings = domain_file.read(DOMAIN, name="bench.yaml")
    if domain is None:
        raise SystemExit("\n".join(map(str, findings)))
    async with store.connect(url) as db:
        author = Author(kind="human", id="bench")
        await domains.upload(db, domain, author=author, at=SystemClock().now())
        async with db.statements() as tx:
            await tx.execute("create table raw_node (like node including all)")


def _pull(url: str, folder: Path, made: dict[str, Any]) -> dict[str, Any]:
    """One pull in a process of its own, so that its memory is its own."""
    given = json.dumps({"url": url, "folder": str(folder), "connector": made, "full": False})
    command = [sys.executable, "-m", "benchmarks._ingest_worker", given]
    said = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, cwd=Path(__file__).parents[1]).stdout
    told: dict[str, Any] = json.loads(said)
    if told["findings"] or told["counts"]["refused"]:
        raise SystemExit(f"rows were refused: {told}")
    return told


async def _copied(url: str, folder: Path) -> float:
    """Seconds for COPY of the same rows into a table with the columns and indexes of `node`."""
    columns = "id, domain, type, key, path, props, provenance"
    started = time.perf_counter()
    async with store.connect(url) as db, db.transaction() as tx:
        cursor = tx.connection.cursor()
        async with cursor.copy(f"copy raw_node ({columns}) from stdin") as copy:
            with (folder / "nodes-1.csv").open(newline="") as file:
                for row in csv.DictReader(file):
                    path = f"crm/{row['region']}/{row['number']}"
                    props = Jsonb({k: row[k] for k in MAPPED})
                    await copy.write_row((uuid4(), "bench", "Company", row["number"], path, props, Jsonb({"by": "x"})))
    return time.perf_counter() - started
