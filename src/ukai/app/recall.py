"""`ukai context recall`: outside corpora through the composer's own scoring, sections, cut and rendering."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from ukai.app import files
from ukai.context import cut
from ukai.context.recall import measured, outside
from ukai.kit.errors import PermanentError
from ukai.kit.finding import Finding, errors
from ukai.llm import minilm, on_disk, tokens
from ukai.measure import at_budgets

BUDGETS = (2_500, 5_000, 10_000, 15_000)
COUNTERS = ("chars4", "o200k")
CUTS = ("passes", "prefix")
SHOWN = 5
"""Cases that are named where many lack something."""
Progress = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """How to measure."""

    budgets: Sequence[int] = BUDGETS
    counter: str = "chars4"
    cut: str = "passes"
    words_only: bool = False
    """Without vectors: nothing is embedded."""
    vectors: Path | None = None
    """Where vectors are kept; None: the user's cache folder."""
    seeds: int = measured.SEEDS
    every: int = 1
    """Only every so many-th case."""


class Case(Protocol):
    """One case that was measured."""

    @property
    def id(self) -> str: ...
    @property
    def missing(self) -> Sequence[str]: ...
    def as_json(self) -> dict[str, Any]: ...


@dataclass(frozen=True, kw_only=True)
class Report:
    """What came of it."""

    figures: dict[str, Any]
    per_case: tuple[Case, ...]
    findings: tuple[Finding, ...]

    def as_json(self) -> dict[str, Any]:
        """The document of `--json`."""
        found = {"findings": [f.as_json() for f in self.findings]} if self.findings else {}
        return {**self.figures, "per_case": [r.as_json() for r in self.per_case], **found}

    @property
    def measured(self) -> bool:
        """Whether there is any case behind the figures: without one they are zeros that look like a measurement."""
        return bool(self.per_case)

    @property
    def failed(self) -> bool:
        """Nothing could be measured, or a figure fell."""
        return bool(errors(self.findings))


def recall(corpus: Path, cases: Path, wanted: Wanted, *, progress: Progress = lambda _: None) -> Report:
    """Every case at every budget. Raises PermanentError for an unreadable file or an unknown option."""
    if wanted.counter not in COUNTERS or wanted.cut not in CUTS or not wanted.budgets or min(wanted.budgets) < 1:
        raise PermanentError(
            "the options do not fit",
            hint=f"--counter {'|'.join(COUNTERS)}, --cut {'|'.join(CUTS)}, --budgets whole numbers from 1",
        )
    read, findings = outside.read_corpus(_lines(corpus), name=corpus.name)
    asked, more = outside.read_cases(_lines(cases), name=cases.name, corpus=read)
    asked = asked[:: max(1, wanted.every)]
    if not asked:
        more.append(_nothing_asked(cases.name))
    embedder = _embedder(wanted, progress)
    rows: list[measured.Row] = []
    for row in measured.measured(
        read,
        asked,
        budgets=tuple(wanted.budgets),
        count=_count(wanted.counter),
        embed=embedder.embed if embedder else None,
        plan=replace(cut.DEFAULT, prefix=wanted.cut == "prefix"),
        seeds=wanted.seeds,
    ):
        rows.append(row)
        progress(f"cases: {len(rows)} of {len(asked)}")
    return Report(figures=at_budgets.summary(rows, wanted.budgets), per_case=tuple(rows), findings=(*findings, *more))


def against(report: Report, baseline: Path, name: str) -> tuple[Report, str]:
    """The report with what fell below the set `name` of a baseline file, and the table of differences.

    What was not measured did not fall: its report says why.
    """
    if not report.measured:
        return report, ""
    pinned, findings = at_budgets.pinned(_bytes(baseline), name=baseline.name)
    control = pinned.get(name)
    if control is None:
        told = Finding(
            code="recall_not_comparable",
            where=f"{baseline.name}:1:1",
            message=f"the baseline has no set {name!r}",
            expected=" | ".join(pinned),
            received=name,
            hint="name one of its sets with --set, or pin this one with --pin",
        )
        return replace(report, findings=(*report.findings, *findings, told)), ""
    fell = at_budgets.regressions(name, report.figures, control)
    table = at_budgets.delta_table({name: report.figures}, control)
    return replace(report, findings=(*report.findings, *findings, *fell)), table


def pin(report: Report, baseline: Path, name: str) -> None:
    """Write the figures of the set `name` into a baseline file, other sets kept; nothing where nothing was measured."""
    if not report.measured:
        return
    kept: dict[str, Any] = json.loads(_bytes(baseline)) if baseline.exists() else {"sets": {}}
    kept["sets"][name] = {k: report.figures[k] for k in ("cases", "recall", "usable", "end_to_end")}
    kept["sets"] = dict(sorted(kept["sets"].items()))
    files.write(baseline, json.dumps(kept, indent=1) + "\n")


def chart(report: Report, name: str, target: Path) -> None:
    """The figures as an SVG file; none where nothing was measured."""
    if not report.measured:
        return
    files.write(target, at_budgets.chart({name: report.figures}))


def text(report: Report, name: str) -> str:
    """The figures as a table for people, then what is to be told."""
    told = "".join(f"{f}\n" for f in report.findings)
    if not report.measured:
        return told
    return f"{at_budgets.table({name: report.figures})}{report.figures['cases']} cases{_lacking(report)}\n{told}"


def _lacking(report: Report) -> str:
    """The cases of which the largest document lacks something, each with the first thing that it lacks."""
    lacking = [f"{c.id} ({c.missing[0]}{', ..' if len(c.missing) > 1 else ''})" for c in report.per_case if c.missing]
    more = f" and {len(lacking) - SHOWN} more" if len(lacking) > SHOWN else ""
    return f", {len(lacking)} not whole: {', '.join(lacking[:SHOWN])}{more}" if lacking else ""


def _nothing_asked(name: str) -> Finding:
    return Finding(
        code="nothing_required",
        where=f"{name}:1:1",
        message="no case requires an item of the corpus: nothing was measured",
        expected="required: ids of the corpus",
        hint="write one case a line: docs/reference/recall.md",
    )


def _embedder(wanted: Wanted, progress: Progress) -> on_disk.OnDisk | None:
    if wanted.words_only:
        return None

    def told(done: int, of: int) -> None:
        progress(f"vectors: {done} of {of}")

    return on_disk.OnDisk(minilm.Lazy(), wanted.vectors or on_disk.default_folder(), progress=told)


def _count(counter: str) -> Callable[[str], float]:
    """Characters over four are not rounded piece by piece; the whole document is."""
    return (lambda text: len(text) / 4) if counter == "chars4" else tokens.counter().count


def _lines(path: Path) -> list[str]:
    # Lines as JSON lines count them: other line breaks of Unicode stand inside texts.
    return _bytes(path).decode("utf-8", "replace").split("\n")


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise PermanentError(f"{str(path)!r} cannot be read ({error.strerror})") from error
