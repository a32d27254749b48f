"""`ukai checks`: what code can decide about saved runs, and about records from outside."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from inspect import getdoc, getmodule
from pathlib import Path
from typing import Any

from ukai import measure, record, store
from ukai.app import engine
from ukai.kit import suggest
from ukai.kit.errors import PermanentError
from ukai.kit.finding import Finding
from ukai.measure import outside, spec, tally
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
    pairs, findings = _read(records)
    scores = measure.weigh(pairs, checks)
    by_record: dict[str, list[measure.Score]] = {reading.id: [] for reading, _ in pairs}
    groups: list[measure.Score] = []
    for one in scores:
        if len(one.about) == 1 and one.about[0] in by_record:
            by_record[one.about[0]].append(one)
        else:
            groups.append(one)
    rows = [_row(reading.id, case, by_record[reading.id]) for reading, case in pairs]
    document: dict[str, Any] = {"check": names, "spec": [spec.written(check) for check in checks], "records": len(rows)}
    document |= tally.agreement([tally.Judged(flagged=row["flagged"], label=row.get("label")) for row in rows])
    document["per_record"] = [row for row in rows if row["scored"]]
    document |= {"groups": [group.as_json() for group in groups]} if groups else {}
    return document | ({"findings": [f.as_json() for f in findings]} if findings else {})


async def weighed(path: Path, names: str, wanted: Wanted, *, principal: str | None) -> dict[str, Any]:
    """The checks over saved runs that the caller may read: named ones, or those of an agent, a case or a time."""
    checks = named(names)
    pairs: list[measure.Pair] = []
    findings: list[Finding] = []
    async with engine.opened(path) as opened:
        who = opened.principal(principal)
        audit = opened.catalog.access.holds(opened.catalog.access.caller(who), "audit").allowed
        sight = record.Sight(principal=who, audit=audit)
        async with opened.db.snapshot() as tx:
            ids = list(wanted.ids) or [run async for run in _ids(tx, sight, wanted)]
            for run_id in ids:
                raw = await record.read(tx, run_id, sight)
                run, found = record.load(raw, name=run_id) if raw is not None else (None, [_unseen(run_id)])
                findings += found
                if run is not None:
                    pairs.append((measure.Reading(run), None))
    scores = measure.weigh(pairs, checks)
    return {
        "runs": len(pairs),
        "flagged": len({one.about for one in scores if one.is_flagged}),
        "scores": [one.as_json() for one in scores],
    } | ({"findings": [f.as_json() for f in findings]} if findings else {})


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


def _read(records: Path) -> tuple[list[measure.Pair], list[Finding]]:
    try:
        text = records.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise PermanentError(f"{str(records)!r} cannot be read ({error})", hint="it is a file of JSON lines") from error
    pairs: list[measure.Pair] = []
    findings: list[Finding] = []
    for weighable, found in outside.read(_lines(text), name=records.name):
        findings += found
        if weighable is not None:
            pairs.append((measure.Reading(weighable.run), weighable.case))
    return pairs, findings


def _lines(text: str) -> Iterator[str]:
    """Lines as JSON lines count them: other line breaks of Unicode stand inside texts."""
    yield from text.split("\n")


def _row(id: str, case: measure.Case | None, scores: Sequence[measure.Score]) -> dict[str, Any]:
    row: dict[str, Any] = {"id": id, "scored": bool(scores), "flagged": any(s.is_flagged for s in scores)}
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
