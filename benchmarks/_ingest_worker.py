"""One pull in a process of its own, for `ukai bench ingest`: prints how long it took and the most memory it had."""

from __future__ import annotations

import asyncio
import json
import os
import resource
import sys
import time
from pathlib import Path
from typing import Any

from ukai import gate, store
from ukai.connect import definition, pull
from ukai.connect.source import Site
from ukai.kit import document
from ukai.kit.clock import SystemClock


async def main(url: str, folder: str, connector: dict[str, Any], full: bool, profile: str = "") -> dict[str, Any]:
    doc, _ = document.read(json.dumps(connector).encode(), name=f"connectors/{connector['connector']}.yaml")
    made, findings = definition.read(doc) if doc else (None, [])
    if made is None:
        raise SystemExit("\n".join(map(str, findings)))
    async with store.connect(url, max_size=3) as db:
        bench = pull.Bench(db=db, rights=gate.ALL, clock=SystemClock(), site=Site(root=Path(folder)))
        started, cpu = time.perf_counter(), time.process_time()
        if profile:
            import cProfile

            with cProfile.Profile() as profiler:
                report = await pull.run(bench, made, full=full)
            profiler.dump_stats(profile)
        else:
            report = await pull.run(bench, made, full=full)
        seconds, cpu = time.perf_counter() - started, time.process_time() - cpu
    return {
        "seconds": seconds,
        "cpu": cpu,
        "counts": dict(report.counts),
        "findings": [str(f) for f in report.findings],
        "rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


if __name__ == "__main__":
    options = json.loads(sys.argv[1])
    print(json.dumps(asyncio.run(main(**options, profile=os.environ.get("UKAI_PROFILE", "")))))
