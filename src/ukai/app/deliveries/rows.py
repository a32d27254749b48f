"""The SQL of deliveries and feedback (migration 0010)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from ukai.app.deliveries.value import Delivery, Part, Question, State
from ukai.store import Transaction

_COLUMNS = (
    "event_id, team, channel, ts, thread, slack_user, question, is_direct, agent, state, principal, outcome, run_id, "
    "parts, is_private, posted, attempts"
)


async def receive(
    tx: Transaction, question: Question, agent: str, *, holder: UUID, at: datetime, until: datetime
) -> bool:
    """Save a question for the process `holder`; False when it came before."""
    return (
        await tx.execute(
            "insert into delivery (id, event_id, agent, team, channel, thread, ts, is_direct, slack_user, question, "
            "holder, held_until, created_at, updated_at, attempts) "
            "values (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, 1) on conflict (id) do nothing",
            (
                question.id,
                question.event_id,
                agent,
                question.team,
                question.channel,
                question.thread,
                question.ts,
                question.is_direct,
                question.user,
                question.text,
                holder,
                until,
                at,
                at,
            ),
        )
        == 1
    )


async def read(tx: Transaction, id: str) -> Delivery | None:
    """One delivery as it is."""
    row = await tx.one(f"select {_COLUMNS} from delivery where id = %s", (id,))  # noqa: S608
    return None if row is None else _delivery(row)


async def take(
    tx: Transaction, agents: list[str], *, holder: UUID, at: datetime, until: datetime, limit: int
) -> list[Delivery]:
    """Deliveries that nobody carries any more, now carried by `holder`."""
    rows = await tx.fetch(
        "update delivery set holder = %s, held_until = %s, attempts = attempts + 1 where id in ("  # noqa: S608
        "select id from delivery where state <> 'done' and held_until < %s and agent = any(%s) "
        f"order by held_until limit %s for update skip locked) returning {_COLUMNS}",
        (holder, until, at, agents, limit),
    )
    return [_delivery(row) for row in rows]


async def keep(tx: Transaction, id: str, *, holder: UUID, until: datetime) -> bool:
    """The holder still carries it; False when another one took it."""
    return (
        await tx.execute("update delivery set held_until = %s where id = %s and holder = %s", (until, id, holder)) == 1
    )


async def release(tx: Transaction, id: str, *, holder: UUID, at: datetime, attempts: int) -> None:
    """Whoever comes next may take it after `at`."""
    await tx.execute(
        "update delivery set holder = null, held_until = %s, attempts = %s "
        "where id = %s and holder = %s and state <> 'done'",
        (at, attempts, id, holder),
    )


async def move(
    tx: Transaction,
    id: str,
    state: State,
    *,
    holder: UUID,
    at: datetime,
    principal: str | None = None,
    outcome: str | None = None,
    run_id: str | None = None,
    parts: list[Part] | None = None,
    is_private: bool | None = None,
) -> bool:
    """On to `state`, with what is known now; False when another process carries it, or it is done."""
    return (
        await tx.execute(
            "update delivery set state = %s, updated_at = %s, principal = coalesce(%s, principal), "
            "outcome = coalesce(%s, outcome), run_id = coalesce(%s, run_id), parts = coalesce(%s::jsonb, parts), "
            "is_private = coalesce(%s, is_private) where id = %s and holder = %s and state <> 'done'",
            (
                state,
                at,
                principal,
                outcome,
                None if run_id is None else UUID(run_id),
                None if parts is None else json.dumps(parts, ensure_ascii=False),
                is_private,
                id,
                holder,
            ),
        )
        == 1
    )


async def mark(tx: Transaction, id: str, posted: Mapping[int, str], *, at: datetime) -> None:
    """Parts that are there, with the `ts` of their messages."""
    said = json.dumps({str(number): ts for number, ts in posted.items()})
    await tx.execute("update delivery set posted = posted || %s::jsonb, updated_at = %s where id = %s", (said, at, id))


async def finish(tx: Transaction, id: str, *, holder: UUID, at: datetime) -> bool:
    """Done: the texts go, the run keeps them."""
    return (
        await tx.execute(
            "update delivery set state = 'done', updated_at = %s, question = '', parts = '[]' "
            "where id = %s and holder = %s",
            (at, id, holder),
        )
        == 1
    )


async def answered(tx: Transaction, question: Question, *, limit: int) -> list[str]:
    """The runs whose answers stand in the thread of a question, before it, oldest first."""
    found = await tx.fetch(
        "select run_id from delivery where team = %s and channel = %s and thread = %s and ts < %s "
        "and outcome = 'answered' and not is_private and posted <> '{}' and run_id is not null "
        "order by ts desc limit %s",
        (question.team, question.channel, question.thread, question.ts, limit),
    )
    return [str(run_id) for (run_id,) in reversed(found)]


async def rate(tx: Transaction, run_id: str, principal: str, *, surface: str, value: str, at: datetime) -> None:
    """What somebody thinks of an answer; the last word counts."""
    await tx.execute(
        "insert into feedback (run_id, principal, surface, value, at) values (%s, %s, %s, %s, %s) "
        "on conflict (run_id, principal) do update set value = excluded.value, at = excluded.at "
        "where feedback.at < excluded.at",
        (UUID(run_id), principal, surface, value, at),
    )


async def ratings(tx: Transaction, run_id: str) -> list[tuple[str, str]]:
    """Who thinks what of a run's answer."""
    return await tx.fetch("select principal, value from feedback where run_id = %s order by at", (UUID(run_id),))


def _delivery(row: tuple[Any, ...]) -> Delivery:
    event_id, team, channel, ts, thread, user, text, is_direct, agent, state, principal, outcome, run_id = row[:13]
    parts, is_private, posted, attempts = row[13:]
    return Delivery(
        question=Question(
            event_id=event_id,
            team=team,
            channel=channel,
            ts=ts,
            thread=thread,
            user=user,
            text=text,
            is_direct=is_direct,
        ),
        agent=agent,
        state=state,
        principal=principal,
        outcome=outcome,
        run_id=None if run_id is None else str(run_id),
        parts=parts,
        is_private=is_private,
        posted={int(number): said for number, said in posted.items()},
        attempts=attempts,
    )
