"""What became of the gold writes and of the broken ones, as a table: `python -m tests.gate.tau_retail.report [--all]`.

Without `--all` it breaks the writes that the test breaks: two of each shape. With it, every distinct gold write.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from tests.gate.tau_retail import shop, trial
from ukai import store
from ukai.store.embedded import Options

SHAPES = 2


def table(found: Mapping[str, trial.Tally]) -> str:
    """One row a fault, in Markdown."""
    rows = [
        "| fault | calls | stored | raw | refused, repair told | mended by the patch alone | told what to look up |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]
    for fault, t in found.items():
        unclear = len({id(one) for one, _ in t.unclear})
        mended = f"{t.mended}" if t.mended or t.unmended else "–"
        told = f"{t.told}" if t.told or t.untold else "–"
        rows.append(
            f"| {fault} | {t.calls} | {len(t.stored)} | {len(t.raw)} | {t.refused - unclear} | {mended} | {told} |"
        )
    mendable = [t for t in found.values() if t.mended or t.unmended]
    others = [t for t in found.values() if t.told or t.untold]
    total = sum(t.calls for t in found.values())
    mended, could = sum(t.mended for t in mendable), sum(t.calls for t in mendable)
    told, looked = sum(t.told for t in others), sum(t.calls for t in others)
    stored, raw = sum(len(t.stored) for t in found.values()), sum(len(t.raw) for t in found.values())
    refused = sum(t.refused for t in found.values())
    last = f"| **all** | {total} | {stored} | {raw} | {refused} | {mended} of {could} ({mended / could:.1%}) |"
    return "\n".join([*rows, f"{last} {told} of {looked} ({told / looked:.1%}) |"])


async def _report(url: str, *, every: bool) -> None:
    await store.migrate(url)
    async with store.connect(url) as db:
        await shop.load(db)
        writes = await trial.proposals(db)
        tried = writes if every else trial.of_each_shape(writes, SHAPES)
        print(f"{len(writes)} distinct gold writes that the shop as loaded allows; {len(tried)} of them broken\n")
        before = await trial.fingerprint(db)
        found = await trial.tried(db, tried)
        print(table(found))
        print(f"\nthe graph is {'as it was' if before == await trial.fingerprint(db) else 'NOT AS IT WAS'}")


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="ukai-report-") as folder:
        data_dir = Path(folder) / "postgres"
        url = store.embedded.ensure(data_dir, Options(settings={"fsync": "off", "synchronous_commit": "off"}))
        try:
            asyncio.run(_report(url, every="--all" in sys.argv))
        finally:
            store.embedded.stop(data_dir)


if __name__ == "__main__":
    main()
