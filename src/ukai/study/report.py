"""A report: a question that asks itself on a schedule and is delivered to the places it names (P1.6, P5.4)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal, cast
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from cronsim import CronSim, CronSimError

from ukai.kit import document, shape, suggest
from ukai.kit.finding import Finding
from ukai.runtime.agent import Budget, name_problem

_DURATION = re.compile(r"[1-9][0-9]{0,5}[smhd]\Z")
_RUN_AS = re.compile(r"(?:owner|each_recipient|service:[^\s@:/#*?]+)\Z")
_ANY_START = datetime(2026, 1, 1, tzinfo=UTC)
"""Only says whether an expression is one; when it fires is asked elsewhere."""


@dataclass(frozen=True, kw_only=True)
class Kind:
    """What an output of one type takes."""

    needs: tuple[tuple[str, ...], ...] = ()
    """Of each group one must be there."""
    takes: tuple[str, ...] = ()


OUTPUTS: Mapping[str, Kind] = {
    "slack": Kind(needs=(("channel", "to"),), takes=("thread",)),
    "email": Kind(needs=(("to",),), takes=("cc", "subject")),
    "confluence": Kind(needs=(("space", "page"),), takes=("title", "parent")),
    "notion": Kind(needs=(("page", "database"),), takes=("title",)),
    "webhook": Kind(needs=(("url",),), takes=("secret", "headers")),
    "file": Kind(needs=(("path",),), takes=("format",)),
}
"""Type of output -> its fields. All there is."""


@dataclass(frozen=True, kw_only=True)
class Output:
    """One place to deliver to."""

    type: str
    options: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Report:
    """The front matter of a report with its question."""

    __pydantic_config__ = shape.STRICT

    name: str
    cron: str
    description: str = ""
    timezone: str = "UTC"
    """An IANA zone."""
    outputs: tuple[Mapping[str, Any], ...] = ()
    run_as: str | None = None
    """`owner`, `each_recipient` or `service:<name>`. Without it the report never fires."""
    misfire: Literal["fire_once", "skip"] = "fire_once"
    """What happens to firings that were missed while nothing ran."""
    grace: str = "1h"
    """How late a missed firing may still be: `30m`, `2h`."""
    overlap: Literal["skip", "queue"] = "skip"
    """What happens when the last run is not over."""
    budget: Budget = field(default_factory=Budget)
    skip_if_empty: bool = False
    """Nothing is delivered when there is nothing to say."""
    question: str = ""

    @property
    def fires(self) -> bool:
        """A run needs an identity."""
        return self.run_as is not None

    @property
    def destinations(self) -> tuple[Output, ...]:
        """The outputs as values."""
        return tuple(
            Output(type=str(o.get("type")), options={k: v for k, v in o.items() if k != "type"}) for o in self.outputs
        )


def parse(doc: document.Document) -> tuple[Report | None, list[Finding]]:
    """The report of a file with front matter; with error findings, None comes back."""
    report, found = shape.parse(doc, Report, given={"question": doc.body})
    if report is None:
        # Outputs are looked at all the same: everything that is wrong is told at once.
        return None, [*found, *_outputs(cast("dict[str, Any]", doc.data).get("outputs"), doc)]
    found = [*found, *_outputs(list(report.outputs), doc), *_findings(report, doc)]
    return (None if any(f.severity == "error" for f in found) else report), found


def _findings(report: Report, doc: document.Document) -> Iterator[Finding]:
    if problem := name_problem(report.name):
        yield Finding(
            code="invalid_name",
            where=doc.where("/name"),
            message=problem,
            expected="lower case letters, digits and single hyphens, at most 64",
            received=report.name,
            hint="rename the file and the field together",
        )
    if problem := cron_problem(report.cron):
        yield Finding(
            code="invalid_cron",
            where=doc.where("/cron"),
            message=problem,
            expected='five fields: "minute hour day month weekday", such as "0 8 * * 1-5"',
            received=report.cron,
            hint="correct the expression, in quotes",
        )
    yield from zone_findings(report.timezone, where=doc.where("/timezone"))
    yield from _run_as(report, doc)
    if not _DURATION.match(report.grace):
        yield Finding(
            code="invalid_duration",
            where=doc.where("/grace"),
            message=f"{report.grace!r} is no length of time",
            expected="a number and s, m, h or d",
            received=report.grace,
            hint="write for example 30m",
        )
    if not report.question.strip():
        yield Finding(
            code="prose_missing",
            where=f"{doc.name}:{doc.body_line}:1",
            message="the report asks nothing",
            expected="a question below the front matter",
            hint="write the question",
        )
    if not report.outputs:
        yield Finding(
            code="report_without_output",
            severity="warning",
            where=doc.where("/outputs"),
            message="the report is delivered nowhere",
            expected="outputs: [{type: slack, channel: ..}]",
            hint=f"add an output of type {', '.join(OUTPUTS)}",
        )


def _run_as(report: Report, doc: document.Document) -> Iterator[Finding]:
    if report.run_as is None:
        yield Finding(
            code="report_without_run_as",
            severity="warning",
            where=doc.where("/name"),
            message="nobody is named whose rights the report runs with, so it never fires",
            expected="run_as: owner | each_recipient | service:<name>",
            hint="add `run_as: each_recipient`, or `service:<name>` for a service listed in access/",
        )
    elif not _RUN_AS.match(report.run_as):
        yield Finding(
            code="not_allowed",
            where=doc.where("/run_as"),
            message=f"{report.run_as!r} is not a value of run_as",
            expected="owner | each_recipient | service:<name>",
            received=report.run_as,
            hint=suggest.hint_for(report.run_as, ("owner", "each_recipient", "service:<name>")),
        )


def _outputs(outputs: object, doc: document.Document) -> Iterator[Finding]:
    for index, output in enumerate(cast("list[Any]", outputs) if isinstance(outputs, list) else []):
        if not isinstance(output, dict):
            continue  # kit.shape says so
        at = f"/outputs/{index}"
        options = cast("dict[str, Any]", output)
        kind = options.get("type")
        if not isinstance(kind, str) or kind not in OUTPUTS:
            yield Finding(
                code="not_allowed" if "type" in options else "missing_key",
                where=doc.where(f"{at}/type"),
                message=f"{kind!r} is no type of output" if "type" in options else "the output has no type",
                expected=" | ".join(OUTPUTS),
                received="" if kind is None else str(kind),
                hint=suggest.hint_for(str(kind), OUTPUTS) if "type" in options else "add `type:`",
            )
            continue
        yield from _options(kind, options, doc, at)


def _options(kind: str, options: dict[str, Any], doc: document.Document, at: str) -> Iterator[Finding]:
    known = {"type", *OUTPUTS[kind].takes, *(n for group in OUTPUTS[kind].needs for n in group)}
    for key in options.keys() - known:
        guess = suggest.suggest(key, known)
        yield Finding(
            code="unknown_key",
            severity="error" if guess else "note",
            where=doc.where_key(at + document.pointer(key)),
            message=f"an output of type {kind!r} does not use {key!r}",
            expected=", ".join(sorted(known)),
            received=key,
            hint=suggest.hint_for(key, known),
        )
    for group in OUTPUTS[kind].needs:
        if not any(options.get(name) for name in group):
            yield Finding(
                code="missing_key",
                where=doc.where(at),
                message=f"an output of type {kind!r} needs {' or '.join(map(repr, group))}",
                expected=" | ".join(group),
                hint=f"add `{group[0]}:`",
            )


def cron_problem(expression: str) -> str:
    """What is wrong with a cron expression, empty when it can fire."""
    if len(expression.split()) != 5:
        return f"a cron expression has five fields, not {len(expression.split())}"
    try:
        next(CronSim(expression, _ANY_START))
    except CronSimError as error:
        return f"not a cron expression: {str(error)[:1].lower()}{str(error)[1:]}"
    except StopIteration:
        return "the schedule never fires"
    return ""


def zone_findings(name: str, *, where: str) -> Iterator[Finding]:
    """What is wrong with `name` written as a time zone at `where`."""
    if not _is_zone(name):
        guess = suggest.suggest(name, available_timezones())
        yield Finding(
            code="unknown_timezone",
            where=where,
            message=f"no time zone is named {name!r}",
            expected="an IANA name such as Europe/Berlin",
            received=name,
            hint=f"did you mean {guess.name!r}?" if guess else "write a name of the IANA list, such as UTC",
        )


def _is_zone(name: str) -> bool:
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return False
    return True
