"""The SQL of what was composed: reports, what was put aside, what a conversation was given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from ukai.context.levels import LEVELS
from ukai.store import Transaction


@dataclass(frozen=True, kw_only=True)
class Saved:
    """One composition as it is kept."""

    id: UUID
    at: datetime
    principals: tuple[str, ...]
    """Its audience: whoever may ask about it."""
    agent: str
    skill: str
    request: str
    """Canonical JSON: what a replay needs."""
    report: str
    """Canonical JSON."""
    document: bytes
    """sha256 of the text."""
    timing: str
    """Canonical JSON: what took how long."""
    ann_recall: float | None = None


async def save(tx: Transaction, made: Saved, digest: bytes) -> None:
    """Keep a composition and its report, of which `digest` is the sha256: once for all that are told alike."""
    await tx.execute(
        f"{_SOON}, told as (insert into composition_report (sha256, body) "  # noqa: S608
        f"select %s, %s from soon on conflict do nothing) insert into composition ({_COLUMNS}) "
        f"select {_VALUES} from soon",
        (digest, made.report, *_values(made, digest)),
    )


async def save_again(tx: Transaction, made: Saved, digest: bytes) -> None:
    """The same where the report should be known: it is not sent then."""
    # The second part takes the lock that whoever forgets reports waits for.
    count = await tx.execute(
        f"{_SOON}, told as (insert into composition_report (sha256, body) "  # noqa: S608
        f"select sha256, body from composition_report where false) insert into composition ({_COLUMNS}) "
        f"select {_VALUES} from soon where exists (select 1 from composition_report where sha256 = %s)",
        (*_values(made, digest), digest),
    )
    if not count:
        await save(tx, made, digest)


# A report is derived: what a crash of the server could lose of it is worth less than waiting for the disk.
_SOON = "with soon as (select set_config('synchronous_commit', 'off', true))"
_COLUMNS = "id, at, principals, agent, skill, request, report, document, timing, ann_recall"
_VALUES = ", ".join(["%s"] * 10)


def _values(made: Saved, digest: bytes) -> tuple[Any, ...]:
    return (
        made.id,
        made.at,
        list(made.principals),
        made.agent,
        made.skill,
        made.request,
        digest,
        made.document,
        made.timing,
        made.ann_recall,
    )


async def saved(tx: Transaction, id: UUID) -> Saved | None:
    """The composition; None where there is none."""
    row = await tx.one(
        "select c.id, c.at, c.principals, c.agent, c.skill, c.request, r.body, c.document, c.timing, c.ann_recall "
        "from composition c join composition_report r on r.sha256 = c.report where c.id = %s",
        (id,),
    )
    if row is None:
        return None
    return Saved(
        id=row[0],
        at=row[1],
        principals=tuple(row[2]),
        agent=row[3],
        skill=row[4],
        request=row[5],
        report=row[6],
        document=bytes(row[7]),
        timing=row[8],
        ann_recall=row[9],
    )


async def delete_compositions(tx: Transaction, before: datetime) -> int:
    """Forget what was composed, put aside and given before then; how many compositions there were."""
    # Whoever saves a composition takes its report first: it waits here, and does not find the report gone in between.
    await tx.execute("lock table composition_report in share row exclusive mode")
    count = await tx.execute("delete from composition where at < %s", (before,))
    await tx.execute(
        "delete from composition_report r where not exists (select 1 from composition c where c.report = r.sha256)"
    )
    await tx.execute("delete from offloaded where at < %s", (before,))
    await tx.execute("delete from given where at < %s", (before,))
    return count


async def secret(tx: Transaction) -> bytes:
    """What references of this deployment are made with."""
    return bytes(await tx.value("select secret from composer"))


async def save_offloaded(
    tx: Transaction, readers: str, put_aside: Sequence[tuple[str, str, str]], at: datetime
) -> None:
    """`(ref, handle, field)` of values that were put aside for the audience `readers`."""
    for ref, handle, field in sorted(put_aside):
        await tx.execute(
            "insert into offloaded (ref, readers, handle, field, at) values (%s, %s, %s, %s, %s) "
            "on conflict (ref) do update set at = excluded.at",
            (ref, readers, handle, field, at),
        )


async def offloaded(tx: Transaction, ref: str, readers: str) -> tuple[str, str] | None:
    """`(handle, field)` of a value that was put aside for this audience; for another one there is none."""
    row = await tx.one("select handle, field from offloaded where ref = %s and readers = %s", (ref, readers))
    return None if row is None else (str(row[0]), str(row[1]))


async def given(tx: Transaction, conversation: str, readers: str) -> dict[str, tuple[str, str]]:
    """Item -> `(hash of its body, level)` of what this audience was given in the conversation."""
    found = await tx.fetch(
        "select item, body, level from given where conversation = %s and readers = %s", (conversation, readers)
    )
    return {str(r[0]): (str(r[1]), str(r[2])) for r in found}


async def save_given(
    tx: Transaction, conversation: str, readers: str, items: Mapping[str, tuple[str, str]], at: datetime
) -> None:
    """What this audience was given now. A body that they were given at a higher level before stays at that one."""
    names = sorted(items)
    await tx.execute(
        "insert into given (conversation, readers, item, body, level, at) "
        "select %s, %s, i, b, l, %s from unnest(%s::text[], %s::text[], %s::text[]) x(i, b, l) "
        "on conflict (conversation, readers, item) do update set body = excluded.body, at = excluded.at, "
        "level = case when given.body = excluded.body and array_position(%s::text[], given.level) > "
        "array_position(%s::text[], excluded.level) then given.level else excluded.level end",
        (
            conversation,
            readers,
            at,
            names,
            [items[n][0] for n in names],
            [items[n][1] for n in names],
            *([list(LEVELS)] * 2),
        ),
    )


async def ann_recall(tx: Transaction, since: datetime) -> tuple[int, float | None]:
    """How many approximate answers were checked since then, and the mean share that they had of the exact ones."""
    row = await tx.one(
        "select count(ann_recall), avg(ann_recall) from composition where at >= %s and ann_recall is not null", (since,)
    )
    assert row is not None
    return int(row[0]), None if row[1] is None else float(row[1])
