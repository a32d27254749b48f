"""What a pull tells: its report, and what it finds wrong with a source as a whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ukai.connect.proposing import Mapped
from ukai.connect.source import Row
from ukai.kit import suggest
from ukai.kit.finding import Finding, Severity, errors


@dataclass(frozen=True, kw_only=True)
class Shown:
    """A refused row, in short."""

    place: str
    key: str | None
    codes: tuple[str, ...]
    message: str


@dataclass(frozen=True, kw_only=True)
class Report:
    """What a pull came to."""

    connector: str
    counts: Mapping[str, int]
    """`read` = `written` + `unchanged` + `skipped` + `refused`; what changed in the graph beside it."""
    findings: tuple[Finding, ...] = ()
    """About the source as a whole; an error means that it was not read to its end."""
    refused: tuple[Shown, ...] = ()
    """The first of them."""
    resumed: int = 0
    """Rows that an earlier pull, which was cut off, had dealt with."""
    dry_run: bool = False

    @property
    def is_failed(self) -> bool:
        """Whether the source was not read to its end."""
        return bool(errors(self.findings))

    def as_json(self) -> dict[str, Any]:
        """`{"connector", "status", "counts", "resumed", "findings", "refused"}`; what a dry run would have `written` it
        counts as `valid`.
        """
        counts = {"valid" if self.dry_run and k == "written" else k: n for k, n in self.counts.items()}
        status = "failed" if self.is_failed else "valid" if self.dry_run else "done"
        shown = [{"place": r.place, "key": r.key, "codes": list(r.codes), "message": r.message} for r in self.refused]
        return {
            "connector": self.connector,
            "status": status,
            "counts": counts,
            "resumed": self.resumed,
            "findings": [f.as_json() for f in self.findings],
            "refused": shown,
        }


def unknown_column(row: Row, name: str) -> Finding:
    return Finding(
        code="unknown_column",
        where=row.place,
        message=f"the source has no column {name!r}",
        expected=", ".join(row.values),
        received=name,
        hint=suggest.hint_for(name, row.values),
    )


def new_columns(row: Row, names: Sequence[str], severity: Severity) -> Finding:
    return Finding(
        code="new_column",
        severity=severity,
        where=row.place,
        message=f"columns that the source did not have before: {', '.join(names)}",
        received=", ".join(names),
        hint="map them, or leave them: `mode: {columns: ..}` says what happens to them",
    )


def twice(mapped: Mapped) -> Finding:
    return Finding(
        code="duplicate_row",
        where=mapped.place,
        message=f"an earlier row of this pull says something else about {mapped.key!r}",
        expected="one row for each key",
        received=mapped.key,
        hint="correct the source, or name a `cursor` by which the newer row is known",
    )


def not_sure(where: str, why: str) -> Finding:
    return Finding(
        code="missing_not_known",
        severity="warning",
        where=f"{where}:1:1",
        message=f"nothing was deleted as missing: the pull met {why}",
        hint="look at the quarantine, then pull again",
    )
