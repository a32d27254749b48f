"""`ukai bench recall`: recall at token budgets on public retrieval sets, without any model call (context req. 43-48).

Figures that fell below the baseline are an alert: the run ends with 1.

Options: `--cases` (a folder with `<set>/items.jsonl` and cases; else they are made of the shared data by its own tool),
`--every` (1), `--sets` (all, with commas), `--vectors`, `--baseline` (a file to hold the figures against), `--pin`
(write it instead), `--table` (a file for the table), `--chart` (a file for the SVG), `--seeds` (1) of the random order
of the same scope, cut the same way, over which ours stands in the ratios.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ukai.app import files, recall
from ukai.app.bench import Report
from ukai.kit.finding import errors
from ukai.measure import at_budgets

DATA = Path(os.environ.get("UKAI_SHARED_DATA", Path(__file__).parents[2] / "shared" / "data"))
SETS = {
    "spider2": ("spider2", "cases"),
    "spider2-whole": ("spider2", "cases_unscoped"),
    "locomo": ("locomo", "cases"),
    "locomo-pooled": ("locomo", "cases_unscoped"),
    "qmsum": ("qmsum", "cases"),
    "qmsum-pooled": ("qmsum", "cases_unscoped"),
    "tau_banking": ("tau_banking", "cases"),
}
"""Name -> folder and file of cases."""
BASELINE = Path(__file__).parent / "recall-baseline.json"
NOT_HELD = "not held against the baseline: only some cases, or no baseline"


def run(options: Mapping[str, str]) -> Report:
    """Measure every set; regressions against the baseline stand in the notes."""
    wanted = options.get("sets", ",".join(SETS)).split(",")
    every, seeds = int(options.get("every", 1)), int(options.get("seeds", 1))
    vectors = Path(options["vectors"]) if "vectors" in options else None
    with cases_of(options) as folder:
        how = recall.Wanted(vectors=vectors, every=every, seeds=seeds)
        ours = {name: _measured(folder, name, how) for name in wanted}
    baseline = Path(options.get("baseline", BASELINE))
    if "pin" in options:
        for name, report in ours.items():
            recall.pin(report, baseline, name)
    figures = {name: report.figures for name, report in ours.items()}
    table = at_budgets.table(figures)
    for option, text in (("table", table), ("chart", at_budgets.chart(figures))):
        if option in options:
            files.write(Path(options[option]), text)
    notes, fell = _held_against(baseline, ours) if every == 1 else ((NOT_HELD,), ())
    shown = tuple(line for line in table.splitlines() if line)
    return Report(figures=_flat(figures), ratios=_against_chance(figures), notes=(*shown, *notes), fell=fell)


@contextmanager
def cases_of(options: Mapping[str, str]) -> Generator[Path]:
    """The folder that is named, or one made of the shared data."""
    if "cases" in options:
        yield Path(options["cases"])
        return
    tool = DATA.parent / "tools" / "recall_cases.py"
    if not tool.exists():
        raise SystemExit("the shared data and its tool are not there: set UKAI_SHARED_DATA, or name --cases")
    with tempfile.TemporaryDirectory() as scratch:
        subprocess.run([sys.executable, str(tool), str(DATA), scratch, "--no-floors"], check=True, capture_output=True)
        yield Path(scratch)


def _measured(folder: Path, name: str, wanted: recall.Wanted) -> recall.Report:
    place, cases = SETS[name]

    def told(line: str) -> None:
        if line.endswith("0") or line.startswith("vectors"):
            sys.stderr.write(f"\r\033[K{name}: {line}" if sys.stderr.isatty() else "")

    return recall.recall(folder / place / "items.jsonl", folder / place / f"{cases}.jsonl", wanted, progress=told)


def _flat(figures: Mapping[str, Mapping[str, Any]]) -> dict[str, float]:
    return {
        f"{name}.{what}@{budget}": value
        for name, row in figures.items()
        for what in ("usable", "recall")
        for budget, value in row[what].items()
    } | {f"{name}.ms_a_document": row["latency_ms"]["p50"] for name, row in figures.items()}


def _against_chance(figures: Mapping[str, Mapping[str, Any]]) -> dict[str, float]:
    """Usable over that of a random order of the same scope, cut the same way."""
    return {
        f"{name}.over_random@{budget}": round(value / row["random"]["usable"][budget], 3)
        for name, row in figures.items()
        for budget, value in row["usable"].items()
        if row["random"]["usable"][budget]
    }


def _held_against(baseline: Path, ours: Mapping[str, recall.Report]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The differences to what is pinned, a table a set, and what fell or could not be compared."""
    if not baseline.exists():
        return (NOT_HELD,), ()
    held = [recall.against(report, baseline, name) for name, report in ours.items()]
    tables = [line for _, table in held for line in table.splitlines() if line]
    return tuple(dict.fromkeys(tables)), tuple(f.message for report, _ in held for f in errors(report.findings))
