"""`ukai checks`: what code can decide about saved runs, and about records from outside."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from inspect import getdoc, getmodule
from pathlib import Path
from typing import Any

from ukai import measure, record, store
from ukai.app import context as composing
from ukai.app import engine
from ukai.app.evals import bank
from ukai.kit import suggest
from ukai.kit.errors import PermanentError
from ukai.kit.finding import Finding
from ukai.measure import batch, case, importing, spec, tally
from ukai.measure import score as figure

PAGE = 200


class UnknownCheck(PermanentError):
    """A check was named that does not exist."""

    def __init__(self, name: str) -> None:
        super().__init__(f"no check is named {name!r}", hint=suggest.hint_for(name, measure.CHECKS))


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """Which saved runs."""

    ids: Sequence[str] = ()
    agent: str | None = None
    case: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    limit: int = 1_000


def wanted(*, since: datetime | None, until: datetime | None, **rest: Any) -> Wanted:
    """An instant without a zone is meant in UTC."""
    return Wanted(since=_in_utc(since), until=_in_utc(until), **rest)


def _in_utc(at: datetime | None) -> datetime | None:
    return at.replace(tzinfo=UTC) if at is not None and at.tzinfo is None else at


def named(names: str) -> list[measure.Check]:
    """The checks of a comma-separated list; all of them for `all`. Raises UnknownCheck."""
    wanted = list(measure.CHECKS) if names == "all" else [name.strip() for name in names.split(",")]
    for name in wanted:
        if name not in measure.CHECKS:
            raise UnknownCheck(name)
    return [measure.CHECKS[name]() for name in wanted]


def listed() -> list[dict[str, Any]]:
    """Every check with its spec and its first line of documentation."""
    rows: list[dict[str, Any]] = []
    for name, kind in measure.CHECKS.items():
        check = kind()
        over = [word for word, k in (("run", measure.RunCheck), ("group", measure.GroupCheck)) if isinstance(check, k)]
        rows.append({"check": name, "over": over, "spec": spec.written(check), "decides": _summary(kind)})
    return rows


def score(names: str, records: Path) -> dict[str, Any]:
    """The document of `checks score` (design §5). Raises UnknownCheck, or PermanentError for an unreadable file.

    With several checks a record is flagged when one of them flags it.
    """
    checks = named(names)
    # Lines as JSON lines count them: other line breaks of Unicode stand inside texts.
    lines = _text(records).split("\n")
    done = batch.weighed(lines, [check.name for check in checks], name=records.name, workers=os.cpu_count() or 1)
    rows = [_row(row) for row in done.rows]
    document: dict[str, Any] = {"check": names, "spec": [spec.written(check) for check in checks], "records": len(rows)}
    scored = [row for row in rows if row["scored"]]
    document |= tally.agreement([tally.Judged(flagged=row["flagged"], label=row.get("label")) for row in scored])
    document["per_record"] = scored
    document |= {"groups": [group.as_json() for group in done.groups]} if done.groups else {}
    return document | ({"findings": [f.as_json() for f in done.findings]} if done.findings else {})


async def weighed(path: Path, names: str, wanted: Wanted, *, principal: str | None) -> dict[str, Any]:
    """The checks over saved runs that the caller may read: named ones, or those of an agent, a case or a time.

    A run that was asked for a case of the workspace is weighed by what that requires.
    """
    checks = named(names)
    lines: list[str] = []
    findings: list[Finding] = []
    async with engine.opened(path) as opened:
        who = opened.principal(principal)
        audit = opened.catalog.access.holds(opened.catalog.access.caller(who), "audit").allowed
        sight = record.Sight(principal=who, audit=audit)
        async with opened.db.snapshot() as tx:
            ids = list(wanted.ids) or [run async for run in _ids(tx, sight, wanted)]
            for run_id in ids:
                raw = await record.read(tx, run_id, sight)
                lines += [raw] if raw is not None else []
                findings += [_unseen(run_id)] if raw is None else []
        cases = {q.id: q.case for q in bank.of(opened.catalog)[0].questions}
        lines = [await _joined(opened, who, line, cases) for line in lines]
    done = batch.weighed(lines, [check.name for check in checks], name="runs", workers=os.cpu_count() or 1)
    scores = [*(score for row in done.rows for score in row.scores), *done.groups]
    findings += done.findings
    return {
        "runs": len(done.rows),
        "flagged": sum(any(score.is_flagged for score in row.scores) for row in done.rows),
        "scores": [one.as_json() for one in scores],
    } | ({"findings": [f.as_json() for f in findings]} if findings else {})


async def _joined(opened: engine.Engine, who: str, raw: str, cases: Mapping[str, case.Case]) -> str:
    """The run with what its case says, and where that requires items with what was put before the model."""
    run = json.loads(raw)
    asked = cases.get(run.get("case_id") or "")
    if asked is None:
        return raw
    shown: list[dict[str, Any]] = []
    for id in run.get("compositions", ()) if asked.required else ():
        # Forgotten, or they may not ask about it any more: a check that needs it then says that it has none.
        with suppress(composing.NoSuchComposition):
            shown.append({"id": id, **(await composing.explained(opened, id, None, principal=who))["report"]})
    return json.dumps({"run": run, **asdict(asked), "case": asked.id, "compositions": shown})


async def _ids(tx: store.Transaction, sight: record.Sight, wanted: Wanted) -> AsyncIterator[str]:
    """Newest first, within the time range; runs that still go on are left out."""
    after: str | None = None
    count = 0
    while True:
        page = await record.page(tx, sight, agent=wanted.agent, case_id=wanted.case, after=after, limit=PAGE)
        for row in page.runs:
            if wanted.since is not None and row.started_at < wanted.since:
                return
            if row.status is None or (wanted.until is not None and row.started_at >= wanted.until):
                continue
            if count >= wanted.limit:
                return
            count += 1
            yield row.run_id
        after = page.after
        if after is None:
            return


def imported(source: Path, format: str) -> tuple[list[str], list[Finding]]:
    """The runs of a file of another system as JSON lines that `score` reads. Raises PermanentError."""
    reader = importing.FORMATS.get(format)
    if reader is None:
        raise PermanentError(f"no format named {format!r}", hint=suggest.hint_for(format, importing.FORMATS))
    runs, findings = reader(_text(source))
    return [record.dumps(run) for run in runs], findings


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise PermanentError(f"{str(path)!r} cannot be read ({error})", hint="it is a text file in UTF-8") from error


def _row(weighed: batch.Row) -> dict[str, Any]:
    case, scores = weighed.case, weighed.scores
    row: dict[str, Any] = {"id": weighed.id, "scored": bool(scores), "flagged": any(s.is_flagged for s in scores)}
    if case is not None and case.label is not None:
        row["label"] = case.label
    row["flags"] = [{"check": s.check, **flag.as_json()} for s in scores for flag in s.flags]
    counts: dict[str, Any] = {}
    for one in scores:
        prefix = f"{one.check}." if len(scores) > 1 else ""
        counts |= {f"{prefix}{name}": figure.number(value) for name, value in sorted(one.counts.items())}
    unable = [f"{s.check}: {s.unable}" for s in scores if s.unable]
    return row | {"counts": counts} | ({"unable": unable} if unable else {})


def _summary(kind: type) -> str:
    return (getdoc(getmodule(kind)) or "").partition("\n")[0].partition(": ")[2]


def _unseen(run_id: str) -> Finding:
    return Finding(
        code="run_not_read",
        where=f"/runs/{run_id}",
        message=f"there is no run {run_id!r} that may be read",
        hint="`ukai run list` shows those that may be read",
    )
