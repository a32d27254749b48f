"""The SQL of this room: runs and their entries. A sealed run is protected by the database itself (migration 0001)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import psycopg

from ukai.kit import canonical, document, shape
from ukai.record import draft, seal
from ukai.record.draft import Entry
from ukai.record.run import Run, Start
from ukai.store import Transaction

SEALED = "UK001"
"""The database's own word for it (migration 0001)."""
PAGE = 50
MAX_PAGE = 500
QUESTION = 200
"""Characters of a question in a list."""


@dataclass(frozen=True, kw_only=True)
class Sight:
    """Who reads: one's own runs, or with `audit` everybody's."""

    principal: str
    """Canonical."""
    audit: bool = False


@dataclass(frozen=True, kw_only=True)
class Summary:
    """A run in a list."""

    run_id: str
    agent: str
    principal: str
    surface: str
    status: str | None
    """None while it runs."""
    started_at: datetime
    ended_at: datetime | None
    case_id: str | None
    rep: int | None
    erased_at: datetime | None
    """A person was removed from it then."""
    question: str
    """Its beginning; empty where whoever asked was removed."""


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What was asked in one run, and with which skills."""

    run_id: str
    agent: str
    principal: str
    at: datetime
    question: str
    skills: tuple[str, ...]
    """The one that was named, and those that the model used."""
    calls: int


@dataclass(frozen=True, kw_only=True)
class Page:
    """Newest first."""

    runs: tuple[Summary, ...]
    after: str | None
    """Hand it in for the next page; None on the last."""


@dataclass(frozen=True, kw_only=True)
class Erased:
    """What `erase` did."""

    removed: int
    """Runs of the person: a tombstone remains."""
    masked: int
    """Runs of others that named the person: the name is masked, the run sealed anew."""


async def begin(tx: Transaction, start: Start) -> None:
    """Save what is known at the beginning. `start` comes from `Draft.start`."""
    await tx.execute(
        "insert into run (run_id, agent, principal, surface, case_id, rep, started_at, beat_at, start) "
        "values (%s, %s, %s, %s, %s, %s, %s, %s, %s)",
        (
            UUID(start.run_id),
            start.agent,
            start.principal,
            start.surface,
            start.case_id,
            start.rep,
            start.started_at,
            start.started_at,
            canonical.dumps(seal.as_json(start)),
        ),
    )


async def append(tx: Transaction, run_id: str, entries: Sequence[Entry]) -> None:
    """Save entries as they happen, in their order, and that the run is alive: all in one statement.

    Raises RunSealed when the run is sealed: the database refuses.
    """
    if not entries:
        return
    try:
        await tx.execute(
            "with kept as (insert into run_event (run_id, seq, at, kind, data) select %s, * from "
            "unnest(%s::integer[], %s::timestamptz[], %s::text[], %s::json[])) "
            "update run set beat_at = greatest(beat_at, %s) where run_id = %s",
            (
                UUID(run_id),
                [e.seq for e in entries],
                [e.at for e in entries],
                [e.kind for e in entries],
                [canonical.dumps(e.data) for e in entries],
                entries[-1].at,
                UUID(run_id),
            ),
        )
    except psycopg.Error as error:
        if error.sqlstate == SEALED:
            raise draft.RunSealed(run_id) from error
        raise


async def beat(tx: Transaction, run_id: str, at: datetime) -> None:
    """The run is alive."""
    await tx.execute("update run set beat_at = greatest(beat_at, %s) where run_id = %s", (at, UUID(run_id)))


async def finish(tx: Transaction, run: Run, text: str | None = None) -> bool:
    """Save the sealed run in place of its entries. False when it was sealed before, by its turn or as abandoned.

    `text` is its canonical JSON where it is known already.
    """
    done = await tx.execute(
        "update run set status = %s, ended_at = %s, sha256 = %s, record = %s, sealed_at = %s "
        "where run_id = %s and sealed_at is null",
        (run.status, run.ended_at, run.sha256, text or seal.dumps(run), run.ended_at, UUID(run.run_id)),
    )
    return done == 1


async def read(tx: Transaction, run_id: str, sight: Sight) -> str | None:
    """The sealed record as canonical JSON; None when there is none, it still runs or `sight` may not see it."""
    known = _uuid(run_id)
    if known is None:
        return None
    return await tx.value(
        "select record::text from run where run_id = %s and (%s or principal = %s) and record is not null",
        (known, sight.audit, sight.principal),
    )


async def page(
    tx: Transaction,
    sight: Sight,
    *,
    agent: str | None = None,
    status: str | None = None,
    case_id: str | None = None,
    after: str | None = None,
    limit: int = PAGE,
) -> Page:
    """One page of the runs that `sight` may see, newest first."""
    limit = max(1, min(limit, MAX_PAGE))
    last = _uuid(after) if after else None
    rows = await tx.fetch(
        "select run_id, agent, principal, surface, status, started_at, ended_at, case_id, rep, erased_at, "
        # PostgreSQL takes no text with NUL out of JSON.
        r"left(coalesce(replace(start::text, '\u0000', '\ufffd')::json->>'question', ''), %(question)s) from run "
        "where (%(audit)s or principal = %(principal)s) "
        "and (%(agent)s::text is null or agent = %(agent)s) and (%(status)s::text is null or status = %(status)s) "
        "and (%(case)s::text is null or case_id = %(case)s) and (%(last)s::uuid is null or run_id < %(last)s) "
        "order by run_id desc limit %(limit)s",
        {
            "audit": sight.audit,
            "principal": sight.principal,
            "agent": agent,
            "status": status,
            "case": case_id,
            "last": last,
            "limit": limit + 1,
            "question": QUESTION,
        },
    )
    runs = tuple(_summary(row) for row in rows[:limit])
    return Page(runs=runs, after=runs[-1].run_id if len(rows) > limit else None)


async def asked(tx: Transaction, sight: Sight, *, since: datetime, limit: int = 20_000) -> list[Asked]:
    """What was asked since then and came to an end, newest first; evaluations and refusals are not among it."""
    rows = await tx.fetch(
        "select run_id, agent, principal, started_at, start->>'question', record->'config'->>'skill', "
        "coalesce((select json_agg(c->>'args_canonical') from json_array_elements(record->'calls') c "
        "where c->>'tool' = 'use_skill' and c->>'label' = 'data'), '[]'), json_array_length(record->'calls') "
        "from run where record is not null and case_id is null and status not in ('refused', 'blocked') "
        "and started_at >= %s and (%s or principal = %s) order by run_id desc limit %s",
        (since, sight.audit, sight.principal, limit),
    )
    return [
        Asked(
            run_id=str(run_id),
            agent=agent,
            principal=principal,
            at=at,
            question=question,
            skills=tuple(dict.fromkeys([*([named] if named else []), *(json.loads(a).get("name", "") for a in used)])),
            calls=calls,
        )
        for run_id, agent, principal, at, question, named, used, calls in rows
    ]


async def close_abandoned(tx: Transaction, *, now: datetime, silent_for: timedelta) -> list[str]:
    """Seal runs that were silent for so long, with what they had saved: status `error`, and a reason that says so.

    Gives their ids. Two processes may do this at once: each run is closed by one of them.
    """
    found = await tx.fetch(
        "select run_id, start::text, beat_at from run where sealed_at is null and beat_at < %s "
        "order by run_id for update skip locked",
        (now - silent_for,),
    )
    for run_id, start, beat_at in found:
        run = draft.assemble(
            _start(start),
            await entries(tx, str(run_id)),
            ended_at=beat_at,
            status="error",
            reason=f"abandoned: nothing was heard of it for {int((now - beat_at).total_seconds())} s",
        )
        await finish(tx, run)
    return [str(run_id) for run_id, _, _ in found]


async def entries(tx: Transaction, run_id: str) -> list[Entry]:
    """What a run that is not sealed has saved so far."""
    rows = await tx.fetch(
        "select seq, at, kind, data::text from run_event where run_id = %s order by seq", (UUID(run_id),)
    )
    return [Entry(seq=seq, at=at, kind=kind, data=json.loads(data)) for seq, at, kind, data in rows]


async def retain(tx: Transaction, *, since: datetime, limit: int = 1_000) -> int:
    """Delete at most `limit` runs that ended before `since`, oldest first; how many. Call again until it says 0."""
    return int(await tx.value("select run_retain(%s, %s)", (since, limit)))


async def erase(tx: Transaction, person: str, *, at: datetime) -> Erased:
    """Remove a person: their runs become tombstones, and in runs of others their address is masked.

    `person` is a canonical principal. A mask is as long as what it hides, so that offsets stay true; such a run is
    sealed anew and `erased_at` says when.
    """
    removed = int(await tx.value("select run_erase(%s, %s)", (person, at)))
    naming = await tx.fetch(
        "select run_id, start::text, record::text from run "
        "where position(lower(%s) in lower(coalesce(record, start)::text)) > 0 for update",
        (person,),
    )
    await _mask_entries(tx, person)
    masked = [await _mask(tx, run_id, start, record, person, at) for run_id, start, record in naming]
    return Erased(removed=removed, masked=sum(masked))


async def _mask(tx: Transaction, run_id: UUID, start: str, record: str | None, person: str, at: datetime) -> bool:
    hidden_start = canonical.dumps(draft.hidden(json.loads(start), person))
    run, _ = seal.load(record) if record else (None, [])
    hidden_run = draft.without(run, person) if run else None
    if hidden_start == start and (run is None or hidden_run == run):
        return False  # a longer address that only holds this one
    sha256 = hidden_run.sha256 if hidden_run else None
    whole = seal.dumps(hidden_run) if hidden_run else None
    await tx.execute("select run_mask(%s, %s, %s, %s, %s)", (run_id, hidden_start, whole, sha256, at))
    return True


async def _mask_entries(tx: Transaction, person: str) -> None:
    rows = await tx.fetch(
        "select run_id, seq, data::text from run_event where position(lower(%s) in lower(data::text)) > 0", (person,)
    )
    for run_id, seq, data in rows:
        await tx.execute(
            "update run_event set data = %s where run_id = %s and seq = %s",
            (canonical.dumps(draft.hidden(json.loads(data), person)), run_id, seq),
        )


def _summary(row: tuple[Any, ...]) -> Summary:
    run_id, agent, principal, surface, status, started_at, ended_at, case_id, rep, erased_at, question = row
    return Summary(
        run_id=str(run_id),
        agent=agent,
        principal=principal,
        surface=surface,
        status=status,
        started_at=started_at,
        ended_at=ended_at,
        case_id=case_id,
        rep=rep,
        erased_at=erased_at,
        question=question,
    )


def _start(raw: str) -> Start:
    start, found = shape.parse(document.Document(name="start", data=json.loads(raw)), Start)
    if start is None:
        raise draft.BrokenEntry(found)
    return start


def _uuid(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None
