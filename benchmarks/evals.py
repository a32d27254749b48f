"""A bank replayed from a cassette: 200 cases, five repeats each, models and tools played, everything else real (P8.7).

The labelled questions of the sample company, some of them twice, are asked once of the model that only quotes. Their
replies become those of all repeats; then the whole bank is asked again with nothing but the cassette, and weighed.
Options: cases (200), repeats (5), accounts (14), density (0.3), side_by_side (4).
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import tempfile
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from ukai.app import company, db, engine
from ukai.app.bench import Report
from ukai.app.demo import WORKSPACE
from ukai.app.evals import comparing, running
from ukai.app.evals.running import Wanted
from ukai.kit import document


def run(options: Mapping[str, str]) -> Report:
    """Seconds to record once, to replay all, and to weigh."""
    with tempfile.TemporaryDirectory(prefix="ukai-bench-") as folder:
        root = Path(folder) / "harbor-apis"
        shutil.copytree(WORKSPACE, root, ignore=shutil.ignore_patterns(".ukai", "__pycache__"))
        try:
            return asyncio.run(_measured(root, options))
        finally:
            db.stop(root)


def _bank(root: Path, cases: int) -> None:
    """Labelled questions under ids of their own, from the beginning again when they run out."""
    doc, findings = document.read((root / "evals" / "questions.yaml").read_bytes(), name="questions.yaml")
    assert doc is not None, findings
    known = cast("list[dict[str, Any]]", doc.data)
    asked = [{**known[n % len(known)], "id": f"bench-{n}"} for n in range(cases)]
    (root / "evals" / "bench.yaml").write_text(json.dumps(asked), encoding="utf-8")


def _repeated(cassette: Path, repeats: int) -> None:
    """The replies of the first repeat become those of all."""
    lines = cassette.read_text(encoding="utf-8").splitlines()
    replies = [entry for line in lines if line and "reply" in (entry := json.loads(line))]
    with cassette.open("a", encoding="utf-8") as file:
        for rep in range(2, repeats + 1):
            file.writelines(json.dumps({**entry, "rep": rep}) + "\n" for entry in replies)


async def _measured(root: Path, options: Mapping[str, str]) -> Report:
    cases, repeats = int(options.get("cases", "200")), int(options.get("repeats", "5"))
    cassette = root / "tape.jsonl"
    _bank(root, cases)
    side = int(options.get("side_by_side", "4"))
    wanted = Wanted(name="recorded", only="bench-*", repeats=1, cassette=cassette, is_recording=True, side_by_side=side)
    async with engine.opened(root) as opened:
        size = {"accounts": int(options.get("accounts", "14")), "density": float(options.get("density", "0.3"))}
        await company.enter(opened, progress=lambda _: None, **cast("Any", size))
        planned = await running.plan(opened, wanted, principal=None)
        started = time.perf_counter()
        await running.asked(planned, wanted)
        recorded = time.perf_counter() - started
        _repeated(cassette, repeats)
        replay = replace(wanted, name="replayed", repeats=repeats, is_recording=False)
        planned = await running.plan(opened, replay, principal=None)
        started, cpu = time.perf_counter(), time.process_time()
        done, findings = await running.asked(planned, replay)
        replayed, spent = time.perf_counter() - started, time.process_time() - cpu
    started = time.perf_counter()
    comparing.side(root, "replayed")
    figures = {
        "record_s": recorded,
        "replay_s": replayed,
        "weigh_s": time.perf_counter() - started,
        "runs": float(len(done.kept)),
        "misses": float(len(findings)),
        "cpu_ms_a_run": 1e3 * spent / max(1, len(done.kept)),
        "cassette_mib": cassette.stat().st_size / (1 << 20),
        "cores": float(os.cpu_count() or 1),
    }
    return Report(figures=figures, notes=("cpu_ms_a_run is this process; the database's share is not in it",))
