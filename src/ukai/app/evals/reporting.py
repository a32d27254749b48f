"""`ukai eval report`: evaluations as a table, a page with charts, JSON, JUnit, or files of other people's tools."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ukai.app import files, workspace
from ukai.app.evals import comparing, folder
from ukai.app.evals.comparing import Side
from ukai.kit.finding import Finding
from ukai.measure import alone, dimension, exporting, facts
from ukai.measure.compare import Comparison
from ukai.measure.telling import case_table, junit, page, table


@dataclass(frozen=True, kw_only=True)
class Report:
    """What one or several evaluations say."""

    sides: tuple[Side, ...]
    comparison: Comparison | None
    """The last against the first, when one dimension differs between them."""
    pool: facts.Pool
    problems: tuple[Finding, ...]
    """Why there is no comparison of several."""

    @property
    def text(self) -> str:
        """For a terminal."""
        if self.comparison is not None:
            return table.told(self.comparison)
        return "\n\n".join(case_table.told(alone.alone(side.name, side.runs)) for side in self.sides)

    @property
    def html(self) -> str:
        """One page."""
        if self.comparison is not None:
            return page.told(self.comparison, pool=self.pool)
        return page.alone([alone.alone(side.name, side.runs) for side in self.sides], self.pool)

    @property
    def junit(self) -> str:
        """Of the last evaluation."""
        return junit.told(self.sides[-1].name, self.sides[-1].runs, self.comparison)

    def exported(self, format: str) -> str:
        """Of the last evaluation, in another tool's format."""
        return exporting.FORMATS[format](self.sides[-1].evaluation, self.sides[-1].runs)

    def as_json(self) -> dict[str, Any]:
        """One document."""
        document: dict[str, Any] = {
            "evaluations": [alone.alone(side.name, side.runs).as_json() for side in self.sides],
            "pool": self.pool.as_json(),
        }
        if self.comparison is not None:
            document["comparison"] = self.comparison.as_json()
        return document | ({"findings": [f.as_json() for f in self.problems]} if self.problems else {})


def report(path: Path, names: Sequence[str]) -> Report:
    """Read, weighed and, where they can be, compared. Raises NoSuchEvaluation, BrokenEvaluation."""
    root = workspace.locate(path)
    sides = tuple(comparing.side(root, name) for name in names)
    comparison: Comparison | None = None
    problems: list[Finding] = []
    if len(sides) > 1:
        parts = (sides[0].evaluation.header.parts, sides[-1].evaluation.header.parts)
        problems = dimension.problems(dimension.changed(*parts), None)
        comparison = None if problems else comparing.held_against(sides[0], sides[-1])
    pool = facts.pooled({side.name: side.runs for side in sides})
    return Report(sides=sides, comparison=comparison, pool=pool, problems=tuple(problems))


def written(made: Report, wanted: Mapping[str, Path], *, pin: Path | None, root: Path) -> list[str]:
    """Write what was asked for (`html`, `junit`, `otel`, `inspect`), and pin the last evaluation; what was written."""
    done: list[str] = []
    for kind, to in wanted.items():
        text = made.html if kind == "html" else made.junit if kind == "junit" else made.exported(kind)
        files.write(to, text)
        done.append(str(to))
    if pin is not None:
        folder.pin(workspace.locate(root), made.sides[-1].name, pin)
        done.append(str(pin))
    return done
